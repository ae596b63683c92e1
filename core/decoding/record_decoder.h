// RecordDecoder: what the records of a container say, as JSON beside their bytes.
//
// A record's type, and the descriptors of it, are those that were given, or those that the container has. Where a type
// can't be decoded its fields are told by their numbers, with the reason; where none is known they are, if the record
// is a message and no text.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/given_types.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/message_types.h"
#include "core/formats/container.h"
#include "core/formats/value.h"

namespace recordfs {

// Any thread.
class RecordDecoder {
 public:
  static constexpr std::uint64_t kMostText = 128u << 20;  // bytes of what one record becomes

  // The container has to outlive it.
  explicit RecordDecoder(const Container& container, GivenTypes given = {}, std::uint64_t most_text = kMostText);

  // Whether records of this container may be decoded at all.
  bool decodes() const;

  // Whether there may be messages in them whose types are known.
  bool decodes_messages() const;

  // Appends to an object of a line, which is open and has members, what is decoded of a record, each member with a
  // comma before it; nothing where nothing is decoded. What can't be told, because it would take more than `most_text`
  // bytes or is no record of this format, is a member "error". Fails as Container::record_type and descriptors do for
  // what may pass, and with kOutOfMemory; then nothing was appended.
  Result<void> append_members(std::string& line, const ChunkInfo& chunk, Bytes record) const;

  // The decoded record by itself, indented, with a newline at its end: what is "decoded", or an object with what stands
  // there in its place. Fails with kNotFound where nothing is decoded, with kLimit, and as Container::record_type and
  // descriptors do for what may pass.
  Result<std::string> document(const ChunkInfo& chunk, Bytes record) const;

  // The same for a message inside a record of the chunk.
  Result<std::string> document_of_message(const ChunkInfo& chunk, const Message& message) const;

 private:
  using Types = std::shared_ptr<const MessageTypes>;
  struct TypesOfChunk {
    Position chunk;
    Result<Types> types;  // null: there are no descriptors
  };

  // A record as what it is told as; nullopt: nothing is decoded. Fails as Container::value and record_type do.
  Result<std::optional<Value>> value_of(Bytes record) const;
  // Whether the container states a type of its records; true if it cannot be read now.
  bool may_have_type() const;
  // The types in effect at a chunk.
  Result<Types> types_at(const ChunkInfo& chunk) const;
  Result<Types> find_types(const ChunkInfo& chunk) const;
  // Writes a message as an object, or takes back what it wrote of it; then it says why.
  Result<std::string> write_decoded(JsonWriter& writer, const ChunkInfo& chunk, const Message& message) const;
  Result<void> write_message(JsonWriter& writer, const ChunkInfo& chunk, const Message& message) const;
  Result<void> write(JsonWriter& writer, const ChunkInfo& chunk, const Value& value, bool is_member) const;
  Result<std::string> document_of(const ChunkInfo& chunk, const Value& value) const;

  const Container& container_;
  const GivenTypes given_;
  const std::uint64_t most_text_;
  mutable std::mutex mutex_;
  mutable std::vector<TypesOfChunk> recent_;  // guarded by mutex_; of the chunks that were asked for last
};

}  // namespace recordfs
