#include "core/store/stream_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace recordfs {
namespace {

// Returns where record `index` begins in the chunk's lines. A newline follows each record.
std::uint64_t line_begin(const Layout& layout, std::uint64_t index) {
  return layout.extent(index).begin - layout.first_begin() + index;
}

// Returns the record whose line contains `offset`. REQUIRES: there is one.
std::uint64_t line_at(const Layout& layout, std::uint64_t offset) {
  std::uint64_t low = 0;
  std::uint64_t high = layout.records();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (line_begin(layout, middle) + layout.extent(middle).size < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Slice slice_of(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  return {as_bytes(*owner), owner};
}

}  // namespace

Result<std::uint64_t> StreamReader::size(Stream stream) const {
  if (stream == Stream::kArray) return file_.container->array()->size;
  if (stream == Stream::kChunkRows) {
    ASSIGN_OR_RETURN(const auto known, index_.totals(ScanDetail::kCounts));
    return chunk_rows_header().size() + known.rows;
  }
  ASSIGN_OR_RETURN(const auto known, index_.totals(ScanDetail::kSizes));
  return known.at(stream == Stream::kConcat ? SearchKey::kBytes : SearchKey::kLines);
}

Result<Slice> StreamReader::read(const RequestContext& context, Stream stream, std::uint64_t offset,
                                 std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto size, this->size(stream));
  if (offset >= size || length == 0) return Slice{};
  const std::uint64_t wanted = std::min(length, size - offset);
  std::optional<Buffer> gathered;
  for (std::uint64_t filled = 0;;) {
    auto piece = part_of(context, stream, offset + filled, wanted - filled);
    if (!piece || piece->bytes.size() == wanted) return piece;
    if (piece->bytes.empty()) return Error{Code::kChanged, 0, "a chunk's or record's size has changed"};
    if (!gathered) {
      ASSIGN_OR_RETURN(gathered, Buffer::allocate(context, static_cast<std::size_t>(wanted)));
    }
    copy_bytes(piece->bytes, gathered->span().subspan(static_cast<std::size_t>(filled)));
    filled += piece->bytes.size();
    if (filled == wanted) return owned(std::move(*gathered));
  }
}

Result<Slice> StreamReader::part_of(const RequestContext& context, Stream stream, std::uint64_t offset,
                                    std::uint64_t length) const {
  switch (stream) {
    case Stream::kArray: return part_of_array(context, offset, length);
    case Stream::kChunkRows: return part_of_rows(context, offset, length);
    case Stream::kConcat:
    case Stream::kLines: break;
  }
  return part_of_records(context, stream, offset, length);
}

Result<Slice> StreamReader::part_of_records(const RequestContext& context, Stream stream, std::uint64_t offset,
                                            std::uint64_t length) const {
  const SearchKey search_key = stream == Stream::kConcat ? SearchKey::kBytes : SearchKey::kLines;
  ASSIGN_OR_RETURN(const auto indexed, index_.find(context, search_key, offset));
  ASSIGN_OR_RETURN(const auto decoded, chunks_.get(context, indexed.chunk));
  const Layout& layout = decoded->layout();
  const std::uint64_t whole = layout.total() + (stream == Stream::kLines ? layout.records() : 0);
  const std::uint64_t begin = offset - indexed.before.at(search_key);
  if (begin >= whole) return Slice{};
  const std::uint64_t wanted = std::min(length, whole - begin);
  if (stream == Stream::kLines) return read_lines(context, *decoded, begin, wanted);
  return chunks_.read_payload(context, indexed.chunk, layout.first_begin() + begin, wanted);
}

Result<Slice> StreamReader::read_lines(const RequestContext& context, const Chunk& chunk, std::uint64_t offset,
                                       std::uint64_t length) const {
  const Layout& layout = chunk.layout();
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, static_cast<std::size_t>(length)));
  std::size_t filled = 0;
  for (std::uint64_t i = line_at(layout, offset); filled < buffer.size(); ++i) {
    const Extent extent = layout.extent(i);
    const std::uint64_t skip = offset + filled - line_begin(layout, i);
    const bool has_bytes_here = skip < extent.size;
    if (has_bytes_here || extent.size == 0) {
      TRY(chunks_.check_readable(context, layout, i));
    }
    if (has_bytes_here) {
      const std::uint64_t wanted = std::min<std::uint64_t>(extent.size - skip, buffer.size() - filled);
      ASSIGN_OR_RETURN(const auto piece,
                       log_.reported(context, chunks_.read(context, chunk, extent.begin + skip, wanted)));
      std::memcpy(buffer.data() + filled, piece.bytes.data(), piece.bytes.size());
      filled += piece.bytes.size();
    }
    if (filled < buffer.size()) buffer.data()[filled++] = std::byte{'\n'};
  }
  return owned(std::move(buffer));
}

// Returns the part that is in the header or in one record.
Result<Slice> StreamReader::part_of_array(const RequestContext& context, std::uint64_t offset,
                                          std::uint64_t length) const {
  const DenseArray& array = *file_.container->array();
  if (offset < array.header.size()) {
    const Bytes rest = as_bytes(array.header).subspan(static_cast<std::size_t>(offset));
    return Slice{rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(length, rest.size()))), {}};
  }
  const std::uint64_t of_records = offset - array.header.size();
  const std::uint64_t ordinal = of_records / array.record_size;
  const std::uint64_t begin = ordinal * array.record_size;
  const std::uint64_t due = std::min(array.record_size, array.size - array.header.size() - begin);
  auto indexed = index_.find(context, SearchKey::kRecords, ordinal);
  if (!indexed && indexed.error().code == Code::kNotFound) {
    return log_.reported(
        context, Result<Slice>(Error{Code::kDamage, file_.source->size(), "the records end before the stream does"}));
  }
  if (!indexed) return std::move(indexed).error();
  const RecordRef record{indexed->chunk, ordinal - indexed->before.records};
  ASSIGN_OR_RETURN(const auto size, records_.size(context, record));
  if (size != due) {
    return log_.reported(context, Result<Slice>(Error{Code::kDamage, record.chunk.begin, "unexpected record size"}));
  }
  return records_.read(context, record, of_records - begin, std::min(length, begin + due - of_records));
}

// Returns the part that is in the header line or in one row.
Result<Slice> StreamReader::part_of_rows(const RequestContext& context, std::uint64_t offset,
                                         std::uint64_t length) const {
  static const std::string header = chunk_rows_header();
  if (offset < header.size()) return slice_of(header.substr(static_cast<std::size_t>(offset), length));
  ASSIGN_OR_RETURN(const auto indexed, index_.find(context, SearchKey::kRows, offset - header.size()));
  const std::uint64_t begin = offset - header.size() - indexed.before.rows;
  return slice_of(chunk_row(indexed).substr(static_cast<std::size_t>(begin), length));
}

}  // namespace recordfs
