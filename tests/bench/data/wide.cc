#include "tests/bench/data/wide.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/data/records.h"
#include "tests/bench/data/riegeli_data.h"
#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

constexpr std::uint64_t kStartOfRecord = 3;

std::uint64_t tag_of(std::size_t field) { return field << 3 | (is_text_in_wide(field) ? 2 : 1); }

// Returns the values of the fields, as stored.
std::vector<std::string_view> values_of(std::string_view record) {
  std::vector<std::string_view> values;
  for (std::size_t field = 1; field <= kWideFields; ++field) {
    std::string tag;
    put_varint(tag, tag_of(field));
    const bool has_tag = record.starts_with(tag) && record.size() > tag.size();
    if (has_tag) record.remove_prefix(tag.size());
    const std::size_t size = is_text_in_wide(field) ? 1 + static_cast<unsigned char>(record.front()) : 8;
    if (!has_tag || size > record.size()) {
      std::fputs("make_data: a record is no message of kind wide\n", stderr);
      std::exit(1);
    }
    values.push_back(record.substr(0, size));
    record.remove_prefix(size);
  }
  return values;
}

}  // namespace

PackedChunk wide_chunk(const Batch& batch, Packing packing) {
  std::vector<std::string> buffers(kWideFields);
  for (std::size_t i = batch.records().size(); i > 0; --i) {
    const auto values = values_of(batch.records()[i - 1]);
    for (std::size_t field = 0; field < kWideFields; ++field) buffers[field] += values[field];
  }
  std::string content, header;
  for (const std::string& buffer : buffers) content += buffer;
  const Part bucket = part_of(packing, content);
  put_varint(header, 1);
  put_varint(header, kWideFields);
  put_varint(header, bucket.length());
  for (const std::string& buffer : buffers) put_varint(header, buffer.size());
  // A node for each field, the last one first, and one for the record. Only the first of a record needs a transition.
  constexpr std::size_t kNodes = kWideFields + 1;
  put_varint(header, kNodes);
  for (std::size_t field = kWideFields; field > 0; --field) put_varint(header, tag_of(field));
  put_varint(header, kStartOfRecord);
  for (std::size_t node = 1; node < kNodes; ++node) put_varint(header, kNodes + node);
  put_varint(header, 0);
  for (std::size_t field = kWideFields; field > 0; --field) put_varint(header, field - 1);
  put_varint(header, 0);
  const Part stored_header = part_of(packing, header);
  PackedChunk chunk{.stored = std::string(1, compression_type(packing)), .check = Check::kHighway};
  put_varint(chunk.stored, stored_header.length());
  append(chunk, stored_header);
  append(chunk, bucket);
  append(chunk, part_of(packing, std::string(batch.records().size() - 1, '\0')));
  chunk.records = batch.records().size();
  chunk.record_bytes = batch.bytes();
  return chunk;
}

}  // namespace recordfs::bench
