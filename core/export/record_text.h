// The text of records, in any of the forms that commands write (cat, head, tail).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/selected_records.h"
#include "core/decoding/record_decoder.h"
#include "core/export/record_run.h"
#include "core/output/text_output.h"
#include "core/search/record_condition.h"
#include "core/store/json_line.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"

namespace recordfs {

enum class RecordForm : std::uint8_t {
  kBytes,      // without separators
  kLines,      // each followed by a newline
  kNull,       // each followed by a NUL
  kDelimited,  // each preceded by its length as a varint, as protobuf does
  kJson,       // append_json_line()
  kShown,      // for a terminal: one escaped line each, without a final newline of the record
};

struct FormOptions {
  RecordForm form = RecordForm::kBytes;
  bool skips_damage = false;     // skips what cannot be read
  UserTypes types{};             // of the records, for kJson
  JsonLineOptions json{};        // for kJson
  ConditionPointer condition{};  // on which records are written; null: all
};

// The result of records of a chunk: text to write first, and then failures to report.
struct Rendered : RecordRun {
  std::string text{};
};

// What the text of records depends on. Immutable and thread-safe.
struct RecordText {
  // `member` must outlive it.
  RecordText(const SetMember& member, const FormOptions& wanted);

  // Returns whether the text of a record depends on nothing but its bytes.
  bool depends_on_bytes_alone() const;
  // Returns whether a worker should render the text ahead. Otherwise it is written directly: the text of bytes alone,
  // because that is faster than to keep it, and that of a chunk that is large or has very many records.
  bool is_made_ahead(const Chunk& chunk) const;
  // Returns how many bytes the text of a record usually has in addition to the record.
  std::uint64_t bytes_per_record() const;
  // Returns the text of records. An unreadable record ends it, unless these are skipped. If `output` is not null,
  // writes the text there instead; a write error ends it too.
  Rendered render(const ChunkRecords& records, const Chunk& chunk, TextOutput* output = nullptr) const;
  // Writes the text of records that were read together. REQUIRES: depends_on_bytes_alone().
  void write(std::span<const Bytes> records, TextOutput& output) const;

  const RecordStore& store;
  const FormOptions options;
  const RecordDecoder decoder;
  const std::uint64_t first_ordinal;  // in the data set, of the container's first record
  const std::string shard;            // its name in JSON; empty: omitted
};

}  // namespace recordfs
