#include "core/store/json_line.h"

#include "core/decoding/field_names.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

void append_json_line_head(std::string& line, const RecordName& name, std::uint64_t size, std::string_view shard,
                           std::string_view file) {
  JsonWriter json(line);
  json.begin_object();
  const auto* const ordinal = std::get_if<std::uint64_t>(&name);
  if (ordinal != nullptr) json.member("ordinal", *ordinal);
  if (!file.empty()) json.path("file", file);
  if (!shard.empty()) json.path("shard", shard);
  if (const auto* const address = std::get_if<RecordAddress>(&name)) {
    json.member("chunk", address->begin);
    json.member("index", address->index);
  }
  json.member("size", size);
}

std::string json_line_head(const RecordName& name, std::uint64_t size, std::string_view shard, std::string_view file) {
  std::string line;
  append_json_line_head(line, name, size, shard, file);
  return line;
}

Result<void> append_decoded(std::string& line, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                            const JsonLineOptions& options) {
  if (!options.fields) return decoder.append_members({}, line, chunk, record, options.bytes);
  JsonFilter filter(*options.fields, JsonFilter::Form::kMember);
  TRY(decoder.append_members({}, line, chunk, record, options.bytes, &filter));
  filter.finish();
  note_field_names({}, decoder, chunk, record, *options.fields);
  return {};
}

Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk, std::string_view shard, const JsonLineOptions& options) {
  const std::size_t before = text.size();
  append_json_line_head(text, name, record.size(), shard);
  if (options.has_record) {
    JsonWriter::in_object(text, JsonWriter::kNoLimit, options.bytes).bytes("text", "base64", record);
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
