#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/columns/row_schema.h"
#include "core/export/export_columns.h"
#include "core/export/export_files.h"
#include "core/export/export_format.h"
#include "core/export/random_rows.h"
#include "core/export/record_export.h"
#include "core/output/output_place.h"
#include "core/store/open_container.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/export_options.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

// Gives each thread an arena of its own, because threads that make rows allocate much and would wait for each other in
// the one of main(). Has no effect after a second thread has allocated.
void use_arenas([[maybe_unused]] unsigned threads) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, static_cast<int>(threads));
#endif
}

class Export {
 public:
  explicit Export(const ExportOptions& options)
      : options_(options),
        form_(*options.form()),
        place_(OutputPlace::at(options.output)),
        context_(options.reading, {place_ ? place_->directory_name : std::string()}),
        reads_all_(!options.sharding.shards && !options.random.is_given() && options.words.ranges.empty()),
        progress_("export", reads_all_ ? Progress::Unit::kBytes : Progress::Unit::kRecords),
        executor_(context_.threads() - 1),
        rows_{.types = options.types,
              .limits = context_.limits(),
              .form = {.bytes = options.bytes, .mixed = options.mixed, .selection = options.columns.selection},
              .skips_damage = options.skips_damage,
              .condition = options.condition} {
    if (place_ && place_->is_file()) interruption_.emplace();
  }

  int run() {
    use_arenas(context_.threads());
    if (!place_) return fail_output({.why = place_.error()});
    if (place_->stream) stream_.emplace(std::move(place_->stream), options_.output);
    context_.decode_with(options_.types);
    context_.require_metadata();
    const auto reader = has_database() ? nullptr : open_set(options_.words, context_);
    if (reader && prepare(*reader)) {
      is_complete_ = true;
      if (options_.random.is_given()) {
        RandomRows rows(
            *reader, rows_, [this](const RowBytes& taken) { return export_->take(taken); },
            [this](const RecordStore& store, const Error& why) { export_->report_unfit(&store, {}, why); });
        is_complete_ = rows.read(options_.random, context_);
      } else {
        each_range(options_.words, context_, [&](const Range& range) { return write(range, *reader); });
      }
      progress_.finish();
      finish();
      if (has_unfit()) context_.note(kExitPartlyDone);
    }
    files_.reset();
    Interruption::pass_on();
    if (stream_) context_.note(stream_->finish());
    return context_.finish();
  }

 private:
  // Returns whether a source is the directory of a database, after printing that it is not exported.
  bool has_database() {
    const std::string* const database = database_among(options_.words.files);
    if (database == nullptr) return false;
    context_.fail(kExitWrongUse,
                  printable(*database) + ": a database, which is not exported (try: recordfs cat --json)");
    return true;
  }

  Output& stream() { return stream_ ? *stream_ : context_.output(); }

  // Prints why the output is not written.
  int fail_output(const ExportFiles::Failure& failure) {
    progress_.clear();
    has_failed_ = true;
    std::string path = options_.shown_output();
    if (!failure.name.empty()) path.replace(path.rfind('/') + 1, std::string::npos, failure.name);
    const bool is_taken = failure.why.os_error == EEXIST;
    // The stream prints its own errors, and none if a pipe is closed.
    const bool is_printed = place_ && !place_->is_file() && !stream().good();
    if (!is_printed) {
      print_message(fmt::format("{}: {}{}", path, failure.why.detail, is_taken ? " (-f replaces it)" : ""));
    }
    context_.note(kExitPartlyDone);
    return context_.status();
  }

