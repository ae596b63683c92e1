#include "core/database/blob.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/rocksdb_blob/wire.h"

namespace recordfs::database {
namespace {

using rocksdb_blob::kFileHeaderSize;
using rocksdb_blob::kRecordHeaderSize;

enum PlaceType : std::uint8_t { kValueWithTime = 0, kBlob = 1, kBlobWithTime = 2 };

Error at(Position position, Error error) {
  error.position = position;
  return error;
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
  auto whole = read_exactly(context, *source, begin - before, before + place->size);
  if (!whole) return fail(std::move(whole).error());
  const auto record = rocksdb_blob::check_record(whole->view());
  if (!record) return fail(record.error());
  if (!std::ranges::equal(record->key, key)) return fail({.detail = "the value belongs to another key"});
  if (place->compression == 0) return Slice{record->value, owned(std::move(*whole)).owner};
  auto value = rocksdb_blob::decompress_value(context, place->compression, record->value, limits.decoded_chunk);
  if (!value) return fail(std::move(value).error());
  return owned(std::move(*value));
}

}  // namespace recordfs::database
