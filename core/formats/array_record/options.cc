#include "core/formats/array_record/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/parse_number.h"

namespace recordfs::array_record {
namespace {

constexpr std::string_view kGroupSize = "group_size:";
constexpr std::string_view kPadded = "pad_to_block_boundary:true";

std::string text_of(const riegeli::Compression& compression) {
  switch (compression.codec) {
    case CodecId::kBrotli: return fmt::format("brotli:{}", compression.level.value_or(6));
    case CodecId::kZstd: return fmt::format("zstd:{}", compression.level.value_or(3));
    case CodecId::kSnappy: return "snappy";
    default: return "uncompressed";
  }
}

}  // namespace

FileOptions default_options(const riegeli::Compression& compression) {
  return {.text = fmt::format("{}1,transpose:false,pad_to_block_boundary:false,{},max_parallelism:1", kGroupSize,
                              text_of(compression))};
}

FileOptions parse_options(std::string_view text) {
  FileOptions options{.text = std::string(text)};
  while (!text.empty()) {
    const std::string_view option = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), option.size() + 1));
    if (option == kPadded) options.is_padded = true;
    if (!option.starts_with(kGroupSize)) continue;
    const auto number = parse_number<std::uint64_t>(option.substr(kGroupSize.size()));
    if (number && *number > 0) options.group_size = *number;
  }
  return options;
}

void set_group_size(FileOptions& options, std::uint64_t group_size) {
  options.group_size = group_size;
  const std::string number = fmt::format("{}{}", kGroupSize, group_size);
  const std::size_t begin = options.text.find(kGroupSize);
  if (begin == std::string::npos) {
    options.text = options.text.empty() ? number : number + "," + options.text;
    return;
  }
  options.text.replace(begin, options.text.find(',', begin) - begin, number);
}

}  // namespace recordfs::array_record
