// Encodes records of a decoded chunk as rows of another format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/export/encoder.h"
#include "core/formats/chunk.h"
#include "fusefs/commands/record_text.h"

namespace recordfs {

// What a run of records became.
struct EncodedRun {
  EncodedRows rows{};
  std::vector<RecordsFailure> failures{};      // not logged yet
  bool is_over = false;                        // a failure ends the export
  OrdinalInterval rest{.begin = 0, .end = 0};  // indices of records that are left, because the rows were full
};

// For one container. Immutable and thread-safe.
class RecordRows {
 public:
  // `member` and `encoder` must outlive the object.
  RecordRows(const SetMember& member, const RowReader& reader, const RowEncoder& encoder, bool skips_damage)
      : member_(member), reader_(reader), encoder_(encoder), skips_damage_(skips_damage) {}

  // Returns the rows of records, whose `first_ordinal` must be known. Keeps no failure beyond the first, unless damage
  // is skipped.
  EncodedRun encode(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk) const;

 private:
  void encode_all(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk,
                  EncodedRun& run) const;
  void encode_read(const RequestContext& context, const ChunkRecords& records, const Chunk& chunk,
                   const OrdinalInterval& readable, EncodedRun& run) const;
  void fail(EncodedRun& run, const Error& why, std::uint64_t records = 1) const;

  const SetMember& member_;
  const RowReader& reader_;
  const RowEncoder& encoder_;
  const bool skips_damage_;
};

}  // namespace recordfs
