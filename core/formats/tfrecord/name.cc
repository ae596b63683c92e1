#include "core/formats/tfrecord/name.h"

#include <algorithm>
#include <cstddef>

namespace recordfs::tfrecord {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns whether the name ends in "-NNNNN-of-NNNNN".
bool is_shard(std::string_view name) {
  constexpr std::size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kSize = 1 + kDigits + kOf.size() + kDigits;
  if (name.size() <= kSize) return false;
  name.remove_prefix(name.size() - kSize);
  return name[0] == '-' && std::ranges::all_of(name.substr(1, kDigits), is_digit) &&
         name.substr(1 + kDigits).starts_with(kOf) && std::ranges::all_of(name.substr(kSize - kDigits), is_digit);
}

}  // namespace

bool is_name(std::string_view file_name) {
  if (file_name.find(".out.tfevents.") != std::string_view::npos || is_shard(file_name)) return true;
  for (const std::string_view packed : {".gz", ".zlib"}) {
    if (file_name.ends_with(packed)) file_name.remove_suffix(packed.size());
  }
  return is_shard(file_name) || file_name.ends_with(".tfrecord") || file_name.ends_with(".tfrecords");
}

}  // namespace recordfs::tfrecord
