// Rows as JSON: the columns of one record as one object.
//
// The columns of a record are the members of its decoded object, in the order in which `cat --json` writes them: the
// fields of a protobuf message, the members that the format gives a record, or those of a record that is JSON. Of a
// tensorflow.Example they are the features, by their own names, each a list of its values. A record that has no decoded
// object has the columns "ordinal" and "data".
//
// Numbers are JSON numbers, also 64-bit ones; NaN and the infinities are strings. Bytes are text if they are UTF-8, and
// otherwise base64, unless a ByteForm chooses one form for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"

namespace recordfs {

// Appends JSON that has no white space and is of JsonLayout::kTyped as JSON of RFC 8259: bytes in `form`, and NaN and
// the infinities as strings. REQUIRES: a JsonWriter wrote it. Thread-safe.
void append_untyped(std::string& json, std::string_view typed, ByteForm form);

// Makes rows of the records of one container. Thread-safe.
class RowReader {
 public:
  // `types` are the user's.
  RowReader(std::shared_ptr<const RecordStore> store, const UserTypes& types, const Limits& limits, ByteForm form);

  const RecordDecoder& decoder() const { return decoder_; }
  const RecordSchema& schema() const { return store_->schema(); }

  // Returns whether the record has columns. Fails as append() if that cannot be known.
  Result<bool> has_columns(const RequestContext& context, const ChunkInfo& chunk, Bytes record) const;

  // Appends the object with the columns of a record. Fails with kDamage if the record has no columns or is not of its
  // type, with kLimit, and as RecordDecoder::row(). On failure appends nothing.
  Result<void> append(const RequestContext& context, const ChunkInfo& chunk, Bytes record, std::string& json) const;

  // Appends the object {"ordinal":42,"data":"..."}.
  void append_data(std::uint64_t ordinal, Bytes record, std::string& json) const;

 private:
  // Appends the features of an Example. Returns false if the record is no Example.
  Result<bool> append_example(const RequestContext& context, Bytes record, std::string& json) const;
  // Returns the full name of the type of all records; empty if they have none.
  Result<std::string_view> type_of_all(const RequestContext& context) const;

  const std::shared_ptr<const RecordStore> store_;
  const UserTypes types_;
  const Limits limits_;
  const ByteForm form_;
  const RecordDecoder decoder_;
};

}  // namespace recordfs
