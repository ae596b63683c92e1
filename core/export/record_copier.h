// RecordCopier: copies records of a container to an output (cat, head, tail).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/read_window.h"
#include "core/base/result.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/ordered_pass.h"
#include "core/dataset/random_order.h"
#include "core/export/record_text.h"
#include "core/formats/field_projection.h"
#include "core/store/record_store.h"

namespace recordfs {

// Which of the selected records are wanted, as they come.
struct SelectedWindow {
  std::uint64_t skipped = 0;
  std::uint64_t most = UINT64_MAX;  // after those that are skipped
  bool was_full = false;            // further records were not read

  // Removes what is not wanted from the next runs.
  RecordRuns take(const RecordRuns& runs);
};

// For one container. Not thread-safe. Reports errors as they occur. Copying has to stop after an unreadable
// record that must not be skipped, or a write error.
class RecordCopier {
 public:
  // The arguments must outlive the object.
  RecordCopier(const SetMember& member, const FormOptions& options, Reporter& reporter, TextOutput& output);

  // Copies a part of the container. Returns the number of records before the place where copying ended; nullopt if it
  // has to stop.
  std::optional<std::uint64_t> copy(PassPart part);
  // Leaves out all selected records but these, and ends the copy after them.
  void keep_only(SelectedWindow& window) { window_of_selected_ = &window; }
  // Copy one record, and read no more than that needs. `first_ordinal` is of its chunk; nullopt: not counted. Return
  // false, or nullopt, if copying has to stop; otherwise the number of records up to this one. REQUIRES: the selection
  // has `from`.
  bool copy_one(const RecordRef& record, std::optional<std::uint64_t> first_ordinal);
  std::optional<std::uint64_t> copy_one(const Selection& selection);
  // Returns the context in which copy_one() reads: from a window of the file, because the next record is often near.
  RequestContext context() { return RequestContext().with(window_); }

 private:
  OrderedResult copy_ahead(const RequestContext& context, ChunkRecords records);
  // Decodes a chunk, unless the condition selects no record of it, and sets the runs of `records` if there is one.
  Result<ChunkReader::Pointer> decode(const RequestContext& context, ChunkRecords& records,
                                      std::vector<Error>& failures) const;
  // Finds the records that the condition selects.
  SelectedRecords select(const ChunkInfo& info, const Chunk& chunk, OrdinalInterval which) const;
  bool settle(const Rendered& rendered, const ChunkInfo& chunk);
  bool settle(const std::vector<Error>& failures, const ChunkInfo& chunk);

  const SetMember& member_;
  const std::string& path_;
  const RecordStore& store_;
  const FormOptions& options_;
  Reporter& reporter_;
  TextOutput& output_;
  const RecordText text_;
  DamageReporter damage_;
  ReadWindow window_;
  bool has_written_ = false;
  SelectedWindow* window_of_selected_ = nullptr;
  const std::optional<FieldProjection> searched_fields_;  // that the condition needs; nullopt: all, or there is none
};

// Writes all records of a set, or a sample, in a random order: see read_in_random_order().
void copy_in_random_order(const RandomOptions& options, const FormOptions& form, SetReader& reader, Reporter& reporter,
                          TextOutput& output);

}  // namespace recordfs
