#include "core/database/blob.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/leveldb_table/tail.h"
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

// Titan, which stores the places of values in a form of its own, has its blob files in a directory of the database.
bool has_titan_files(const State& state) { return is_directory(state.open_files().location("titandb")); }

// Reads a value that its table has between the data blocks. It has the trailer of a block.
Result<Slice> read_embedded(const RequestContext& context, const State& state, const BlobPlace& place,
                            const std::string& table) {
  ASSIGN_OR_RETURN(const auto source, state.open_files().open(table));
  const auto read = [&]() -> Result<Buffer> {
    if (place.compression != 0) return Error{.code = Code::kUnsupported, .detail = "an embedded value is compressed"};
    ASSIGN_OR_RETURN(const auto footer, leveldb_table::read_footer(context, *source));
    const leveldb_table::BlockPlace block{place.begin, place.size};
    if (!footer || !footer->flaw.empty()) return Error{.detail = "an embedded value in a table without its footer"};
    if (!fits(block, footer->begin)) return Error{.detail = "the place of an embedded value is invalid"};
    return read_block(context, *source, block, footer->dialect, state.options().limits);
  };
  auto value = read();
  if (value) return owned(std::move(*value));
  Error error = at(place.begin, std::move(value).error());
  error.detail = fmt::format("{}: {}", table, error.detail);
  if (is_permanent(error.code)) state.report({.file = table, .error = error});
  return error;
}

constexpr std::uint64_t kTimeOfKey = 8;

bool has_timestamps(const State& state) {
  return std::ranges::any_of(state.families(), [](const auto& family) { return family.second.order.has_timestamps(); });
}

// Reads the record whose value is at `place`, and verifies it. Its key is `key`, followed by a timestamp of `time`
// bytes. Fails with kDamage and as Source.
Result<Buffer> read_record_of(const RequestContext& context, const Source& source, const BlobPlace& place, Bytes key,
                              std::uint64_t time) {
  const std::uint64_t before = kRecordHeaderSize + key.size() + time;
  if (place.begin < kFileHeaderSize || place.begin - kFileHeaderSize < before) {
    return Error{.code = Code::kDamage, .detail = "the place of a value is invalid"};
  }
  ASSIGN_OR_RETURN(auto whole, read_exactly(context, source, place.begin - before, before + place.size));
  const auto record = rocksdb_blob::check_record(whole.view());
  if (!record) return record.error();
  if (record->key.size() != key.size() + time || !std::ranges::equal(record->key.first(key.size()), key)) {
    return Error{.code = Code::kDamage, .detail = "the value belongs to another key"};
  }
  return whole;
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

std::string blob_place(std::uint64_t file, std::uint64_t begin, std::uint64_t size, std::uint8_t compression) {
  std::string place(1, static_cast<char>(kBlob));
  for (const std::uint64_t number : {file, begin, size}) protobuf::append_varint(place, number);
  place += static_cast<char>(compression);
  return place;
}

std::optional<std::uint64_t> size_in_blob_file(Bytes stored) {
  const auto place = parse_blob_place(stored);
  if (!place) return std::nullopt;
  if (place->value) return place->value->size();
  return place->compression == 0 ? std::optional(place->size) : std::nullopt;
}

Result<Slice> read_blob(const RequestContext& context, const State& state, Bytes stored, Bytes key,
                        const std::string& file) {
  const Limits& limits = state.options().limits;
  const auto place = parse_blob_place(stored);
  if (!place && has_titan_files(state)) {
    return Error{.code = Code::kUnsupported, .detail = "a value in a blob file of Titan, which recordfs does not read"};
  }
  if (!place) return Error{.code = Code::kDamage, .detail = "the place of a value in a blob file is invalid"};
  if (place->value) {
    ASSIGN_OR_RETURN(auto value, Buffer::copy_of(context, *place->value));
    return owned(std::move(value));
  }
  if (place->file == 0) return read_embedded(context, state, *place, file);
  const auto name = state.blob_name(place->file);
  if (!name) {
    return Error{.code = Code::kDamage, .detail = fmt::format("the blob file {:06}.blob does not exist", place->file)};
  }
  const Position begin = place->begin;
  const auto fail = [&](Error error) {
    error.detail = fmt::format("{}: {}", *name, error.detail);
    if (is_permanent(error.code)) state.report({.file = *name, .error = at(begin, error)});
    return at(begin, std::move(error));
  };
  if (place->size > limits.stored_chunk) {
    return fail({.code = Code::kLimit,
                 .detail = fmt::format("a value of {} bytes exceeds the limit of {} bytes (see --max-chunk)",
                                       place->size, limits.stored_chunk)});
  }
  ASSIGN_OR_RETURN(const auto source, state.open_files().open(*name));
  auto whole = read_record_of(context, *source, *place, key, 0);
  if (!whole && is_permanent(whole.error().code) && has_timestamps(state)) {
    if (auto timed = read_record_of(context, *source, *place, key, kTimeOfKey)) whole = std::move(timed);
  }
  if (!whole) return fail(std::move(whole).error());
  const auto record = rocksdb_blob::check_record(whole->view());
  if (place->compression == 0) return Slice{record->value, owned(std::move(*whole)).owner};
  auto value = rocksdb_blob::decompress_value(context, place->compression, record->value, limits.decoded_chunk);
  if (!value) return fail(std::move(value).error());
  return owned(std::move(*value));
}

}  // namespace recordfs::database
