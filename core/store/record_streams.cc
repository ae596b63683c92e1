// RecordStore: payloads, streams, rows, and the file's own bytes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/store/record_store.h"

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

}  // namespace

Result<Slice> RecordStore::read_payload(const ChunkInfo& info, std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto decoded, chunk(info));
  const std::uint64_t size = decoded->payload_size();
  if (offset >= size) return Slice{};
  const Layout& layout = decoded->layout();
  const std::uint64_t end = offset + std::min(length, size - offset);
  if (layout.has_failures()) {
    for (std::uint64_t i = layout.index_at(offset); i < layout.records() && layout.extent(i).begin < end; ++i) {
      TRY(check_readable(layout, i));
    }
  }
  return read_bytes(*decoded, offset, end - offset);
}

Result<std::uint64_t> RecordStore::stream_size(Stream stream) const {
  ASSIGN_OR_RETURN(const auto known, size_totals());
  return known.at(stream == Stream::kConcat ? SearchKey::kBytes : SearchKey::kLines);
}

Result<Slice> RecordStore::part_of_stream(Stream stream, const IndexedChunk& indexed, std::uint64_t offset,
                                          std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto decoded, chunk(indexed.chunk));
  const Layout& layout = decoded->layout();
  const std::uint64_t whole = layout.total() + (stream == Stream::kLines ? layout.records() : 0);
  if (offset >= whole) return Slice{};
  const std::uint64_t wanted = std::min(length, whole - offset);
  if (stream == Stream::kConcat) return read_payload(indexed.chunk, layout.first_begin() + offset, wanted);
  return read_lines(*decoded, offset, wanted);
}

Result<Slice> RecordStore::read_lines(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const {
  const Layout& layout = chunk.layout();
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(static_cast<std::size_t>(length)));
  std::size_t filled = 0;
  for (std::uint64_t i = line_at(layout, offset); filled < buffer.size(); ++i) {
    const Extent extent = layout.extent(i);
    const std::uint64_t skip = offset + filled - line_begin(layout, i);
    const bool has_bytes_here = skip < extent.size;
    if (has_bytes_here || extent.size == 0) {
      TRY(check_readable(layout, i));
    }
    if (has_bytes_here) {
      const std::uint64_t wanted = std::min<std::uint64_t>(extent.size - skip, buffer.size() - filled);
      ASSIGN_OR_RETURN(const auto piece, read_bytes(chunk, extent.begin + skip, wanted));
      std::memcpy(buffer.data() + filled, piece.bytes.data(), piece.bytes.size());
      filled += piece.bytes.size();
    }
    if (filled < buffer.size()) buffer.data()[filled++] = std::byte{'\n'};
  }
  return owned(std::move(buffer));
}

Result<void> RecordStore::check_readable(const Layout& layout, std::uint64_t index) const {
  const Error* failure = layout.failure(index);
  if (failure == nullptr) return {};
  report(*failure);
  return *failure;
}

Result<Slice> RecordStore::read_stream(Stream stream, std::uint64_t offset, std::uint64_t length) const {
  const SearchKey search_key = stream == Stream::kConcat ? SearchKey::kBytes : SearchKey::kLines;
  ASSIGN_OR_RETURN(const auto size, stream_size(stream));
  if (offset >= size || length == 0) return Slice{};
  const std::uint64_t wanted = std::min(length, size - offset);
  std::optional<Buffer> gathered;
  for (std::uint64_t filled = 0;;) {
    ASSIGN_OR_RETURN(const auto indexed, reported(sizes().find(search_key, offset + filled)));
    auto piece = part_of_stream(stream, indexed, offset + filled - indexed.before.at(search_key), wanted - filled);
    if (!piece || piece->bytes.size() == wanted) return piece;
    if (piece->bytes.empty()) {
      return Error{Code::kChanged, indexed.chunk.begin, "the chunk's size has changed"};
    }
    if (!gathered) {
      ASSIGN_OR_RETURN(auto allocated, Buffer::allocate(static_cast<std::size_t>(wanted)));
      gathered = std::move(allocated);
    }
    std::memcpy(gathered->data() + filled, piece->bytes.data(), piece->bytes.size());
    filled += piece->bytes.size();
    if (filled == wanted) return owned(std::move(*gathered));
  }
}

