#include "core/dataset/missing_shards.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/dataset/shard_name.h"

namespace recordfs {
namespace {

// Returns whether a missing shard continues a range, which begins with `first`. A shard that has a file of another
// suffix is named alone.
bool is_next(const MissingShards& range, const ShardName& first, std::size_t index, const Shard& shard,
             const ShardName& name) {
  return range.first + range.count == index && range.instead.empty() && shard.instead.empty() &&
         name.family == first.family && name.number == first.number + range.count;
}

}  // namespace

std::string MissingShards::message() const {
  if (!numbers.empty()) return path + ": shards " + numbers + " (" + std::to_string(count) + ") are missing";
  return path + ": this shard is missing" + (instead.empty() ? "" : " (there is " + instead + ")");
}

std::vector<MissingShards> missing_shards(std::size_t count,
                                          const std::function<const Shard&(std::size_t index)>& shard) {
  std::vector<MissingShards> all;
  std::optional<ShardName> first;  // of the last element of `all`
  for (std::size_t i = 0; i < count; ++i) {
    const Shard& one = shard(i);
    if (!one.is_missing) continue;
    auto name = parse_shard_name(one.path);
    if (all.empty() || !name || !first || !is_next(all.back(), *first, i, one, *name)) {
      all.push_back({.first = i, .count = 1, .path = one.path, .instead = one.instead});
      first = std::move(name);
      continue;
    }
    MissingShards& last = all.back();
    ++last.count;
    if (last.count == 2) last.path = first->family.wildcard(first->width);
    last.numbers = shard_digits(first->number, first->width) + '-' + shard_digits(name->number, first->width);
  }
  return all;
}

std::vector<MissingShards> missing_shards(const ShardList& list) {
  return missing_shards(list.shards.size(), [&list](std::size_t i) -> const Shard& { return list.shards[i]; });
}

std::vector<NamedFile> files_of(const ShardList& list) {
  std::vector<NamedFile> files;
  const auto missing = missing_shards(list);
  auto next = missing.begin();
  for (std::size_t i = 0; i < list.shards.size(); ++i) {
    if (!list.shards[i].is_missing) {
      files.push_back({.path = list.shards[i].path, .bytes_in_set = list.shards[i].bytes_in_set});
    } else if (next != missing.end() && next->first == i) {
      files.push_back({.path = next->path, .missing = *next});
      ++next;
    }
  }
  for (const std::string& path : list.surplus) files.push_back({.path = path, .is_surplus = true});
  return files;
}

std::vector<std::string> gap_messages(const ShardList& list, bool hides_names) {
  constexpr std::size_t kMostNamed = 100;
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const MissingShards& each : missing_shards(list)) {
    if (lines.size() == kMostNamed) {
      more += each.count;
    } else if (!hides_names) {
      lines.push_back(each.message());
    } else if (each.count == 1) {
      lines.push_back(fmt::format("shard {}: this shard is missing", each.first));
    } else {
      lines.push_back(
          fmt::format("shards {} to {} ({}) are missing", each.first, each.first + each.count - 1, each.count));
    }
  }
  if (more > 0) lines.push_back(fmt::format("and {} more missing shards", more));
  const std::size_t named = std::min(list.surplus.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) {
    lines.push_back((hides_names ? std::string("a file") : list.surplus[i]) + ": this shard is surplus, and left out");
  }
  if (named < list.surplus.size()) {
    lines.push_back(fmt::format("and {} more surplus shards", list.surplus.size() - named));
  }
  return lines;
}

}  // namespace recordfs
