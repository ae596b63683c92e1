#include "core/formats/leveldb_table/stored.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/codec/lz4_block.h"

namespace recordfs::leveldb_table {
namespace {

Error at(Position begin, Error error) {
  error.position = begin;
  return error;
}

Result<Buffer> decompress_with(const RequestContext& context, const Packing& packing, Bytes stream,
                               std::uint64_t limit) {
  constexpr std::uint64_t kUsualBlock = 4096;
  if (packing.size == StatedSize::kNone) return decompress(context, packing.codec, stream, kUsualBlock, limit);
  Cursor cursor(stream);
  const std::uint64_t size = packing.size == StatedSize::kVarint ? cursor.varint32() : cursor.u32_le();
  if (packing.size == StatedSize::kEightBytes) cursor.skip(4);
  if (!cursor.ok()) return Error{Code::kDamage, 0, "the size of the decompressed block is invalid"};
  if (size > limit) return Error{Code::kLimit, 0, fmt::format("{} decompressed bytes exceed the limit", size)};
  if (packing.codec == CodecId::kLz4Frame) return decompress_lz4_block(context, cursor.rest(), size);
  return decompress_exactly(context, packing.codec, cursor.rest(), size);
}

}  // namespace

Result<Buffer> unpack_block(const RequestContext& context, Bytes stored, Position begin, const Dialect& dialect,
                            const Limits& limits) {
  const Bytes stream = stored.first(stored.size() - kTrailerSize);
  const auto number = std::to_integer<std::uint8_t>(stored[stream.size()]);
  const auto packing = packing_of(dialect, number, stream.first(std::min(stream.size(), kFirstBytes)));
  if (dialect.has_dictionary && number != 0) {
    return Error{Code::kUnsupported, begin, "the block is compressed with a dictionary"};
  }
  if (!packing) return Error{Code::kUnsupported, begin, fmt::format("unknown compression {}", number)};
  auto content = decompress_with(context, *packing, stream, limits.decoded_chunk);
  if (!content) return at(begin, std::move(content).error());
  return content;
}

Result<Buffer> read_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                          const Dialect& dialect, const Limits& limits) {
  if (place.size > limits.stored_chunk) {
    return Error{Code::kLimit, place.begin, fmt::format("a block of {} bytes exceeds the limit", place.size)};
  }
  ASSIGN_OR_RETURN(auto stored, read_exactly(context, source, place.begin, place.size + kTrailerSize));
  if (!checksum_matches(dialect, stored.view(), place.begin)) {
    return Error{Code::kDamage, place.begin, "the block's checksum does not match"};
  }
  if (stored.view()[static_cast<std::size_t>(place.size)] != std::byte{0}) {
    return unpack_block(context, stored.view(), place.begin, dialect, limits);
  }
  if (place.size > limits.decoded_chunk) {
    return Error{Code::kLimit, place.begin, fmt::format("a block of {} bytes exceeds the limit", place.size)};
  }
  stored.truncate(static_cast<std::size_t>(place.size));
  return stored;
}

Result<std::string_view> codec_of(const RequestContext& context, const Source& source, const BlockPlace& place,
                                  const Dialect& dialect) {
  ASSIGN_OR_RETURN(const auto number, read_exactly(context, source, place.begin + place.size, 1));
  if (number.view()[0] == std::byte{0}) return to_string(CodecId::kNone);
  ASSIGN_OR_RETURN(const auto first,
                   read_up_to(context, source, place.begin, std::min<std::uint64_t>(place.size, kFirstBytes)));
  const auto packing = packing_of(dialect, std::to_integer<std::uint8_t>(number.view()[0]), first.view());
  return packing ? to_string(packing->codec) : std::string_view("-");
}

}  // namespace recordfs::leveldb_table
