#include "core/store/record_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

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

Result<RecordRef> RecordReader::record_at(const RequestContext& context, std::uint64_t address) const {
  ASSIGN_OR_RETURN(const auto chunk, index_.chunk_covering(context, address >> index_bits_));
  return RecordRef{chunk, address - (chunk.begin << index_bits_)};
}

Result<std::uint64_t> RecordReader::size(const RequestContext& context, const RecordRef& record) const {
  // A reader that asks for the size of a record usually reads it next. Decoding now avoids reading the chunk twice.
  Result<std::shared_ptr<const Layout>> known = std::shared_ptr<const Layout>();
  if (chunks_.is_large(record.chunk)) {
    known = chunks_.layout(context, record.chunk);
  } else if (auto decoded = chunks_.get(context, record.chunk)) {
    known = std::shared_ptr<const Layout>(*decoded, &(*decoded)->layout());
  } else {
    known = std::move(decoded).error();
  }
  const bool is_readable = known.has_value();
  // The layout of an undecodable chunk may still tell the declared sizes, as listings show them.
  if (!known && is_permanent(known.error().code)) known = chunks_.layout(context, record.chunk);
  if (!known) {
    if (is_permanent(known.error().code)) return 1;
    return std::move(known).error();
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
  ASSIGN_OR_RETURN(const auto decoded, chunks_.get(context, record.chunk));
  if (record.index >= decoded->layout().records()) {
    return Error{Code::kNotFound, record.chunk.begin, "the chunk has no such record"};
  }
  return read(context, *decoded, record.index, offset, length);
}

Result<Slice> RecordReader::read_at(const RequestContext& context, std::uint64_t address, std::uint64_t offset,
                                    std::uint64_t length) const {
  const Position at = address >> index_bits_;
  const auto cached = file_.services.chunks.last_until({file_.id, at});
  if (cached && at < cached->info.end) {
    const std::uint64_t index = address - (cached->info.begin << index_bits_);
    if (index < cached->chunk->layout().records()) {
      chunks_.was_read(cached->info);
      return read(context, *cached->chunk, index, offset, length);
    }
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
  DecodeBudget::Turn turn(file_.budgets.slow);  // reading a chunk on demand may decode
  return log_.reported(context,
                       chunk.read(context.with(turn), extent.begin + offset, std::min(length, extent.size - offset)));
}

void RecordReader::for_each_following(const RequestContext& context, const RecordRef& record,
                                      const std::function<bool(const RecordRef&, Bytes)>& take) const {
  RecordRef at{record.chunk, record.index + 1};
  for (;;) {
    if (chunks_.is_large(at.chunk)) return;
    const auto decoded = chunks_.get_quietly(context, at.chunk);
    if (!decoded) return;
    chunks_.was_read(at.chunk);
    const Layout& layout = (*decoded)->layout();
    for (; at.index < layout.records(); ++at.index) {
      if (layout.failure(at.index) != nullptr) continue;
      const auto slice = read(context, **decoded, at.index, 0, kEverything);
      if (!slice || !take(at, slice->bytes)) return;
    }
    const auto next = index_.next_with_records(context, at.chunk);
    if (!next) return;
    at = {*next, 0};
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

Result<Slice> RecordReader::read_value(const RequestContext& context, const FoundKey& key, std::uint64_t offset,
                                       std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto record, record_at(context, key.record));
  if (key.state == FoundKey::State::kTwice)
    return failed(context, record, Code::kDamage, "two keys have the same hash");
  if (key.state == FoundKey::State::kUnknown) {
    return failed(context, record, Code::kUnsupported,
                  "value not stored in this file (merge operand or external blob)");
  }
  if (offset >= key.value.size) return Slice{};
  const std::uint64_t wanted = std::min(length, key.value.size - offset);
  auto slice = read(context, record, key.value.begin + offset, wanted);
  if (slice && slice->bytes.size() != wanted) {
    return failed(context, record, Code::kChanged, "the key's value is no longer in the record");
  }
  return slice;
}

}  // namespace recordfs
