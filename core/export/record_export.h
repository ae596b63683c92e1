// RecordExport: encodes the records of containers in order, writes their rows, and reports what fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/export/export_files.h"
#include "core/export/record_rows.h"

namespace recordfs {

// Uses the threads of its reporter. Not thread-safe.
class RecordExport {
 public:
  struct Caller {
    std::function<void(std::uint64_t bytes)> has_read;              // bytes of containers that are done
    std::function<void(std::uint64_t records)> has_written;         // records whose rows were taken
    std::function<void(const ExportFiles::Failure& failure)> fail;  // why the output cannot be written
  };

  // The arguments must outlive the object.
  RecordExport(const RowOptions& options, ExportFiles& files, Reporter& reporter, Caller caller)
      : options_(options), files_(files), reporter_(reporter), caller_(std::move(caller)) {}

  // Writes the rows of records of a container. Returns as SetReader::Take does.
  std::optional<std::uint64_t> write(const SetMember& member, const Selection& selection);
  // Writes rows. Returns false if the export has to stop: after a failure of the output, or of a record that must not
  // be skipped, or because the job should end.
  bool take(const RowBytes& rows);
  // Reports which records could not be encoded. Returns false if that ends the export.
  bool report_failures();
  // Reports why a record that can be read is no row. `store` may be null.
  void report_unfit(const RecordStore* store, const std::string& path, const Error& why);

  std::uint64_t written() const { return written_; }  // records
  // Returns the number of scalars that have no row, of records that have others.
  std::uint64_t scalars_omitted() const { return scalars_omitted_; }
  // Returns whether records that can be read are no rows.
  bool has_unfit() const { return has_unfit_; }

 private:
  OrderedResult encode(const RequestContext& context, const RecordRows& rows, ChunkRecords records);
  bool settle(const SetMember& member, const EncodedRun& run, const ChunkInfo& chunk);
  void reach(Position position);

  const RowOptions& options_;
  ExportFiles& files_;
  Reporter& reporter_;
  const Caller caller_;
  Position reached_ = 0;  // in the current container
  std::uint64_t written_ = 0;
  std::uint64_t scalars_omitted_ = 0;
  bool has_unfit_ = false;
};

}  // namespace recordfs