  // Opens the encoder and checks the output. Returns false if the command has to end.
  bool prepare(SetReader& reader) {
    if (options_.sharding.is_given() && !place_->is_file()) {
      context_.fail(kExitWrongUse, fmt::format("{}: not a file, so it has no shards", options_.output));
      return false;
    }
    EncoderOptions encoding{.bytes = options_.bytes,
                            .mixed = options_.mixed,
                            .members = options_.members,
                            .key = options_.key,
                            .skips_failures = options_.skips_damage};
    if (encoding.members.empty()) encoding.members.push_back({.name = "bin"});
    if (!find_columns(reader, encoding) || !find_record_type(reader, encoding)) return false;
    ExportFiles::Options files{
        .form = form_, .encoding = encoding, .sharding = options_.sharding, .replaces = options_.replaces};
    if (options_.replaces) files.read = files_read(options_.words, reader.set());
    if (options_.sharding.shards) {
      const auto records = count(reader);
      if (!records) return false;
      files.records = *records;
      progress_.set_total(*records);
    }
    if (options_.random.is_given() && !options_.condition && progress_.is_shown()) {
      progress_.set_total(count(reader).value_or(0));
    }
    if (reads_all_ && progress_.is_shown()) {
      for (std::size_t shard = 0; shard < reader.set().size(); ++shard) {
        if (!reader.set().shard(shard).is_missing) progress_.expect(size_of(reader.set().shard(shard).path));
      }
    }
    rows_.encoder = row_encoder(form_, encoding);
    rows_.needs_parts =
        std::ranges::any_of(encoding.members, [](const TarMember& member) { return member.part.has_value(); });
    files_.emplace(*place_, stream(), executor_, std::move(files));
    export_.emplace(
        rows_, *files_, context_,
        RecordExport::Caller{.has_read = [this](std::uint64_t bytes) { progress_.add(reads_all_ ? bytes : 0); },
                             .has_written = [this](std::uint64_t records) { progress_.add(reads_all_ ? 0 : records); },
                             .fail = [this](const ExportFiles::Failure& why) { fail_output(why); }});
    const auto failure = files_->check();
    if (failure) fail_output(*failure);
    return !failure;
  }

  // Returns false after printing why the type of the records cannot be read now.
  bool find_record_type(SetReader& reader, EncoderOptions& encoding) {
    if (!form_.format->has_record_type) return true;
    const auto is_one = take_record_type(reader, context_, encoding);
    if (is_one && !*is_one) {
      print_message(
          fmt::format("{}: states no type of the records, since the files do not state the same one", options_.output));
    }
    return is_one.has_value();
  }

  // Finds the columns of the rows. Returns false after printing why that failed.
  bool find_columns(SetReader& reader, EncoderOptions& encoding) {
    const auto content = form_.format->content;
    if (content != ExportFormat::Content::kRows && content != ExportFormat::Content::kTable) return true;
    auto found = recordfs::find_columns(reader, content == ExportFormat::Content::kTable, options_.columns,
                                        options_.types, context_.limits());
    if (!found) {
      Error why = std::move(found).error();
      const bool is_table = content == ExportFormat::Content::kTable && options_.columns.selection.is_all();
      if (why.code == Code::kUnsupported && is_table && why.detail.find("(try: ") == std::string::npos) {
        why.detail += " (try: --to jsonl, --select ordinal,data)";
      }
      return context_.report_failure(reader.name(), why), false;
    }
    if (!found->undescribed.empty()) {
      print_message(fmt::format("{}: no columns, because there are no descriptors of {} (try: --descriptors)",
                                reader.name(), printable(found->undescribed)));
    }
    encoding.has_columns = found->has_columns;
    rows_.refuses_columns = found->table != nullptr && found->schema == nullptr;
    table_ = found->table;
    encoding.columns = std::move(found->table);
    has_scalars_ = found->schema != nullptr && found->schema->has_scalars();
    encoding.rows = &rows_written_;
    (encoding.columns != nullptr ? rows_.schema : rows_.form.schema) = std::move(found->schema);
    return true;
  }

  // Returns the number of exported records. nullopt after printing why it is unknown.
  std::optional<std::uint64_t> count(SetReader& reader) {
    const auto records = options_.condition ? count_selected(reader) : reader.records();
    if (!records) return std::nullopt;
    if (options_.random.is_given()) return std::min(*records, options_.random.sample.value_or(*records));
    if (options_.words.ranges.empty() || options_.condition) return records;
    std::uint64_t sum = 0;
    for (const Range& range : options_.words.ranges) {
      const auto* const ordinals = std::get_if<OrdinalRange>(&range);
      const OrdinalInterval span = ordinals != nullptr ? span_of(*ordinals, *records) : OrdinalInterval{0, 1};
      sum += std::min(span.end, *records) - std::min({span.begin, span.end, *records});
    }
    return sum;
  }

  // The same with a condition: reads the records.
  std::optional<std::uint64_t> count_selected(SetReader& reader) {
    const ConditionPointer condition = options_.condition->renewed();
    const SelectedFinder finder{
        .condition = condition, .types = options_.types, .skips_damage = options_.skips_damage, .reporter = context_};
    std::uint64_t records = 0;
    const LossCount losses = context_.losses();
    is_complete_ = true;
    each_range(options_.words, context_, [&](const Range& range) {
      return visit(range, reader, [&](const SetMember& member, const Selection& selection) {
        return finder.each(member, selection, [&](OrdinalInterval run) { records += run.end - run.begin; });
      });
    });
    context_.set_losses(losses);  // the records are read again
    return is_complete_ ? std::optional(records) : std::nullopt;
  }

