// RecordDecoder: converts the records of a container to JSON.
//
// Types and descriptors come from the user, or else from the container. If a type cannot be decoded, the output has the
// fields by number and the reason. If the type is unknown, the fields appear only if the record is a valid message and
// not plain text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/decoding/chunk_metadata.h"
#include "core/decoding/descriptor_set.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/message_schema.h"
#include "core/decoding/message_types.h"
#include "core/formats/container.h"
#include "core/formats/value.h"

namespace recordfs {

// Returns whether `bytes` are a valid message that nests at most `depth` groups.
bool is_message(Bytes bytes, std::uint32_t depth);

// Writes the list of the fields of a message of unknown type, up to the first invalid byte: field numbers, wire types
// and content. Thread-safe.
//
//   {"field":1,"wire":"varint","value":"150"}       varint and fixed64 as strings: JSON numbers may lose digits
//   {"field":2,"wire":"bytes","text":"abc"}         or "base64"; never interpreted as a message
//   {"field":5,"wire":"fixed32","value":123}
//   {"field":7,"wire":"group","fields":[...]}
void write_fields(JsonWriter& writer, Bytes message, std::uint32_t depth);

// Returns the type that the user's types give every record of a container with this schema; empty: none. The only type
// of some descriptors is that of the records, unless these name the types of messages in them. `metadata` may be null.
std::string_view type_of_records(const UserTypes& types, const RecordSchema& schema, const Metadata* metadata);
// Fails with kNotFound if the user's types do not say which type the records have, but must.
Result<void> check_types(const UserTypes& types, const RecordSchema& schema, const Metadata* metadata);

// Thread-safe.
class RecordDecoder {
 public:
  static constexpr std::uint64_t kMostText = 128u << 20;  // bytes of output for one record

  // `schema` and `metadata`, which may be null, must outlive the decoder.
  RecordDecoder(const RecordSchema& schema, const Metadata* metadata, UserTypes user_types = {},
                std::uint64_t most_text = kMostText);

  // Returns the full name of the type of all records, the user's or the container's; empty: they have no common type,
  // or it is unknown. Fails as Metadata::record_type().
  Result<std::string_view> type(const RequestContext& context) const {
    return user_type_.empty() ? record_type(context) : user_type_;
  }

  // Returns the fields of the type of all records, as message_schema() does; none without a type or descriptors. Fails
  // as that, as type(), and as Metadata::descriptors().
  Result<std::vector<MessageField>> fields(const RequestContext& context, const ChunkInfo& chunk) const;

  // Returns whether records of this container can be decoded at all.
  bool decodes(const RequestContext& context) const;

  // Returns whether the records may contain messages of known types.
  bool decodes_messages(const RequestContext& context) const;

  // Appends the decoded record to an open, non-empty object in `line`, each member preceded by a comma. Appends nothing
  // if the record has no decoded form.
  //
  // The members are "type", if it is known, and "decoded". `form` does not apply to bytes in messages, which protobuf's
  // mapping writes in base64. If metadata changes along the file, a decoded object of the format also has what is in
  // effect at the chunk, as add_metadata() describes.
  //
  // A record of the wrong format, or with more than `most_text` bytes of output, gets a member "error". Fails with the
  // transient errors of Metadata's functions, and with kOutOfMemory; nothing is appended then. `filter` may be null.
  Result<void> append_members(const RequestContext& context, std::string& line, const ChunkInfo& chunk, Bytes record,
                              ByteForm form = ByteForm::kAuto, JsonFilter* filter = nullptr) const;

  // Returns the decoded record as a document with a final newline: the value of "decoded", or an object with
  // the members that replace it. Fails with kNotFound if the record has no decoded form, with kLimit, and with the
  // transient errors of Metadata's functions. `filter` may be null.
  Result<std::string> document(const RequestContext& context, const ChunkInfo& chunk, Bytes record,
                               JsonLayout layout = JsonLayout::kIndented, JsonFilter* filter = nullptr) const;

  // Passes the values of the filter's fields to its sink, with the default of a protobuf field that is absent without
  // presence. Fails as document(), and with kNotFound or kUnsupported if a message cannot be decoded that a path leads
  // into; the sink may have taken some values then. REQUIRES: the filter is one of kScalars.
  Result<void> visit(const RequestContext& context, const ChunkInfo& chunk, Bytes record, JsonFilter& filter) const;

  // Returns the decoded record as document() does, in kTyped and without a final newline, but never what replaces it.
  // Fails with kNotFound also if the type of a message, or its descriptors, are unknown, and with kDamage if the
  // message is not of its type.
  Result<std::string> row(const RequestContext& context, const ChunkInfo& chunk, Bytes record) const;

  // As document(), for a message inside a record of the chunk.
  Result<std::string> document_of_message(const RequestContext& context, const ChunkInfo& chunk,
                                          const Message& message) const;

 private:
  static constexpr std::size_t kRecentChunks = 16;
  using Types = std::shared_ptr<const MessageTypes>;

  // Decodes a record to a Value. Returns nullopt if it has no decoded form. Fails as RecordSchema::value and
  // Metadata::record_type().
  Result<std::optional<Value>> value_of(const RequestContext& context, Bytes record) const;
  // Adds the metadata in effect at the chunk to an object, and returns the owner of what was added. Fails as
  // ChunkMetadataReader::at().
  Result<std::shared_ptr<const ChunkMetadata>> add_metadata_at(const RequestContext& context, const ChunkInfo& chunk,
                                                               Value& value) const;
  // Returns whether the container states a type of its records; true if that cannot be read now.
  bool may_have_type(const RequestContext& context) const;
  // As Metadata::record_type(); empty without metadata.
  Result<std::string_view> record_type(const RequestContext& context) const;
  bool has_descriptors() const { return metadata_ != nullptr && metadata_->has_descriptors(); }
  // Returns the types in effect at a chunk.
  Result<Types> types_at(const RequestContext& context, const ChunkInfo& chunk) const;
  Result<Types> find_types(const RequestContext& context, const ChunkInfo& chunk) const;
  // Returns the types of the user's descriptors. REQUIRES: there are some.
  Result<Types> types_of_user() const;
  // Writes a message as an object. On failure the caller must take back the output; returns the reason. The user's
  // descriptors precede those of the container.
  Result<std::string> write_decoded(const RequestContext& context, JsonWriter& writer, const ChunkInfo& chunk,
                                    const Message& message) const;
  Result<void> write_message(const RequestContext& context, JsonWriter& writer, const ChunkInfo& chunk,
                             const Message& message) const;
  Result<void> write(const RequestContext& context, JsonWriter& writer, const ChunkInfo& chunk, const Value& value,
                     bool is_member) const;
  // Returns the error of a message that cannot be decoded to values.
  static Error undecoded(const Message& message, const std::string& why);
  Result<std::string> document_of(const RequestContext& context, const ChunkInfo& chunk, const Value& value,
                                  JsonLayout layout, JsonFilter* filter) const;

  const RecordSchema& schema_;
  const Metadata* const metadata_;
  const ChunkMetadataReader chunk_metadata_;
  const UserTypes user_types_;
  const std::string_view user_type_;  // of every record; points into user_types_
  const std::uint64_t most_text_;
  // By chunk, or kOfUser; null: there are no descriptors.
  static constexpr Position kOfUser = UINT64_MAX;
  mutable BoundedLru<Position, Result<Types>> recent_{kRecentChunks};
};

}  // namespace recordfs
