#include "core/store/json_line.h"

#include <fmt/format.h>

#include "core/decoding/json_writer.h"

namespace recordfs {

std::string json_member_of_shard(std::string_view name) {
  if (name.empty()) return {};
  std::string member;
  append_json_path(member, "shard", name);
  return member + ',';
}

namespace {

void append_number(std::string& line, std::string_view before, std::uint64_t number) {
  const fmt::format_int digits(number);
  line += before;
  line.append(digits.data(), digits.size());
}

}  // namespace

// There may be millions of lines for a small file, so each costs little.
void append_json_line_head(std::string& line, const RecordName& name, std::uint64_t size,
                           std::string_view shard_member) {
  line += '{';
  if (const auto* ordinal = std::get_if<std::uint64_t>(&name)) {
    append_number(line, "\"ordinal\":", *ordinal);
    line += ',';
    line += shard_member;
    return append_number(line, "\"size\":", size);
  }
  const auto& address = std::get<RecordAddress>(name);
  line += shard_member;
  append_number(line, "\"chunk\":", address.begin);
  append_number(line, ",\"index\":", address.index);
  append_number(line, ",\"size\":", size);
}

std::string json_line_head(const RecordName& name, std::uint64_t size, std::string_view shard_member) {
  std::string line;
  append_json_line_head(line, name, size, shard_member);
  return line;
}

Result<void> append_decoded(std::string& line, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                            const JsonLineOptions& options) {
  if (!options.fields) return decoder.append_members({}, line, chunk, record, options.bytes);
  JsonFilter filter(*options.fields, JsonFilter::Form::kMember);
  TRY(decoder.append_members({}, line, chunk, record, options.bytes, &filter));
  filter.finish();
  return {};
}

Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk, std::string_view shard_member, const JsonLineOptions& options) {
  const std::size_t before = text.size();
  append_json_line_head(text, name, record.size(), shard_member);
  if (options.has_record) {
    text += ',';
    append_json_bytes(text, "text", "base64", record, options.bytes);
  }
  auto decoded = append_decoded(text, decoder, chunk, record, options);
  if (decoded) {
    text += "}\n";
  } else {
    text.resize(before);
  }
  return decoded;
}

}  // namespace recordfs