// Returns the part of a range that is in the prefix or in one record.
Result<Slice> RecordStore::part_of_whole(const DenseArray& stream, std::uint64_t offset, std::uint64_t length) const {
  if (offset < stream.header.size()) {
    const Bytes rest = as_bytes(stream.header).subspan(static_cast<std::size_t>(offset));
    return Slice{rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(length, rest.size()))), {}};
  }
  const std::uint64_t of_records = offset - stream.header.size();
  const std::uint64_t ordinal = of_records / stream.record_size;
  const std::uint64_t begin = ordinal * stream.record_size;
  const std::uint64_t due = std::min(stream.record_size, stream.size - stream.header.size() - begin);
  auto indexed = chunk_by_ordinal(ordinal);
  if (!indexed && indexed.error().code == Code::kNotFound) {
    return reported(Result<Slice>(Error{Code::kDamage, source_->size(), "the records end before the stream does"}));
  }
  if (!indexed) return std::move(indexed).error();
  const RecordRef record{indexed->chunk, ordinal - indexed->before.records};
  ASSIGN_OR_RETURN(const auto size, record_size(record));
  if (size != due) {
    return reported(Result<Slice>(Error{Code::kDamage, record.chunk.begin, "unexpected record size"}));
  }
  return read_record(record, of_records - begin, std::min(length, begin + due - of_records));
}

Result<Slice> RecordStore::read_whole_stream(std::uint64_t offset, std::uint64_t length) const {
  const DenseArray& stream = *container_->array();
  if (offset >= stream.size || length == 0) return Slice{};
  const std::uint64_t wanted = std::min(length, stream.size - offset);
  auto first = part_of_whole(stream, offset, wanted);
  if (!first || first->bytes.size() == wanted) return first;
  ASSIGN_OR_RETURN(auto gathered, Buffer::allocate(static_cast<std::size_t>(wanted)));
  copy_bytes(first->bytes, gathered.span());
  for (std::size_t filled = first->bytes.size(); filled < wanted;) {
    ASSIGN_OR_RETURN(const auto next, part_of_whole(stream, offset + filled, wanted - filled));
    if (next.bytes.empty()) return Error{Code::kChanged, 0, "a record's size has changed"};
    copy_bytes(next.bytes, gathered.span().subspan(filled));
    filled += next.bytes.size();
  }
  return owned(std::move(gathered));
}

Result<std::uint64_t> RecordStore::rows_size() const {
  ASSIGN_OR_RETURN(const auto known, record_totals());
  return chunk_rows_header().size() + known.rows;
}

Result<Slice> RecordStore::read_rows(std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto size, rows_size());
  if (offset >= size) return Slice{};
  const std::uint64_t wanted = std::min(length, size - offset);
  const std::string header = chunk_rows_header();
  std::string text;
  text.reserve(static_cast<std::size_t>(wanted));
  if (offset < header.size()) text = header.substr(static_cast<std::size_t>(offset));
  while (text.size() < wanted) {
    const std::uint64_t at = offset + text.size() - header.size();
    ASSIGN_OR_RETURN(const auto indexed, reported(catalog_.find(SearchKey::kRows, at)));
    text += chunk_row(indexed).substr(static_cast<std::size_t>(at - indexed.before.rows));
  }
  text.resize(static_cast<std::size_t>(wanted));
  auto owner = std::make_shared<const std::string>(std::move(text));
  return Slice{as_bytes(*owner), owner};
}

Result<Slice> RecordStore::read_raw(Position begin, Position end, std::uint64_t offset, std::uint64_t length) const {
  if (offset >= end - begin) return Slice{};
  auto bytes = read_exactly(*source_, begin + offset, std::min(length, end - begin - offset));
  if (!bytes) {
    report(bytes.error());
    return std::move(bytes).error();
  }
  return owned(std::move(*bytes));
}

Result<Slice> RecordStore::read_raw(const ChunkInfo& chunk, std::uint64_t offset, std::uint64_t length) const {
  auto slice = read_raw(chunk.begin, chunk.end, offset, length);
  const std::uint64_t generation = source_->generation();
  if (!slice || generation == 0) return slice;
  // A touched file whose ends are unchanged may have changed in between.
  if (auto sound = container_->verify(chunk); !sound) {
    if (!is_permanent(sound.error().code)) return std::move(sound).error();
    const Error changed{Code::kChanged, chunk.begin, "the file was modified, and this chunk is not valid"};
    report(changed);
    return changed;
  }
  if (source_->generation() != generation) return Error{Code::kChanged, chunk.begin, "the file is being written"};
  return slice;
}

}  // namespace recordfs
