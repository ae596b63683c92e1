// Protobuf's wire format: the fields of a message, read without a schema. A group is one field, with its content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/result.h"

namespace recordfs::protobuf {

enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  // of kVarint
  std::uint64_t size = 0;   // bytes of content that follow the tag or length

  bool is(std::uint32_t wanted, WireType wanted_type) const { return number == wanted && type == wanted_type; }
};

// Reads a field up to its content. An invalid tag or length fails the cursor.
Field read_field(Cursor& cursor);

// The most bytes that read_field() reads: a tag and a varint.
inline constexpr std::size_t kLongestField = 5 + 10;

// Distinguishes the fields of a message from those inside its groups. Not thread-safe.
class Groups {
 public:
  // `depth_limit`: the most groups inside each other.
  explicit Groups(std::uint32_t depth_limit) : depth_limit_(depth_limit) {}

  // Takes the next field. Returns whether it belongs to the message itself; a group does at its start. Fails with
  // kDamage if the end of a group matches no start, and with kLimit.
  Result<bool> note(const Field& field);
  // Returns whether all groups have ended.
  bool closed() const { return open_.empty(); }

 private:
  const std::uint32_t depth_limit_;
  std::vector<std::uint32_t> open_;
};

// Iterates over the fields of a message. `message` must outlive the reader. Not thread-safe.
//
//   MessageReader reader(message, depth);
//   while (reader.next()) ...
//   if (auto whole = reader.finish(); !whole) ...
class MessageReader {
 public:
  MessageReader(Bytes message, std::uint32_t depth_limit) : cursor_(message), groups_(depth_limit) {}

  // Advances to the next field of the message itself. Returns false at the end or on an error; finish() tells which.
  bool next();
  const Field& field() const { return field_; }
  // The content of field(), of a group without the tag at its end, and its offset in the message (not of a group).
  Bytes content() const { return content_; }
  std::size_t content_begin() const { return cursor_.offset() - content_.size(); }
  // Fails with kDamage if the message is invalid, and with kLimit if it is nested too deeply.
  Result<void> finish() const;

 private:
  Cursor cursor_;
  Groups groups_;
  Field field_;
  Bytes content_;
  Result<void> outcome_;
};

// Append to `out`: a varint, and a length-delimited field.
void append_varint(std::string& out, std::uint64_t value);
void append_field(std::string& out, std::uint32_t number, std::string_view content);

}  // namespace recordfs::protobuf
