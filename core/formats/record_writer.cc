#include "core/formats/record_writer.h"

#include <algorithm>
#include <utility>

namespace recordfs {
namespace {

constexpr std::uint64_t kCopiedPiece = 1u << 20;  // bytes

}  // namespace

Result<void> ByteSink::rewrite(Position /*begin*/, Bytes /*bytes*/) {
  return Error{.code = Code::kUnsupported, .detail = "the format needs a file as its output"};
}

Result<void> RecordWriter::append_stored(const RequestContext& /*context*/, const Source& /*source*/,
                                         const ChunkInfo& /*chunk*/) {
  return Error{.code = Code::kUnsupported, .detail = "chunks of this format are not copied"};
}

Result<void> RecordWriter::append_attributes(const RequestContext& /*context*/, const Source& /*source*/,
                                             const ChunkInfo& /*chunk*/) {
  return {};
}

Result<void> copy_stored(const RequestContext& context, const Source& source, Position begin, Position end,
                         ByteSink& sink) {
  while (begin < end) {
    const std::uint64_t size = std::min(kCopiedPiece, end - begin);
    ASSIGN_OR_RETURN(const auto piece, view_exactly(context, source, begin, size));
    TRY(sink.write(piece.bytes));
    begin += size;
  }
  return {};
}

Result<void> RecordGatherer::add(const RequestContext& context, Bytes record) {
  const std::uint64_t size = bytes_.size() + record.size() + kRecordOverhead * (ends_.size() + 1);
  if (size > writer_.chunk_size()) TRY(flush(context));
  bytes_ += as_text(record);
  ends_.push_back(bytes_.size());
  return {};
}

Result<void> RecordGatherer::flush(const RequestContext& context) {
  if (ends_.empty()) return {};
  std::vector<Bytes> records;
  records.reserve(ends_.size());
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends_) {
    records.push_back(as_bytes(bytes_).subspan(begin, end - begin));
    begin = end;
  }
  ASSIGN_OR_RETURN(const auto encoded, writer_.encode(context, records));
  bytes_.clear();
  ends_.clear();
  return writer_.append(context, encoded);
}

}  // namespace recordfs
