// Rows as JSON: the columns of one record as one object.
//
// The columns of a record are the members of its decoded object, in the order in which `cat --json` writes them: the
// fields of a protobuf message, the members that the format gives a record, or those of a record that is JSON. Of a
// tensorflow.Example they are the features, by their own names, which are lists if the schema says so. A record that
// has no decoded object has the columns "ordinal" and "data". Columns without a value are omitted.
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
#include "core/columns/column_selection.h"
#include "core/columns/row_schema.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/record_decoder.h"
#include "core/export/mixed_bytes.h"
#include "core/store/record_store.h"

namespace recordfs {

// Appends JSON that has no white space and is of JsonLayout::kTyped as JSON of RFC 8259: bytes in `form`, and NaN and
// the infinities as strings. Notes bytes in `mixed`, which may be null. REQUIRES: a JsonWriter wrote it. Thread-safe.
void append_untyped(std::string& json, std::string_view typed, ByteForm form, MixedBytes* mixed = nullptr);

// The form of rows.
struct RowForm {
  ByteForm bytes = ByteForm::kAuto;
  std::shared_ptr<MixedBytes> mixed{};        // as EncoderOptions
  std::shared_ptr<const RowSchema> schema{};  // null: no columns are known before the records are read
  ColumnSelection selection{};
};

// Makes rows of the records of one container. Thread-safe.
class RowReader {
 public:
  // `types` are the user's.
  RowReader(std::shared_ptr<const RecordStore> store, const UserTypes& types, const Limits& limits, RowForm form);

  const RecordDecoder& decoder() const { return decoder_; }
  const RecordSchema& schema() const { return store_->schema(); }

  // Appends the object with the selected columns of a record. Fails with kDamage if the record has no columns, is not
  // of its type, is an Example unlike those that the schema describes, or has several values of a feature that is no
  // list, with kLimit, and as RecordDecoder::row(). On failure appends nothing.
  Result<void> append(const RequestContext& context, const ChunkInfo& chunk, Bytes record, std::string& json) const;

  // Fails with kUnsupported if a record has columns, although the rows are to be "ordinal" and "data", unless these two
  // are selected, and with errors that may pass.
  Result<void> check_no_columns(const RequestContext& context, const ChunkInfo& chunk, Bytes record) const;
  // Appends the object {"ordinal":42,"data":"..."}. Fails as check_no_columns().
  Result<void> append_data(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t ordinal, Bytes record,
                           std::string& json) const;

 private:
  Result<std::string> row_of_example(Bytes record) const;
  bool is_unexpected_example(const RequestContext& context, Bytes record) const;
  void append_selected(std::string_view row, std::string& json) const;

  const std::shared_ptr<const RecordStore> store_;
  const Limits limits_;
  const RowForm form_;
  const RecordDecoder decoder_;
};

}  // namespace recordfs
