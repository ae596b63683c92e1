#include "tests/fuzz/message_mutator.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kMostFields = 4096;
constexpr int kDeepest = 12;
constexpr std::array<std::uint64_t, 12> kNumbers{0,          1,        2,          127,        128,        1u << 16,
                                                 0x7FFFFFFF, 1u << 31, UINT32_MAX, 1ull << 60, UINT64_MAX, 5};

std::uint64_t changed_number(std::uint64_t number, std::minstd_rand& random) {
  return random() % 3 == 0 ? kNumbers[random() % kNumbers.size()] : number + random() % 9 - 4;
}

std::string change_inside(Bytes message, std::minstd_rand& random, const ChangeBytes& change, int depth);

// Returns new content for a length-delimited field.
std::string changed_content(Bytes content, std::uint32_t number, std::minstd_rand& random, const ChangeBytes& change,
                            int depth) {
  std::string bytes(as_text(content));
  if (depth > 0 && random() % 4 != 0 && !fields_of(content).empty()) {
    bytes = change_inside(content, random, change, depth - 1);
  } else {
    change(bytes, 64);
  }
  std::string field;
  protobuf::append_field(field, number, bytes);
  return field;
}

std::string changed_field(Bytes message, const FieldPlace& place, std::minstd_rand& random, const ChangeBytes& change,
                          int depth) {
  const auto& field = place.field;
  const Bytes content = message.subspan(place.content, place.end - place.content);
  std::string bytes;
  switch (field.type) {
    case protobuf::WireType::kLengthDelimited: return changed_content(content, field.number, random, change, depth);
    case protobuf::WireType::kVarint: append_number(bytes, field.number, changed_number(field.value, random)); break;
    default:
      bytes = as_text(message.subspan(place.begin, place.end - place.begin));
      if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random() & 0xFF);
  }
  return bytes;
}

std::string change_inside(Bytes message, std::minstd_rand& random, const ChangeBytes& change, int depth) {
  std::string bytes(as_text(message));
  const auto fields = fields_of(message);
  if (fields.empty()) {
    change(bytes, 64);
    return bytes;
  }
  const FieldPlace& picked = fields[random() % fields.size()];
  const std::size_t size = picked.end - picked.begin;
  switch (random() % 8) {
    case 0: bytes.insert(fields[random() % fields.size()].begin, bytes.substr(picked.begin, size)); break;
    case 1: bytes.erase(picked.begin, size); break;
    default: bytes.replace(picked.begin, size, changed_field(message, picked, random, change, depth));
  }
  return bytes;
}

void fix_checksums(MutableBytes) {}  // a message has no checksums

std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  return change_message(file, random, change);
}

}  // namespace

std::vector<FieldPlace> fields_of(Bytes message) {
  std::vector<FieldPlace> fields;
  Cursor cursor(message);
  while (!cursor.at_end() && fields.size() < kMostFields) {
    FieldPlace place;
    place.begin = cursor.offset();
    place.field = protobuf::read_field(cursor);
    place.content = cursor.offset();
    if (!cursor.ok() || place.field.size > cursor.remaining()) break;
    cursor.skip(place.field.size);
    place.end = cursor.offset();
    fields.push_back(place);
  }
  return fields;
}

void append_number(std::string& message, std::uint32_t field, std::uint64_t value) {
  protobuf::append_varint(message, std::uint64_t{field} << 3);
  protobuf::append_varint(message, value);
}

std::string change_message(Bytes message, std::minstd_rand& random, const ChangeBytes& change) {
  return change_inside(message, random, change, kDeepest);
}

const Mutator kMessageMutator{fix_checksums, restructure};

}  // namespace recordfs::fuzz
