#include "core/store/record_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

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

constexpr int kMostIndexBits = 24;
// A followed file may grow by this factor before its addresses change.
constexpr std::uint64_t kRoomToGrow = 16;

std::uint64_t size_to_come(std::uint64_t size, unsigned address_bits) {
  const std::uint64_t least = (std::uint64_t{1} << (address_bits - kMostIndexBits)) - 1;
  return std::max(least, size > UINT64_MAX / kRoomToGrow ? size : size * kRoomToGrow);
}

}  // namespace

RecordReader::RecordReader(const StoredFile& file, const ChunkIndex& index, const ChunkReader& chunks, DamageLog& log,
                           const RecordReader* shorter)
    : file_(file), index_(index), chunks_(chunks), log_(log), index_bits_(index_bits(shorter)) {}

int RecordReader::index_bits(const RecordReader* shorter) const {
  if (file_.container->traits().index_fits_in_chunk) return 0;
  if (shorter != nullptr && !shorter->file_.container->traits().index_fits_in_chunk) return shorter->index_bits_;
  const std::uint64_t size = file_.source->size();
  const unsigned address_bits = file_.services.address_bits;
  const std::uint64_t most = file_.is_followed ? size_to_come(size, address_bits) : size;
  return std::clamp(static_cast<int>(address_bits) - static_cast<int>(std::bit_width(most)), 0, kMostIndexBits);
}

Result<std::uint64_t> RecordReader::address(const ChunkInfo& chunk, std::uint64_t index) const {
  // Every address within the chunk's bytes belongs to it, because record_at() looks for the chunk that covers the
  // address. So a few index bits suffice in a large file.
  const std::uint64_t room = (chunk.end - chunk.begin) << index_bits_;
  if (index < room) return (chunk.begin << index_bits_) + index;
  return log_.reported(
      {}, Result<std::uint64_t>(Error{Code::kLimit, chunk.begin, "too many records in the chunk to address them"}));
}

Result<ChunkReader::Pointer> RecordReader::get(const RequestContext& context, const ChunkInfo& chunk) const {
  return is_read_together(chunk) ? chunks_.get_alone(context, chunk) : chunks_.get(context, chunk);
}

Result<RecordRef> RecordReader::record_at(const RequestContext& context, std::uint64_t address) const {
  ASSIGN_OR_RETURN(const auto chunk, index_.chunk_covering(context, address >> index_bits_));
  return RecordRef{chunk, address - (chunk.begin << index_bits_)};
}

Result<std::uint64_t> RecordReader::size(const RequestContext& context, const RecordRef& record) const {
  // A reader that asks for the size of a record usually reads it next. Decoding now avoids reading the chunk twice.
  Result<std::shared_ptr<const Layout>> known = std::shared_ptr<const Layout>();
  if (chunks_.is_large(record.chunk)) {
    known = chunks_.layout(context, record.chunk);
  } else if (auto decoded = get(context, record.chunk)) {
    known = std::shared_ptr<const Layout>(*decoded, &(*decoded)->layout());
  } else {
    known = std::move(decoded).error();
  }
  const bool is_readable = known.has_value();
  // The layout of an undecodable chunk may still tell the declared sizes, as listings show them.
  if (!known && is_permanent(known.error().code)) known = chunks_.layout(context, record.chunk);
  if (!known) {
    if (!is_permanent(known.error().code)) return std::move(known).error();
    return record.chunk.records == 1u ? at_least_one(record.chunk.decoded_size.value_or(1)) : 1;
  }
  if (record.index >= (*known)->records()) {
    return Error{Code::kNotFound, record.chunk.begin, "the chunk has no such record"};
  }
  const std::uint64_t size = (*known)->extent(record.index).size;
  if (!is_readable || (*known)->failure(record.index) != nullptr) return at_least_one(size);
  if (size > 0 || !chunks_.is_large(record.chunk)) return size;
  // A record that is empty by its layout may be unreadable, which no read would show, because the kernel sends none.
  const auto decoded = chunks_.get(context, record.chunk);
  if (!decoded && !is_permanent(decoded.error().code)) return decoded.error();
  const bool is_empty = decoded && (*decoded)->layout().failure(record.index) == nullptr;
  return std::uint64_t{is_empty ? 0u : 1u};
}