  // Each returns false if the export has to stop.
  bool write(const Range& range, SetReader& reader) {
    return visit(range, reader, [this](const SetMember& member, const Selection& selection) {
      return export_->write(member, selection);
    });
  }

  bool visit(const Range& range, SetReader& reader, const SetReader::Take& take) {
    if (const auto* ordinals = std::get_if<OrdinalRange>(&range)) {
      const bool goes_on = reader.each(*ordinals, take);
      is_complete_ = is_complete_ && goes_on;
      return goes_on;
    }
    const auto found = reader.find_record(std::get<RecordAddress>(range));
    is_complete_ = is_complete_ && found && take(found->first, found->second);
    return is_complete_;
  }

  // Prints how many values have no row, although nothing is wrong with them.
  void report_no_scalars() const {
    const std::uint64_t values = values_without_row(table_.get());
    if (values == 0) return;
    print_message(fmt::format("{}: {} without a row, because a scalar is one number", options_.shown_output(),
                              counted(values, "value")));
  }

  // Prints how many records the output lacks, because the log mentions only the first ones of a place.
  void report_losses() const {
    const LossCount losses = context_.losses();
    const std::uint64_t omitted = export_->scalars_omitted();
    if (losses.is_none() && omitted == 0) return;
    const std::string of_records = !has_scalars_ ? "" : losses.records == 1 ? " record" : " records";
    const std::string records = losses.is_none() ? "" : fmt::format("; {}{} omitted", to_string(losses), of_records);
    const std::string scalars = omitted == 0 ? "" : fmt::format("; {} omitted", counted(omitted, "scalar"));
    print_message(fmt::format("{}: {} written{}{}", options_.shown_output(),
                              has_scalars_ ? counted(rows_written_, "row") : counted(export_->written(), "record"),
                              records, scalars));
  }

  // Returns whether some records can be read, but are no rows of the output.
  bool has_unfit() const { return export_->has_unfit() || has_undecided_; }

  bool may_finish() const {
    const bool is_allowed =
        context_.status() == kExitGood || (options_.skips_damage && context_.status() == kExitDamage);
    const bool is_whole = !has_unfit() || options_.skips_damage;
    return is_complete_ && is_allowed && is_whole && !Interruption::came();
  }

  // Names the files, unless something is wrong with them.
  void finish() {
    // Records that a condition cannot be decided for are omitted as others that cannot be read.
    const bool omits = options_.skips_damage && options_.condition != nullptr;
    if (omits) {
      report_terms(options_.condition.get(), is_complete_, context_);
      has_undecided_ = options_.condition->undecoded().records > 0;
    } else {
      report_condition(options_.condition.get(), is_complete_, context_);
    }
    if (may_finish()) {
      const auto failure = files_->complete();
      if (failure) return static_cast<void>(fail_output(*failure));
      is_complete_ = export_->report_failures();
    }
    if (may_finish()) {
      if (const auto failure = files_->finish()) return static_cast<void>(fail_output(*failure));
      report_no_scalars();
      if (omits) {
        const auto undecoded = options_.condition->undecoded();
        report_undecoded("--where", undecoded, "so the condition does not apply", context_);
        context_.add_loss(undecoded.records);
      }
      report_losses();
    } else if (!Interruption::came() && !has_failed_) {
      const int status = context_.status();
      const bool helps = !options_.skips_damage && (status == kExitDamage || (has_unfit() && status == kExitGood));
      if (!place_->is_file() && !(helps && stream().good())) return;
      print_message(fmt::format("{}: not {}{}", options_.shown_output(), place_->is_file() ? "written" : "complete",
                                helps ? " (try: --skip-damage)" : ""));
    }
  }

  const ExportOptions& options_;
  const ExportForm form_;
  std::optional<Interruption> interruption_;
  Result<OutputPlace> place_;  // found before the context confines the process
  CommandContext context_;
  const bool reads_all_;  // from the first to the last byte, so progress is in bytes of the sources
  Progress progress_;
  Executor executor_;
  std::optional<Output> stream_;
  RowOptions rows_;
  std::shared_ptr<const TableColumns> table_;  // of the rows; null: they are no table
  std::optional<ExportFiles> files_;
  std::optional<RecordExport> export_;
  std::uint64_t rows_written_ = 0;  // of a table
  bool has_scalars_ = false;        // whose rows are not the records
  bool is_complete_ = false;
  bool has_failed_ = false;     // the output cannot be written
  bool has_undecided_ = false;  // records that the condition cannot be applied to
};

}  // namespace

RunCommand declare_export(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  options->declare(app);
  return [options] { return Export(*options).run(); };
}

}  // namespace recordfs
