// Encodes records of a decoded chunk as rows of another format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/row_schema.h"
#include "core/export/encoder.h"
#include "core/export/record_run.h"
#include "core/export/record_text.h"
#include "core/formats/chunk.h"
#include "core/store/parallel_scan.h"

namespace recordfs {

// The rows of records of a chunk.
struct EncodedRun : RecordRun {
  RowBytes rows{};
};

// The form of rows, besides the container.
struct RowOptions {
  UserTypes types{};
  Limits limits{};
  RowForm form{};
  bool skips_damage = false;
  bool needs_parts = false;      // of the records
  bool refuses_columns = false;  // the records are to have none, as RowReader::check_no_columns() finds
  std::shared_ptr<const RowEncoder> encoder{};
  std::shared_ptr<const RowSchema> schema{};  // of a table; null: the records have no columns, or there is no table
  ConditionPointer condition{};               // null: all records are selected
};

// For one container. Immutable and thread-safe.
class RecordRows {
 public:
  // Fails as RowSchema::decoder(), and with kNotFound if no record has parts, but they are needed. If damage is
  // skipped, the records fail instead whose type is lost with damaged metadata.
  static Result<std::shared_ptr<const RecordRows>> open(SetMember member, const RowOptions& options);

  const SetMember& member() const { return member_; }
  // Returns the fields that the records need to have; null: all.
  const FieldProjection* fields() const { return needs_all_ ? nullptr : &fields_; }

  // Returns the rows of records, whose `first_ordinal` must be known. Keeps no failure beyond the first, unless damage
  // is skipped.
  EncodedRun encode(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk) const;

  // Returns whether rows depend on nothing but the bytes of the records.
  bool takes_batches() const {
    const bool needs_chunks = options_.condition != nullptr || options_.refuses_columns || lost_type_;
    return !needs_chunks && options_.encoder->depends_on_bytes_alone();
  }
  // Returns the rows of records that were read together, by their indices in the batch. Copies nothing if the file
  // stores rows, or if a row is its record; the rows then share the batch. Fails as RowEncoder::append(). Throws
  // std::bad_alloc. REQUIRES: takes_batches(), and the sums of the batch are known.
  Result<RowBytes> encode(const std::shared_ptr<const ScannedBatch>& batch, const OrdinalInterval& which) const;

 private:
  bool find_fields();
  void encode_all(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk,
                  EncodedRun& run) const;
  void encode_record(const RequestContext& context, const ChunkRecords& records, std::uint64_t index, Bytes record,
                     EncodedRun& run) const;

  RecordRows(SetMember member, RowOptions options)
      : member_(std::move(member)),
        options_(std::move(options)),
        reader_(member_.store, options_.types, options_.limits, options_.form) {}

  const SetMember member_;
  const RowOptions options_;
  const RowReader reader_;
  std::shared_ptr<const RowOrigin> origin_;  // of all rows
  FieldProjection fields_;
  bool needs_all_ = true;
  std::optional<Error> lost_type_;  // why no record has a row
};

}  // namespace recordfs