Result<Slice> RecordReader::read(const RequestContext& context, const RecordRef& record, std::uint64_t offset,
                                 std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto decoded, get(context, record.chunk));
  if (record.index >= decoded->layout().records()) {
    return Error{Code::kNotFound, record.chunk.begin, "the chunk has no such record"};
  }
  return read(context, *decoded, record.index, offset, length);
}

RecordReader::CachedRecord RecordReader::cached_at(std::uint64_t address) const {
  const Position at = address >> index_bits_;
  auto cached = file_.services.chunks.last_until({file_.id, at});
  if (!cached || at >= cached->info.end) return {};
  const std::uint64_t index = address - (cached->info.begin << index_bits_);
  if (index >= cached->chunk->layout().records()) return {};
  if (!is_read_together(cached->info)) chunks_.was_read(cached->info);
  return {std::move(cached), index};
}

Result<std::uint64_t> RecordReader::size_at(const RequestContext& context, std::uint64_t address) const {
  if (const auto cached = cached_at(address); cached.chunk) {
    const Layout& layout = cached.chunk->chunk->layout();
    const std::uint64_t size = layout.extent(cached.index).size;
    if (size > 0 && layout.failure(cached.index) == nullptr) return size;
  }
  ASSIGN_OR_RETURN(const auto record, record_at(context, address));
  return size(context, record);
}

Result<Slice> RecordReader::read_at(const RequestContext& context, std::uint64_t address, std::uint64_t offset,
                                    std::uint64_t length) const {
  if (const auto cached = cached_at(address); cached.chunk) {
    return read(context, *cached.chunk->chunk, cached.index, offset, length);
  }
  ASSIGN_OR_RETURN(const auto record, record_at(context, address));
  return read(context, record, offset, length);
}

Result<Slice> RecordReader::read(const RequestContext& context, const Chunk& chunk, std::uint64_t index,
                                 std::uint64_t offset, std::uint64_t length) const {
  const Layout& layout = chunk.layout();
  if (layout.has_failures()) {
    TRY(chunks_.check_readable(context, layout, index));
  }
  const Extent extent = layout.extent(index);
  if (offset >= extent.size) return Slice{};
  const std::uint64_t wanted = std::min(length, extent.size - offset);
  if (chunk.is_in_memory()) {
    if (auto slice = chunk.read(context, extent.begin + offset, wanted)) return slice;
  }
  // Reading a chunk on demand may decode more of it.
  DecodeBudget::DeferredReservation turn(file_.budgets.slow, DecodeBudget::DeferredReservation::For::kGrows);
  return log_.reported(context, chunk.read(context.with(turn), extent.begin + offset, wanted));
}

namespace {

ChunkInfo info_of(const BatchChunk& chunk) {
  ChunkInfo info;
  info.key = {chunk.begin, 0};
  info.begin = chunk.begin;
  info.end = chunk.end;
  info.records = chunk.records;
  return info;
}

// Passes the records of a batch to `take`, from `at` on. Moves `at` to the end of the last chunk. Returns false if
// `take` did. REQUIRES: the batch has the chunk of `at`.
bool take_from(const RecordBatch& batch, RecordRef& at, const std::function<bool(const RecordRef&, Bytes)>& take) {
  std::uint64_t first = 0;  // of the chunk, among the batch's records
  for (const BatchChunk& chunk : batch.chunks) {
    if (chunk.begin >= at.chunk.begin) {
      if (chunk.begin > at.chunk.begin) at = {info_of(chunk), 0};
      for (; at.index < chunk.records; ++at.index) {
        if (!take(at, batch.records[static_cast<std::size_t>(first + at.index)])) return false;
      }
    }
    first += chunk.records;
  }
  return true;
}

bool has(const RecordBatch& batch, const ChunkInfo& chunk) {
  return std::ranges::binary_search(batch.chunks, chunk.begin, {}, &BatchChunk::begin);
}

}  // namespace

