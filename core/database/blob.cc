#include "core/database/blob.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::database {
namespace {

// A blob file: a header, then records of a header, the key and the value. The place of a value is that of its bytes.
constexpr std::uint64_t kFileHeaderSize = 30;
constexpr std::uint64_t kRecordHeaderSize = 32;
constexpr std::uint64_t kCheckedHeaderSize = 24;

enum PlaceType : std::uint8_t { kValueWithTime = 0, kBlob = 1, kBlobWithTime = 2 };

Error at(Position position, Error error) {
  error.position = position;
  return error;
}

// Verifies a record: header, key and value.
Result<void> check_record(Bytes record, Bytes key, std::uint64_t value_size) {
  Cursor cursor(record);
  const Bytes checked = cursor.take(kCheckedHeaderSize);
  const std::uint32_t header_sum = cursor.u32_le();
  const std::uint32_t sum = cursor.u32_le();
  if (header_sum != mask_crc(crc32c(checked))) return Error{.detail = "the header's checksum does not match"};
  Cursor sizes(checked);
  if (sizes.u64_le() != key.size() || sizes.u64_le() != value_size) return Error{.detail = "the sizes do not match"};
  if (sum != mask_crc(crc32c(cursor.rest()))) return Error{.detail = "the value's checksum does not match"};
  if (!std::ranges::equal(cursor.take(key.size()), key)) return Error{.detail = "the value belongs to another key"};
  return {};
}

Result<Slice> unpacked(const RequestContext& context, Slice stored, std::uint8_t compression, const Limits& limits) {
  if (compression == 0) return stored;
  // The form of blocks since format version 2: the size precedes the stream.
  const leveldb_table::Dialect dialect{.is_rocksdb = true, .version = 2};
  ASSIGN_OR_RETURN(auto value,
                   leveldb_table::unpack(context, compression, stored.bytes, dialect, limits.decoded_chunk));
  return owned(std::move(value));
}

}  // namespace

std::optional<BlobPlace> parse_blob_place(Bytes stored) {
  Cursor cursor(stored);
  BlobPlace place;
  const std::uint8_t type = cursor.u8();
  if (type == kValueWithTime || type == kBlobWithTime) cursor.varint64();  // the time of its expiration
  if (type > kBlobWithTime || !cursor.ok()) return std::nullopt;
  if (type == kValueWithTime) {
    place.value = cursor.rest();
    return place;
  }
  place.file = cursor.varint64();
  place.begin = cursor.varint64();
  place.size = cursor.varint64();
  place.compression = cursor.u8();
  return cursor.ok() && cursor.at_end() ? std::optional(place) : std::nullopt;
}

std::optional<std::uint64_t> size_in_blob_file(Bytes stored) {
  const auto place = parse_blob_place(stored);
  if (!place) return std::nullopt;
  if (place->value) return place->value->size();
  return place->compression == 0 ? std::optional(place->size) : std::nullopt;
}

Result<Slice> read_blob(const RequestContext& context, const State& state, Bytes stored, Bytes key) {
  const Limits& limits = state.options().limits;
  const auto place = parse_blob_place(stored);
  if (!place) return Error{.code = Code::kDamage, .detail = "the place of a value in a blob file is invalid"};
  if (place->value) {
    ASSIGN_OR_RETURN(auto value, Buffer::copy_of(context, *place->value));
    return owned(std::move(value));
  }
  const auto name = state.blob_name(place->file);
  if (!name) {
    return Error{.code = Code::kNotFound,
                 .detail = fmt::format("the blob file {:06}.blob does not exist", place->file)};
  }
  const Position begin = place->begin;
  const auto fail = [&](Error error) {
    error.detail = fmt::format("{}: {}", *name, error.detail);
    if (is_permanent(error.code)) state.report({.file = *name, .error = at(begin, error)});
    return at(begin, std::move(error));
  };
  if (begin < kFileHeaderSize + kRecordHeaderSize || begin - kFileHeaderSize - kRecordHeaderSize < key.size()) {
    return fail({.code = Code::kDamage, .detail = "the place of a value is invalid"});
  }
  if (place->size > limits.stored_chunk) return fail({.code = Code::kLimit, .detail = "a value exceeds the limit"});
  const std::uint64_t before = kRecordHeaderSize + key.size();
  ASSIGN_OR_RETURN(const auto source, state.open_files().open(*name));
  auto record = read_exactly(context, *source, begin - before, before + place->size);
  if (!record) return fail(std::move(record).error());
  if (auto checked = check_record(record->view(), key, place->size); !checked) return fail(checked.error());
  Slice value = owned(std::move(*record));
  value.bytes = value.bytes.subspan(static_cast<std::size_t>(before));
  auto content = unpacked(context, std::move(value), place->compression, limits);
  if (!content) return fail(std::move(content).error());
  return content;
}

}  // namespace recordfs::database
