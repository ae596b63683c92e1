// Protobuf's wire format, as far as a reader without a schema needs it: the fields of a message, one after the
// other. Groups and what is in them belong to no message here: they are passed by.
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
  std::uint64_t value = 0;  // of a varint
  std::uint64_t size = 0;   // bytes of content that follow; none behind a varint or a group's tag

  bool is(std::uint32_t wanted, WireType wanted_type) const { return number == wanted && type == wanted_type; }
};

// Reads a field up to its content. A tag or a length that is none fails the cursor.
Field read_field(Cursor& cursor);

// The longest that read_field() reads: a tag and a varint.
inline constexpr std::size_t kLongestField = 5 + 10;

// Tells the fields of a message from those of its groups. Not thread-safe.
class Groups {
 public:
  // No more than `depth_limit` groups inside each other.
  explicit Groups(std::uint32_t depth_limit) : depth_limit_(depth_limit) {}

  // Takes note of the next field; whether it is one of the message itself, for which a group counts as a whole at
  // its start. Fails with kDamage at the end of a group that has not begun, and with kLimit.
  Result<bool> note(const Field& field);
  // Whether all groups that began have ended.
  bool closed() const { return open_.empty(); }

 private:
  const std::uint32_t depth_limit_;
  std::vector<std::uint32_t> open_;
};

// Goes over the fields of a message in memory, which has to outlive it. Not thread-safe.
//
//   MessageReader reader(message, depth);
//   while (reader.next()) ...
//   if (auto whole = reader.finish(); !whole) ...
class MessageReader {
 public:
  MessageReader(Bytes message, std::uint32_t depth_limit) : cursor_(message), groups_(depth_limit) {}

  // Goes on to the next field of the message itself. False at the end, and where the message is broken.
  bool next();
  const Field& field() const { return field_; }
  // Of a field that has content; where it stands in the message.
  Bytes content() const { return content_; }
  std::size_t content_begin() const { return cursor_.offset() - content_.size(); }
  // What ended the walk: kDamage when the message is broken, kLimit when it nests too deep.
  Result<void> finish() const;

 private:
  Cursor cursor_;
  Groups groups_;
  Field field_;
  Bytes content_;
  Result<void> outcome_;
};

// Appends a varint, or a length-delimited field, to what is being written.
void append_varint(std::string& out, std::uint64_t value);
void append_field(std::string& out, std::uint32_t number, std::string_view content);

}  // namespace recordfs::protobuf