// Leaves the batch empty if the chunk is not small and intact.
void RecordReader::read_together(const RequestContext& context, ChunkKey at, BatchCursor& following) const {
  following.batch = {};
  const BulkReader* const bulk = file_.container->bulk();
  if (bulk == nullptr) return;
  following.window = std::clamp(2 * following.window, kFirstWindow, kLargestWindow);
  auto window = file_.source->view_at(context, at.position, following.window);
  if (!window) return;
  const ChunkRun planned = bulk->plan(at, window->bytes);
  if (planned.chunks <= 1) return;
  following.batch = bulk->read(context, planned, std::move(*window));
  file_.services.decoded_bytes.fetch_add(following.batch.run.bytes, std::memory_order_relaxed);
}

void RecordReader::for_each_following(const RequestContext& context, const RecordRef& record, BatchCursor& following,
                                      const std::function<bool(const RecordRef&, Bytes)>& take) const {
  RecordRef at{record.chunk, record.index + 1};
  for (;;) {
    if (has(following.batch, at.chunk)) {
      if (!take_from(following.batch, at, take)) return;
      read_together(context, ChunkKey(following.batch.run.next), following);
      if (!following.batch.chunks.empty()) {
        at = {info_of(following.batch.chunks.front()), 0};
        continue;
      }
    } else {
      if (chunks_.is_large(at.chunk)) return;
      const auto decoded = chunks_.get_quietly(context, at.chunk);
      if (!decoded) return;
      if (!is_read_together(at.chunk)) chunks_.was_read(at.chunk);
      const Layout& layout = (*decoded)->layout();
      for (; at.index < layout.records(); ++at.index) {
        if (layout.failure(at.index) != nullptr) continue;
        const auto slice = read(context, **decoded, at.index, 0, kEverything);
        if (!slice || !take(at, slice->bytes)) return;
      }
    }
    const auto next = index_.next_with_records(context, at.chunk);
    if (!next) return;
    at = {*next, 0};
    following.batch = {};
    const bool may_be_together = next->end - next->begin <= kLargestWindow / 2;
    if (may_be_together) read_together(context, next->key, following);
  }
}

// The format does not know the record's position.
Error RecordReader::failed(const RequestContext& context, const RecordRef& record, Code code,
                           std::string_view why) const {
  Error failure{code, record.chunk.begin, fmt::format("record {} of the chunk: {}", record.index, why)};
  log_.report(context, failure, record.index + 1);
  return failure;
}

Result<RecordParts> RecordReader::parts(const RequestContext& context, const RecordRef& record) const {
  const RecordSchema& schema = file_.container->schema();
  ASSIGN_OR_RETURN(const auto size, this->size(context, record));
  if (size > schema.largest_record_with_parts) {
    return failed(context, record, Code::kLimit, fmt::format("{} bytes, too large to split into parts", size));
  }
  ASSIGN_OR_RETURN(auto bytes, read(context, record, 0, kEverything));
  auto value = schema.value(bytes.bytes, ValueForm::kParts);
  if (value) return RecordParts{std::move(bytes), std::move(*value)};
  const bool has_none = value.error().code == Code::kDamage && schema.parts == RecordSchema::Parts::kOptional;
  if (has_none) return RecordParts{std::move(bytes), {}};
  return failed(context, record, value.error().code, value.error().detail);
}

Result<std::uint64_t> StreamReader::size(Stream stream) const {
  if (stream == Stream::kArray) return file_.container->traits().array->size;
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
  const DenseArray& array = *file_.container->traits().array;
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
    return log_.reported(context, Result<Slice>(Error{Code::kDamage, file_.source->size(),
                                                      "the records have fewer bytes than the stream declares"}));
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
