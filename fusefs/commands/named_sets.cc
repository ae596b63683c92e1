#include "fusefs/commands/named_sets.h"

#include <sys/stat.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/storage.h"
#include "core/base/utf8.h"
#include "core/verify/verification.h"
#include "fusefs/commands/input_lines.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

SourceSpec source_of(const RecordWords& words) { return {.words = words.files, .manifest = words.manifest}; }

// Prints what is missing or surplus. Returns nullopt after printing why there is no shard.
std::optional<ShardList> named(const RecordWords& words, CommandContext& context) {
  auto list = source_of(words).shards();
  if (!list) {
    context.fail(kExitCannotOpen, list.error().detail);
    return std::nullopt;
  }
  for (const std::string& line : gap_messages(*list)) print_message(line);
  return std::move(*list);
}

bool is_complete(const ShardList& list) { return list.missing() == 0 && list.surplus.empty(); }

}  // namespace

SourceSpec::Kind kind_of(const RecordWords& words, CommandContext& context) {
  const SourceSpec source = source_of(words);
  if (!words.ranges.empty()) source.expect(words.ranges.front(), context.services());
  return source.kind();
}

std::string set_name(const RecordWords& words) {
  if (!words.manifest.empty()) return words.manifest;
  return words.files.size() == 1 ? words.files.front() : counted(words.files.size(), "file");
}

const std::string* database_among(const std::vector<std::string>& files) {
  const auto database = std::ranges::find_if(files, [&](const std::string& file) {
    struct stat st {};
    const bool may_be = files.size() == 1 || (::stat(file.c_str(), &st) == 0 && S_ISDIR(st.st_mode));
    return may_be && SourceSpec{.words = {file}}.kind() == SourceSpec::Kind::kDatabase;
  });
  return database == files.end() ? nullptr : &*database;
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
    std::ranges::move(files_of(*list), std::back_inserter(files));
  };
  if (!manifest.empty()) add_all({.manifest = manifest});
  for (const std::string& word : words) add_all({.files = {word}});
  return files;
}

std::unique_ptr<SetReader> open_set(const RecordWords& words, SourceSpec::Kind kind, CommandContext& context) {
  if (kind == SourceSpec::Kind::kContainer) {
    const std::string& path = words.files.front();
    auto store = context.open(path);
    return store ? std::make_unique<SetReader>(path, std::move(store), words.allows_missing, context) : nullptr;
  }
  auto list = name_shards(words, context);
  if (!list) return nullptr;
  if (!words.ranges.empty() && words.files.size() == 1 && list->shards.size() > 1 && list->missing() == 0) {
    SourceSpec shards;
    shards.words.reserve(list->shards.size());
    for (const Shard& shard : list->shards) shards.words.push_back(shard.path);
    shards.expect(words.ranges.front(), context.services());
  }
  auto reader = std::make_unique<SetReader>(set_name(words), std::move(*list), words.allows_missing, context,
                                            context.opener(), context.known_counts());
  if (reader->has_one_shard() && !reader->member(0, 0)) return nullptr;
  if (words.files.size() > 1 || !words.manifest.empty()) reader->report_absent_files();
  return reader;
}

void each_range(const RecordWords& words, CommandContext& context, const std::function<bool(const Range&)>& take) {
  constexpr int kLongest = 1 << 16;  // bytes of a word; the rest of a longer one is the next word
  if (!words.has_ranges()) {
    take(OrdinalRange{});
    return;
  }
  if (!std::ranges::all_of(words.ranges, take) || !words.reads_ranges) return;
  for (std::string word; std::cin >> std::setw(kLongest) >> word;) {
    const auto range = parse_range(word);
    if (!range) {
      return context.fail(kExitWrongUse, "standard input: " + not_a_range(printable(word)));
    }
    if (!take(*range)) return;
  }
  if (const auto read = input_outcome(std::cin); !read) {
    context.fail(kExitPartlyDone, "standard input: " + read.error().detail);
  }
}

ReadFiles files_read(const RecordWords& words, const DataSet& set) {
  ReadFiles files;
  for (std::size_t shard = 0; shard < set.size(); ++shard) files.add(set.shard(shard).path);
  if (!words.manifest.empty()) files.add(words.manifest);
  return files;
}

void list_left_out(SetReader& reader, CommandContext& context) {
  Output* const list = context.skipped();
  if (list == nullptr) return;
  const auto shard = [&](std::size_t number) -> const Shard& { return reader.set().shard(number); };
  for (const MissingShards& missing : missing_shards(reader.set().size(), shard)) list->write(skipped_line(missing));
  for (const std::string& path : reader.surplus()) list->write(surplus_line(path));
}

}  // namespace recordfs
