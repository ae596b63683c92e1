#include "core/dataset/shard_name.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace recordfs {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kUsualWidth = 5;

constexpr std::uint64_t kMostNumber = 1'000'000'000'000'000;

// Returns the value of digits; nullopt if there are none, or for kMostNumber or more.
std::optional<std::uint64_t> number_of(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : digits) {
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    if (number >= kMostNumber) return std::nullopt;
  }
  return number;
}

std::size_t begin_of_file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

// A path around "-of-": PREFIX-FILL-of-TOTAL SUFFIX. `fill` are characters of `filling`.
struct Parts {
  std::string_view prefix, fill, total, suffix;
};

std::optional<Parts> split_at(std::string_view path, std::size_t of, std::string_view filling) {
  const std::size_t name = begin_of_file_name(path);
  const std::size_t before = path.find_last_not_of(filling, of - 1);
  if (before == std::string_view::npos || before < name || path[before] != '-' || before + 1 == of) return std::nullopt;
  const std::size_t total = of + kOf.size();
  const std::size_t end = std::min(path.find_first_not_of(kDigits, total), path.size());
  return Parts{path.substr(0, before + 1), path.substr(before + 1, of - before - 1), path.substr(total, end - total),
               path.substr(end)};
}

std::optional<Parts> split(std::string_view path, std::string_view filling) {
  const std::size_t name = begin_of_file_name(path);
  for (std::size_t of = path.rfind(kOf); of != std::string_view::npos && of > name; of = path.rfind(kOf, of - 1)) {
    if (const auto parts = split_at(path, of, filling); parts && !parts->total.empty()) return parts;
  }
  return std::nullopt;
}

// Returns the length of the part of a suffix that names a compression of the whole file.
std::size_t size_of_packing(std::string_view suffix) {
  for (const std::string_view packing : {std::string_view(".gz"), std::string_view(".zlib")}) {
    if (suffix.ends_with(packing)) return packing.size();
  }
  return 0;
}

std::optional<ShardFamily> family_of(const Parts& parts) {
  const auto total = number_of(parts.total);
  if (!total || *total == 0) return std::nullopt;
  const std::size_t packed = size_of_packing(parts.suffix);
  return ShardFamily{std::string(parts.prefix), *total, std::string(parts.total),
                     std::string(parts.suffix.substr(0, parts.suffix.size() - packed)),
                     std::string(parts.suffix.substr(parts.suffix.size() - packed))};
}

}  // namespace

std::string shard_digits(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::string ShardFamily::path(std::uint64_t number, std::size_t width) const {
  return prefix + shard_digits(number, width) + std::string(kOf) + total_digits + suffix + packing;
}

std::string ShardFamily::wildcard(std::size_t width) const {
  return prefix + std::string(width, '?') + std::string(kOf) + total_digits + suffix + packing;
}

std::optional<ShardName> parse_shard_name(std::string_view path) {
  const auto parts = split(path, kDigits);
  if (!parts) return std::nullopt;
  const auto number = number_of(parts->fill);
  auto family = family_of(*parts);
  if (!number || !family) return std::nullopt;
  return ShardName{std::move(*family), *number, parts->fill.size()};
}

std::optional<ShardFamily> parse_sharded_spec(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at <= begin_of_file_name(text)) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of(kDigits, at + 1), text.size());
  const auto total = number_of(text.substr(at + 1, end - at - 1));
  const std::string_view suffix = text.substr(end);
  if (!total || *total == 0) return std::nullopt;
  if (!suffix.empty() && !suffix.starts_with('.')) return std::nullopt;
  const std::string prefix = std::string(text.substr(0, at)) + '-';
  const std::string digits = shard_digits(*total, kUsualWidth);
  return family_of({.prefix = prefix, .fill = {}, .total = digits, .suffix = suffix});
}

std::optional<ShardName> parse_sharded_wildcard(std::string_view text) {
  const auto parts = split(text, "?");
  if (!parts || parts->prefix.find_first_of("*?[") != std::string_view::npos) return std::nullopt;
  if (parts->suffix.find_first_of("*?[") != std::string_view::npos) return std::nullopt;
  auto family = family_of(*parts);
  if (!family) return std::nullopt;
  return ShardName{std::move(*family), 0, parts->fill.size()};
}

}  // namespace recordfs
