#include "fusefs/commands/set_reader.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <iostream>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/storage.h"
#include "core/base/utf8.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/source_spec.h"
#include "core/store/wait_ticket.h"
#include "core/verify/verification.h"
#include "fusefs/commands/damage_reporter.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

// Prints what is missing or surplus. Returns nullopt after printing why there is no shard.
std::optional<ShardList> named(const RecordWords& words, CommandContext& context) {
  auto list = SourceSpec{.words = words.files, .manifest = words.manifest}.shards();
  if (!list) {
    context.fail(kExitCannotOpen, list.error().detail);
    return std::nullopt;
  }
  for (const std::string& line : gap_messages(*list)) print_message(line);
  return std::move(*list);
}

// Hints that a file is opened next, and the chunk that begins here read.
void expect_reads_at(const Location& file, Position begin) {
  constexpr std::uint64_t kHead = 64u << 10;  // what formats read when they open a file
  // Most chunks need less. The rest of a larger one is another request.
  constexpr std::uint64_t kChunk = 512u << 10;
  if (begin <= kHead || begin > UINT64_MAX / 2) return;
  file.storage().expect_reads(file, [&](const std::string&) {
    return std::vector<ByteRange>{{begin, begin + kChunk}, {0, kHead}};
  });
}

bool is_complete(const ShardList& list) { return list.missing() == 0 && list.surplus.empty(); }

}  // namespace

void expect_first_range(const RecordWords& words, CommandContext& context) {
  if (words.files.size() != 1 || !words.manifest.empty() || words.ranges.empty()) return;
  const Location file(words.files.front());
  if (const auto* const address = std::get_if<RecordAddress>(&words.ranges.front())) {
    if (address->shard.empty()) expect_reads_at(file, address->begin);
    return;
  }
  const auto& ordinals = std::get<OrdinalRange>(words.ranges.front());
  if (!ordinals.counts_from_end()) expect_open({}, file, span_of(ordinals, 0).begin, context.services());
}

std::string set_name(const RecordWords& words) {
  if (!words.manifest.empty()) return words.manifest;
  return words.files.size() == 1 ? words.files.front() : counted(words.files.size(), "file");
}

std::optional<ShardList> name_shards(const RecordWords& words, CommandContext& context) {
  auto list = named(words, context);
  if (!list) return std::nullopt;
  if (is_complete(*list)) return list;
  const std::size_t missing = list->missing();
  if (words.allows_missing && !words.reports_missing) {
    if (missing < list->shards.size()) return list;
    context.fail(kExitCannotOpen, fmt::format("{}: no shard is present", set_name(words)));
    return std::nullopt;
  }
  context.note(kExitDamage);
  if (words.allows_missing) return list;
  print_message(fmt::format("{}: {} missing, {} surplus (try: --allow-missing)", set_name(words),
                            counted(missing, "shard"), list->surplus.size()));
  return std::nullopt;
}

std::vector<NamedFile> named_files(const std::string& manifest, const std::vector<std::string>& words,
                                   CommandContext& context) {
  std::vector<NamedFile> files;
  const auto add_all = [&](const RecordWords& set) {
    const auto list = named(set, context);
    if (!list) return;
    if (!is_complete(*list)) context.note(kExitDamage);
    const auto missing = missing_shards(*list);
    auto next = missing.begin();
    for (std::size_t i = 0; i < list->shards.size(); ++i) {
      if (!list->shards[i].is_missing) {
        files.push_back({.path = list->shards[i].path, .bytes_in_set = list->shards[i].bytes_in_set});
      } else if (next != missing.end() && next->first == i) {
        files.push_back({.path = next->path, .missing = *next});
        ++next;
      }
    }
    for (const std::string& path : list->surplus) files.push_back({.path = path, .is_surplus = true});
  };
  if (!manifest.empty()) add_all({.manifest = manifest});
  for (const std::string& word : words) add_all({.files = {word}});
  return files;
}

Result<Selection> select_at(const RecordAddress& address, const RecordStore& store) {
  ASSIGN_OR_RETURN(const auto record, find({}, address, store));
  ASSIGN_OR_RETURN(auto indexed, wait_for([&] { return store.index().place_of({}, record.chunk); }));
  const std::uint64_t ordinal = indexed.before.records + record.index;
  return Selection{.records = {.begin = ordinal, .end = ordinal + 1}, .from = std::move(indexed)};
}

std::unique_ptr<SetReader> SetReader::open(const RecordWords& words, CommandContext& context) {
  expect_first_range(words, context);
  auto list = name_shards(words, context);
  if (!list) return nullptr;
  auto reader = std::make_unique<SetReader>(set_name(words), std::move(*list), words.allows_missing, context);
  if (reader->has_one_shard() && !reader->member(0, 0)) return nullptr;
  if (words.files.size() > 1 || !words.manifest.empty()) reader->print_absent_files();
  return reader;
}

SetReader::SetReader(std::string name, ShardList list, bool allows_missing, CommandContext& context)
    : name_(std::move(name)),
      allows_missing_(allows_missing),
      context_(context),
      surplus_(std::move(list.surplus)),
      set_(std::move(list), context.opener(), {.threads = context.threads(), .skips_all_failures = allows_missing},
           context.known_counts()) {}

