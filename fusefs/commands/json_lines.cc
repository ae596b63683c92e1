#include "fusefs/commands/json_lines.h"

#include <fmt/format.h>

#include "core/decoding/json_text.h"

namespace recordfs {
namespace {

// Larger records reserve their text, because a growing string needs its memory twice.
constexpr std::size_t kLargeRecord = 16u << 20;
constexpr std::size_t kLongestEscape = 6;

}  // namespace

void append_json_name(std::string& text, const RecordName& name) {
  if (const auto* ordinal = std::get_if<std::uint64_t>(&name)) {
    text += fmt::format("\"ordinal\":{}", *ordinal);
  } else {
    const auto& address = std::get<RecordAddress>(name);
    text += fmt::format("\"chunk\":{},\"index\":{}", address.begin, address.index);
  }
}

Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk) {
  const std::size_t before = text.size();
  if (record.size() >= kLargeRecord) {
    text.reserve(before + kLongestEscape * record.size() + RecordDecoder::kMostText);  // unused pages take no memory
  }
  text += '{';
  append_json_name(text, name);
  text += fmt::format(",\"size\":{},", record.size());
  append_json_bytes(text, "text", "base64", record);
  auto decoded = decoder.append_members(text, chunk, record);
  if (decoded) {
    text += "}\n";
  } else {
    text.resize(before);
  }
  return decoded;
}

}  // namespace recordfs
