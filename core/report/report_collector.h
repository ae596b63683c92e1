// ReportCollector: reads the files of a SetReport, one after another, and reports what cannot be read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/database/database.h"
#include "core/dataset/missing_shards.h"
#include "core/dataset/reporter.h"
#include "core/report/set_report.h"
#include "core/search/record_condition.h"
#include "core/store/open_container.h"
#include "core/verify/checked_databases.h"

namespace recordfs {

// Not thread-safe.
class ReportCollector {
 public:
  struct Caller {
    std::function<Result<OpenedFile>(const std::string& path)> open;
    std::function<void(std::uint64_t bytes)> expects;   // a file of this size will be read
    std::function<void(std::uint64_t bytes)> has_read;  // bytes of it
  };

  // `choice`: as of report_of(). `choice` and `reporter` must outlive the object.
  ReportCollector(const RecordChoice& choice, database::Options options, Caller caller, Reporter& reporter)
      : choice_(choice),
        caller_(std::move(caller)),
        reporter_(reporter),
        databases_(std::move(options), reporter.threads()) {}

  // Checks the database in a directory as a whole, before its files are added.
  void check_database(const std::string& directory);
  // Adds a file, or shards that are missing. Returns false if the job should end.
  bool add(const NamedFile& file);
  // Adds what is wrong with the databases as a whole, after all files.
  void finish();

  // Returns what was collected so far.
  SetReport& report() { return report_; }

 private:
  Result<FileReport> read(const NamedFile& file);
  void check_as_file_of_database(const std::string& path, const Source& source, Verdict& verdict);
  void add(const Outcome& outcome);

  const RecordChoice& choice_;
  const Caller caller_;
  Reporter& reporter_;
  CheckedDatabases databases_;
  SetReport report_;
};

}  // namespace recordfs