void SetReader::print(std::size_t shard, const Error& error) {
  if (!printed_.insert(shard).second || set_.shard(shard).is_missing) return;
  context_.print_unopened(set_.shard(shard).path, error);
}

// Prints why files that are named one by one cannot be opened, whichever of them a range needs.
void SetReader::print_absent_files() {
  for (std::size_t shard = 0; shard < set_.size(); ++shard) {
    if (shard % kAskedTogether == 0) ask_about(shard);
    const Shard& named = set_.shard(shard);
    if (named.is_missing || named.path == kStandardInput) continue;
    const Location location(named.path);
    if (location.is_local() ? ::access(named.path.c_str(), R_OK) == 0 : status_of({}, location).has_value()) continue;
    if (const auto store = set_.open({}, shard); !store) print(shard, store.error());
  }
}

// Asks servers about the shards from `first` on.
void SetReader::ask_about(std::size_t first) {
  std::vector<std::string> paths;
  const std::size_t end = std::min(set_.size(), first + kAskedTogether);
  for (std::size_t shard = first; shard < end; ++shard) {
    if (const Shard& named = set_.shard(shard); !named.is_missing) paths.push_back(named.path);
  }
  ask_together(paths);
}

// The detail begins with the path of the shard.
void SetReader::print_uncounted(const Error& error) {
  const bool is_printed = std::ranges::any_of(
      printed_, [&](std::size_t shard) { return error.detail.starts_with(set_.shard(shard).path + ": "); });
  if (!is_printed) context_.print_once(error.detail);
  if (error.code == Code::kIo) return context_.note(kExitCannotOpen);
  context_.note(error);
}

// Prints why shards before `end` have no records. Returns whether the command continues.
bool SetReader::report_unopened(std::size_t end) {
  const auto failed = set_.failed_shards();
  for (const std::size_t shard : failed) {
    if (shard >= end) break;
    print(shard, *set_.failure(shard));
  }
  return allows_missing_ || failed.empty() || failed.front() >= end;
}

std::optional<SetMember> SetReader::member(std::size_t shard, std::uint64_t first_ordinal) {
  auto store = set_.open({}, shard);
  if (!store) {
    print(shard, store.error());
    return std::nullopt;
  }
  return member(shard, std::move(*store), first_ordinal);
}

SetMember SetReader::member(std::size_t shard, std::shared_ptr<const RecordStore> store,
                            std::uint64_t first_ordinal) const {
  const Shard& named = set_.shard(shard);
  return {named.path, std::move(store), has_one_shard() ? std::string() : std::string(set_.name(shard)), first_ordinal,
          named.bytes_in_set};
}

std::optional<SetMember> SetReader::member(const std::string& shard, bool is_counted) {
  auto found = shard.empty() ? std::nullopt : set_.find_shard(shard);
  if (shard.empty() && has_one_shard()) found = 0;
  if (!found) {
    context_.fail(kExitPartlyDone, shard.empty()
                                       ? fmt::format("{}: several files, so an address is SHARD:@OFFSET/INDEX", name_)
                                       : fmt::format("{}: no shard {}", name_, shard));
    return std::nullopt;
  }
  // A shard that is named is wanted, whatever is allowed to be missing.
  if (set_.shard(*found).is_missing) {
    context_.note(kExitDamage);
    return std::nullopt;
  }
  if (!is_counted || *found == 0) return member(*found, 0);
  const auto counts = wait_for([&] { return set_.counts(*found); });
  if (!counts) {
    print_uncounted(counts.error());
    return std::nullopt;
  }
  return report_unopened(*found) ? member(*found, counts->first_ordinal) : std::nullopt;
}

std::size_t SetReader::first_present() const {
  std::size_t shard = 0;
  while (shard < set_.size() && set_.shard(shard).is_missing) ++shard;
  return shard;
}

void SetReader::list_left_out() {
  Output* const list = context_.skipped();
  if (list == nullptr) return;
  const auto shard = [this](std::size_t number) -> const Shard& { return set_.shard(number); };
  for (const MissingShards& missing : missing_shards(set_.size(), shard)) {
    const std::string_view reason = missing.count == 1 ? "this shard does not exist" : "these shards do not exist";
    list->write(skipped_line(missing.path, finding_of_file("missing", std::string(reason), Impact::kDamage), &missing));
  }
  for (const std::string& path : surplus_) {
    const std::string reason = "the data set has fewer shards, or another number of them";
    list->write(skipped_line(path, finding_of_file("surplus", reason, Impact::kDamage)));
  }
}

std::optional<std::uint64_t> SetReader::records() {
  const auto totals = wait_for([&] { return set_.totals(); });
  if (!totals) {
    print_uncounted(totals.error());
    return std::nullopt;
  }
  if (!report_unopened(set_.size())) return std::nullopt;
  return totals->records;
}

