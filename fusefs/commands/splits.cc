#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "core/dataset/data_set.h"
#include "core/dataset/pipe_input.h"
#include "core/dataset/splits.h"
#include "core/decoding/json_writer.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/exit_status.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

struct SplitsOptions {
  ReadingOptions reading;
  RecordWords words;
  SplitSize size;
  std::optional<std::uint64_t> count;
  int sizes_given = 0;  // of --size, --records and --count
  bool ends_in_null = false;
  bool is_json = false;
};

// A split as an object.
JsonObject json_of(std::string_view id, std::uint64_t bytes, std::optional<std::uint64_t> records,
                   JsonObject::List ranges) {
  JsonObject object;
  object.set("id", id);
  object.set("bytes", bytes);
  if (records) object.set("records", *records);
  object.set("ranges", std::move(ranges));
  return object;
}

class SplitsWriter {
 public:
  SplitsWriter(const SplitsOptions& options, ShardList list, CommandContext& context)
      : options_(options), set_(std::move(list), context.opener()), context_(context), output_(context.output()) {}

  // Writes the splits of all shards, one shard after another.
  void write_all() {
    for (std::size_t i = 0; i < set_.size() && output_.good(); ++i) {
      if (!set_.shard(i).is_missing) write_shard(i);
    }
  }

  // Writes `count` parts of the set.
  void write_parts(std::uint64_t count) {
    const auto sizes = shard_sizes(set_);
    if (!sizes) return context_.fail(kExitCannotOpen, sizes.error().detail);
    SetPart part{.number = 0, .count = count, .check = check_of(set_, *sizes)};
    for (; part.number < count && output_.good(); ++part.number) write(part, *sizes);
  }

 private:
  void write_shard(std::size_t shard) {
    const std::string& path = set_.shard(shard).path;
    const auto store = context_.open(path);
    if (!store) return;
    const auto written = for_each_split({}, *store, options_.size, [&](const ContainerSplit& split) {
      write(shard, split);
      return output_.good();
    });
    if (!written) context_.report_failure(path, written.error());
  }

  void write(std::size_t shard, const ContainerSplit& split) {
    if (!options_.is_json) {
      const std::string& path = set_.shard(shard).path;
      return write_line(fmt::format("{}\t{}\t{}", is_for_reader_ ? printable(path) : path, split.begin, split.end));
    }
    // JSON cannot hold other names, but a shard's number names it too.
    const std::string name(set_.name(shard));
    write_object(json_of(split_id(is_utf8(name) ? name : std::to_string(shard), split.begin, split.end),
                         split.end - split.begin, split.records, {range_of({shard, split.begin, split.end})}));
  }

  void write(const SetPart& part, const std::vector<std::uint64_t>& sizes) {
    if (!options_.is_json) return write_line(part_id(part));
    JsonObject::List ranges;
    std::uint64_t bytes = 0;
    for (const ShardRange& range : ranges_of(part, sizes)) {
      ranges.push_back(range_of(range));
      bytes += range.end - range.begin;
    }
    write_object(json_of(part_id(part), bytes, std::nullopt, std::move(ranges)));
  }

  JsonObject range_of(const ShardRange& range) const {
    JsonObject object;
    object.set("file", JsonPath{set_.shard(range.shard).path});
    object.set("begin", range.begin);
    object.set("end", range.end);
    return object;
  }

  void write_line(const std::string& line) { output_.write(line + (options_.ends_in_null ? '\0' : '\n')); }

  void write_object(const JsonObject& object) {
    std::string line = to_json(object, JsonLayout::kLine);
    line.pop_back();
    write_line(line);
  }

  const SplitsOptions& options_;
  DataSet set_;
  CommandContext& context_;
  Output& output_;
  const bool is_for_reader_ = ::isatty(STDOUT_FILENO) == 1;  // names must not control the terminal
};

int splits(const SplitsOptions& options) {
  CommandContext context(options.reading);
  auto list = name_shards(options.words, context);
  if (!list) return context.status();
  SplitsWriter writer(options, std::move(*list), context);
  if (options.count) {
    writer.write_parts(*options.count);
  } else {
    writer.write_all();
  }
  return context.finish();
}

void declare_sizes(CLI::App& app, SplitsOptions& options) {
  begin_group(app, "Splits");
  declare_size(
      app, "--size", 1,
      [&options](std::uint64_t size) {
        options.size = {.amount = size};
        ++options.sizes_given;
      },
      "size of each split (default 64M)");
  const auto number = [&options](const std::string& name, const std::string& text) {
    const auto parsed = parse_number<std::uint64_t>(text);
    if (!parsed || *parsed == 0) throw CLI::ValidationError(name, "not a positive number: " + text);
    ++options.sizes_given;
    return *parsed;
  };
  declare_value(
      app, "--records", "N",
      [&options, number](const std::string& text) {
        options.size = {.amount = number("--records", text), .unit = SplitSize::Unit::kRecords};
      },
      "least number of records of each split; the last one may have fewer\n"
      "A split ends at the first end of a chunk after N records. Counts the records, by a saved index or a scan of "
      "headers.");
  declare_value(
      app, "--count", "N", [&options, number](const std::string& text) { options.count = number("--count", text); },
      "print exactly N splits of the whole data set, as `I/N@CHECK`\n"
      "They have the same number of bytes, and may span files. Some may have no record. Only the names and sizes of "
      "the files are read. The split can be used only while these are the same; `I/N` is not checked.");
}

}  // namespace

RunCommand declare_splits(CLI::App& app) {
  const auto options = std::make_shared<SplitsOptions>();
  declare_words(app, options->words, WordUse::kFiles, {}, [options = options.get()] {
    if (std::ranges::any_of(options->words.files, is_pipe)) {
      throw CLI::ValidationError("FILE", "standard input cannot be split, nor a pipe");
    }
    if (options->sizes_given > 1) throw CLI::ValidationError("only one of --size, --records and --count can be given");
  });
  declare_sizes(app, *options);
  begin_group(app, "Output");
  app.add_flag(
      "--json", options->is_json,
      "write a line of JSON per split: id, bytes, records, ranges\n"
      "`id` is for `cat --split`. `records` is present with `--records`. `ranges` is a list of `file`, `begin` "
      "and `end`.");
  app.add_flag("-0,--null", options->ends_in_null, "end lines with a NUL byte, for names that contain a newline");
  options->reading.declare(app);
  app.footer(
      "Prints one line per split: path, begin and end, separated by tabs. A split contains the chunks that begin in "
      "it; recordfs cat --split BEGIN:END FILE writes their records, and recordfs cat --split LINE those of a line of "
      "the splits of a data set. The splits of a file cover it without gaps, so each record is in one split.\n"
      "Splits smaller than 1M end only at the start of a chunk, so that none is empty, which requires reading the "
      "file's headers. Larger ones are computed without reading the file. With --count no list is needed: the workers "
      "of N tasks read recordfs cat --split I/N FILE..., with I from 0 to N - 1.");
  return [options] { return splits(*options); };
}

}  // namespace recordfs
