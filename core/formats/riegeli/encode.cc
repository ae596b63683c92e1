#include "core/formats/riegeli/encode.h"

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/base/protobuf.h"
#include "core/formats/riegeli/wire.h"
#include "core/hash/highway.h"

namespace recordfs::riegeli {
namespace {

using protobuf::append_varint;

// Returns whether the records are in memory one after another.
bool are_adjacent(std::span<const Bytes> records) {
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i - 1].data() + records[i - 1].size() != records[i].data()) return false;
  }
  return true;
}

// The records as one piece of memory, which is copied if necessary.
class Joined {
 public:
  explicit Joined(std::span<const Bytes> records) {
    for (const Bytes record : records) size_ += record.size();
    if (are_adjacent(records)) {
      bytes_ = records.empty() ? Bytes{} : Bytes(records.front().data(), size_);
      return;
    }
    copy_.reserve(size_);
    for (const Bytes record : records) copy_ += as_text(record);
    bytes_ = as_bytes(copy_);
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  Bytes bytes() const { return bytes_; }

 private:
  std::size_t size_ = 0;
  std::string copy_;
  Bytes bytes_;
};

// Puts the header in front of the data that begins at `begin` of `out`, in the room that begin_chunk() made.
std::size_t begin_chunk(std::string& out) {
  out.resize(out.size() + kChunkHeaderSize);
  return out.size();
}
void end_chunk(std::string& out, std::size_t begin, ChunkHeader header) {
  const Bytes data = as_bytes(out).subspan(begin);
  header.data_size = data.size();
  header.data_hash = riegeli_hash(data);
  std::string bytes;
  append_chunk_header(bytes, header);
  out.replace(begin - kChunkHeaderSize, kChunkHeaderSize, bytes);
}

// Appends the size of a unit, and the unit.
Result<void> append_sized_unit(std::string& out, const Compression& compression, std::string_view content) {
  std::string unit;
  TRY(append_unit(unit, compression.codec, compression.level, as_bytes(content)));
  append_varint(out, unit.size());
  out += unit;
  return {};
}

}  // namespace

Result<void> append_simple_chunk(const RequestContext& context, std::string& out, const Compression& compression,
                                 std::span<const Bytes> records) {
  if (records.size() > Limits{}.records_per_chunk) {
    return Error{.code = Code::kLimit, .detail = fmt::format("{} records in one chunk", records.size())};
  }
  const Joined values(records);
  std::string sizes;
  for (const Bytes record : records) append_varint(sizes, record.size());
  TRY(context.reserve(values.bytes().size() + sizes.size()));
  const std::size_t begin = begin_chunk(out);
  out.push_back(compression_type_of(compression.codec));
  TRY(append_sized_unit(out, compression, sizes));
  TRY(append_unit(out, compression.codec, compression.level, values.bytes()));
  end_chunk(out, begin,
            {.type = ChunkType::kSimple, .num_records = records.size(), .decoded_data_size = values.bytes().size()});
  return {};
}

Result<void> append_metadata_chunk(std::string& out, const Compression& compression, Bytes message) {
  // A transposed chunk with one record that is not split into fields: one bucket of two buffers, the record and its
  // length, and one node.
  constexpr char kPlainRecord = 1;
  std::string content(as_text(message));
  append_varint(content, message.size());
  std::string bucket;
  TRY(append_unit(bucket, compression.codec, compression.level, as_bytes(content)));
  std::string header = {1, 2};  // buckets, buffers
  append_varint(header, bucket.size());
  append_varint(header, message.size());
  append_varint(header, content.size() - message.size());
  header += {1, kPlainRecord, 0, 0, 0};  // nodes; the node, its successor, its buffer; the first node

  const std::size_t begin = begin_chunk(out);
  out.push_back(compression_type_of(compression.codec));
  TRY(append_sized_unit(out, compression, header));
  out += bucket;
  TRY(append_unit(out, compression.codec, compression.level, {}));  // no transitions
  end_chunk(out, begin, {.type = ChunkType::kMetadata, .decoded_data_size = message.size()});
  return {};
}

}  // namespace recordfs::riegeli
