#include "tests/bench/floorfs/tree.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace recordfs::bench {
namespace {

constexpr std::size_t kOrdinalDigits = 9;
constexpr std::size_t kThousandDigits = 6;
// Every record begins at one of these places of the pool, each with a different log line.
constexpr std::uint64_t kPlaces = 1024;
constexpr std::uint64_t kPlaceSize = 1000;

std::string made_pool() {
  std::string text;
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    std::string place;
    for (std::uint64_t part = 0; place.size() < kPlaceSize; ++part) place += record(Kind::kLines, i + part * kPlaces);
    text += place.substr(0, kPlaceSize);
  }
  return text;
}

// Parses a number of exactly `digits` digits.
std::optional<std::uint64_t> number_in(std::string_view name, std::size_t digits) {
  std::uint64_t number = 0;
  const char* end = name.data() + name.size();
  if (name.size() != digits || std::from_chars(name.data(), end, number).ptr != end) return std::nullopt;
  return number;
}

}  // namespace

Tree::Tree(Layout layout, Kind kind, std::uint64_t records)
    : layout_(layout), kind_(kind), records_(records), info_(fmt::format("{{\"records\": {}}}\n", records)) {}

const std::string& Tree::pool() const {
  std::call_once(pool_is_made_, [this] { pool_ = made_pool(); });
  return pool_;
}

bool Tree::has(Inode inode) const {
  if (is_record(inode)) return ordinal_of(inode) < records_;
  if (inode >= kFirstThousand) return layout_ == Layout::kThousands && inode - kFirstThousand < thousands();
  return inode >= kRoot;
}

std::optional<Inode> Tree::find(Inode directory, std::string_view name) const {
  if (directory == kRoot) {
    if (name == "info.json") return kInfo;
    if (name == top_name()) return kTop;
    return std::nullopt;
  }
  if (directory == kTop && layout_ == Layout::kThousands) {
    const auto thousand = number_in(name, kThousandDigits);
    if (!thousand || *thousand >= thousands()) return std::nullopt;
    return kFirstThousand + *thousand;
  }
  const auto ordinal = number_in(name, kOrdinalDigits);
  if (!ordinal || *ordinal >= records_) return std::nullopt;
  if (directory != kTop && *ordinal / 1000 != directory - kFirstThousand) return std::nullopt;
  return record_inode(*ordinal);
}

std::uint64_t Tree::entries(Inode directory) const {
  if (directory == kRoot) return 2;
  if (directory == kTop) return layout_ == Layout::kThousands ? thousands() : records_;
  return std::min<std::uint64_t>(1000, records_ - (directory - kFirstThousand) * 1000);
}

Tree::Entry Tree::entry(Inode directory, std::uint64_t index) const {
  if (directory == kRoot) return index == 0 ? Entry{"info.json", kInfo} : Entry{std::string(top_name()), kTop};
  if (directory == kTop && layout_ == Layout::kThousands) return {fmt::format("{:06}", index), kFirstThousand + index};
  const std::uint64_t ordinal = directory == kTop ? index : (directory - kFirstThousand) * 1000 + index;
  return {fmt::format("{:09}", ordinal), record_inode(ordinal)};
}

std::uint64_t Tree::size(Inode inode) const {
  return is_record(inode) ? record_size(kind_, ordinal_of(inode)) : info_.size();
}

std::string_view Tree::contents(Inode inode) const {
  if (!is_record(inode)) return info_;
  return std::string_view(pool()).substr(ordinal_of(inode) % kPlaces * kPlaceSize, size(inode));
}

Siblings Tree::siblings(std::uint64_t ordinal) const {
  if (layout_ == Layout::kFlat) return {0, records_};
  const std::uint64_t begin = ordinal - ordinal % 1000;
  return {begin, std::min(begin + 1000, records_)};
}

}  // namespace recordfs::bench
