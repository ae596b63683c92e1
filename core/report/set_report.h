// What a report shows of one or several files: a row for each of the first, sums over all, and details of a single
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/file_report.h"
#include "core/report/page_elements.h"
#include "core/report/size_histogram.h"
#include "core/store/part_counts.h"

namespace recordfs {

// Memory does not depend on the number of files. Not thread-safe.
struct SetReport {
  static constexpr std::size_t kMostRows = 200;

  struct Row {
    std::string path;
    std::string format{};
    std::string failure{};  // why the file cannot be read; empty: it was read
    std::uint64_t size = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;    // of these records
    std::uint64_t damaged = 0;  // regions
    std::uint64_t unread = 0;   // regions, for other reasons than damage
  };

  // Adds a file that was read.
  void add(const std::string& path, FileReport&& report);
  // Adds findings about a file that was not read, or about a directory of files.
  void add_findings(const std::string& path, const std::vector<Finding>& found);
  // Adds a file that cannot be opened, or `count` missing ones in one row.
  void add_failure(const std::string& path, std::string_view word, std::string reason, std::uint64_t count = 1);

  // Returns the report of the only file; null if there are several.
  const FileReport* only_file() const { return files == 1 && first_file ? &*first_file : nullptr; }

  std::optional<FileReport> first_file;  // while no other file is added
  std::vector<Row> rows;                 // of the first files
  std::uint64_t files = 0;
  std::uint64_t failed = 0;     // files that could not be read at all
  std::uint64_t faulty = 0;     // files with findings, without those
  std::uint64_t unchecked = 0;  // files with records that have no checksums
  std::uint64_t size = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunks = 0;
  std::set<std::string> formats;
  SizeHistogram sizes;
  PartCounts parts;
  PartCounts keys;  // changes of keys
  ColumnStatistics columns;
  UndecodedRecords::Summary undecoded;  // records whose columns are not counted
  Thumbnails thumbnails;                // of the first file with images
  bool is_selected = false;             // sizes, parts and columns are those of records that a condition selects
  std::vector<Finding> findings;
  std::vector<std::string> finding_files;  // of each finding
  std::uint64_t all_findings = 0;          // also those that are not kept
  FindingSums sums;

 private:
  void keep(const std::string& path, const Finding& finding);
};

}  // namespace recordfs