void SetReader::report_damage(std::uint64_t first) {
  const std::uint64_t end = std::exchange(reported_from_, std::min(first, reported_from_));
  if (first >= end) return;
  for (std::size_t shard = 0; shard < set_.size(); ++shard) {
    const auto counts = wait_for([&] { return set_.counts(shard); });
    if (!counts) return print_uncounted(counts.error());
    if (counts->damaged_regions == 0 || counts->first_ordinal + counts->records < first) continue;
    const auto opened = member(shard, counts->first_ordinal);
    if (!opened) continue;
    const auto rows = wait_for([&] { return opened->store->index().damage(); });
    if (!rows) {
      context_.print_failure(opened->path, rows.error());
      continue;
    }
    DamageReporter damage(opened->path, *opened->store, context_);
    for (const DamageRow& row : **rows) {
      const std::uint64_t ordinal = counts->first_ordinal + row.first_ordinal;
      if (ordinal >= first && ordinal < end) damage.add(row.region);
    }
  }
}

void SetReader::report_damage_after(const OrdinalRange& range, const OrdinalInterval& read) {
  if (range.counts_from_end()) {
    report_damage(read.end);
  } else if (read.is_empty() && !span_of(range, 0).is_empty()) {
    report_damage(read.begin);
  }
}

void SetReader::report_unselected(const std::string& path, const Error& error) {
  context_.print_failure(path, error);
  if (error.code != Code::kNotFound) return;
  if (const auto records = this->records()) report_damage(*records);
}

std::optional<OrdinalInterval> SetReader::resolve(const OrdinalRange& range) {
  if (!range.counts_from_end()) return span_of(range, 0);
  const auto records = this->records();
  if (!records) return std::nullopt;
  return span_of(range, *records);
}

std::optional<RecordInShard> SetReader::locate(const OrdinalRange& range) {
  const auto span = resolve(range);
  if (!span) return std::nullopt;
  const auto place = wait_for([&] { return set_.locate(span->begin); });
  if (place) return report_unopened(place->shard) ? std::optional(*place) : std::nullopt;
  if (place.error().code != Code::kNotFound) {
    print_uncounted(place.error());
    return std::nullopt;
  }
  if (const auto records = this->records()) {
    const bool exists = !range.is_one && (span->begin == *records || range.may_begin_after_end);
    if (!exists) context_.print_failure(name_, no_record(range, *records));
    report_damage(*records);
  }
  return std::nullopt;
}

void SetReader::each_range(const RecordWords& words, const std::function<bool(const Range&)>& take) {
  constexpr int kLongest = 1 << 16;  // bytes of a word; the rest of a longer one is the next word
  if (!words.has_ranges()) {
    take(OrdinalRange{});
    return;
  }
  if (!std::ranges::all_of(words.ranges, take) || !words.reads_ranges) return;
  for (std::string word; std::cin >> std::setw(kLongest) >> word;) {
    const auto range = parse_range(word);
    if (!range) {
      return context_.fail(kExitWrongUse, "standard input: " + not_a_range(printable(word)));
    }
    if (!take(*range)) return;
  }
  if (const auto read = input_outcome(std::cin); !read) {
    context_.fail(kExitPartlyDone, "standard input: " + read.error().detail);
  }
}

bool SetReader::each(const OrdinalRange& range, const Take& take) {
  if (!has_one_shard()) return each_of_several(range, take);
  const auto only = member(0, 0);
  if (!only) return false;
  // The first record needs no search, which would report damage after it.
  const bool is_first = range.is_one && range.begin == 0;
  const auto selection = is_first ? Selection{.records = {.begin = 0, .end = 1}} : select(range, *only->store);
  if (!selection) {
    report_unselected(only->path, selection.error());
    return true;
  }
  const auto records = take(*only, *selection);
  if (!records) return false;
  if (is_first && *records == 0) report_unselected(only->path, no_record(range, 0));
  report_damage_after(range, selection->records);
  return true;
}

bool SetReader::each_of_several(const OrdinalRange& range, const Take& take) {
  const auto span = resolve(range);
  if (!span) return false;
  RecordInShard first{.shard = 0, .ordinal = span->begin};
  if (span->begin > 0 && !span->is_empty()) {
    const auto place = locate(range);
    if (!place) return true;
    first = *place;
  }
  const auto bound = [](std::uint64_t ordinal) { return static_cast<std::int64_t>(std::min(ordinal, kLargestSum)); };
  const auto records = each_shard(
      set_, *span, first,
      [&](std::size_t shard, std::uint64_t base, const OrdinalInterval& wanted) -> std::optional<std::uint64_t> {
        const auto opened = member(shard, base);
        if (!opened) return allows_missing_ ? std::optional(std::uint64_t{0}) : std::nullopt;
        OrdinalRange local{.begin = bound(wanted.begin)};
        if (wanted.end != UINT64_MAX) local.end = bound(wanted.end);
        const auto selection = select(local, *opened->store);
        if (selection) return take(*opened, *selection);
        context_.print_failure(opened->path, selection.error());
        return 0;
      });
  if (!records) return false;
  if (range.is_one && *records <= span->begin) context_.print_failure(name_, no_record(range, *records));
  report_damage_after(range, *span);
  return true;
}

}  // namespace recordfs
