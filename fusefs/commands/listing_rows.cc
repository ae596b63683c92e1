#include "fusefs/commands/listing_rows.h"

#include <optional>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/json_text.h"
#include "fusefs/commands/json_lines.h"

namespace recordfs {
namespace {

std::string number_or(const std::optional<std::uint64_t>& number, std::string_view otherwise) {
  return number ? fmt::format("{}", *number) : std::string(otherwise);
}

std::string json_string(std::string_view text) {
  std::string json;
  append_json_string(json, printable(text));
  return json;
}

}  // namespace

std::string ListingRows::json_of_record(const IndexedChunk& indexed, std::uint64_t index, bool is_counted,
                                        const Result<std::uint64_t>& size) const {
  const ChunkInfo& chunk = indexed.chunk;
  std::string json = "{";
  if (is_counted) json += fmt::format("\"ordinal\":{},", indexed.before.records + index);
  json += size ? fmt::format("\"size\":{}", *size) : "\"size\":null,\"error\":" + json_string(to_string(size.error()));
  json += fmt::format(",\"chunk\":{},\"index\":{}", chunk.begin, index);
  if (options_.with_codec) {
    json += fmt::format(",\"codec\":{},\"kind\":{},\"end\":{}", json_string(chunk.codec), json_string(chunk.kind),
                        chunk.end);
  }
  return json + "}\n";
}

std::string ListingRows::of_record(const IndexedChunk& indexed, std::uint64_t index, bool is_counted,
                                   const Result<std::uint64_t>& size) const {
  if (options_.is_json) return json_of_record(indexed, index, is_counted, size);
  const ChunkInfo& chunk = indexed.chunk;
  const std::string ordinal = is_counted ? fmt::format("{}", indexed.before.records + index) : "-";
  const std::string bytes = size ? fmt::format("{}", *size) : "-";
  const std::string address = fmt::format("{}/{}", chunk.begin, index);
  if (!options_.is_aligned) {
    std::string row = ordinal + "\t" + bytes + "\t" + address;
    if (options_.with_codec) row += fmt::format("\t{}\t{}\t{}-{}", chunk.codec, chunk.kind, chunk.begin, chunk.end);
    return row + "\n";
  }
  if (!options_.with_codec) return fmt::format("{:>9} {:>11}  {}\n", ordinal, bytes, address);
  return fmt::format("{:>9} {:>11}  {:<20} {:<8} {:<12} {}-{}\n", ordinal, bytes, address, chunk.codec, chunk.kind,
                     chunk.begin, chunk.end);
}

std::string ListingRows::of_chunk(const IndexedChunk& indexed) const {
  if (!options_.is_json) return chunk_row(indexed);
  const ChunkInfo& chunk = indexed.chunk;
  return fmt::format(
      "{{\"begin\":{},\"end\":{},\"kind\":{},\"codec\":{},\"first_ordinal\":{},\"records\":{},\"stored\":{},"
      "\"decoded\":{}}}\n",
      chunk.begin, chunk.end, json_string(chunk.kind), json_string(chunk.codec), indexed.before.records,
      number_or(chunk.records, "null"), chunk.stored_size, number_or(chunk.payload_size(), "null"));
}

}  // namespace recordfs
