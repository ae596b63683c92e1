#include "core/store/json_line.h"

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

std::string json_member_of_shard(std::string_view name) {
  if (name.empty()) return {};
  std::string member = "\"shard\":";
  append_json_string(member, printable(name));
  return member + ',';
}

std::string json_line_head(const RecordName& name, std::uint64_t size, std::string_view shard_member) {
  if (const auto* ordinal = std::get_if<std::uint64_t>(&name)) {
    return fmt::format("{{\"ordinal\":{},{}\"size\":{},", *ordinal, shard_member, size);
  }
  const auto& address = std::get<RecordAddress>(name);
  return fmt::format("{{{}\"chunk\":{},\"index\":{},\"size\":{},", shard_member, address.begin, address.index, size);
}

Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk, std::string_view shard_member) {
  const std::size_t before = text.size();
  text += json_line_head(name, record.size(), shard_member);
  append_json_bytes(text, "text", "base64", record);
  auto decoded = decoder.append_members({}, text, chunk, record);
  if (decoded) {
    text += "}\n";
  } else {
    text.resize(before);
  }
  return decoded;
}

}  // namespace recordfs
