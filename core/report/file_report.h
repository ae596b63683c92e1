// What a report shows of a container: collected in one pass that reads and checks everything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/columns/column_statistics.h"
#include "core/decoding/json_writer.h"
#include "core/report/size_histogram.h"
#include "core/report/thumbnails.h"
#include "core/search/record_condition.h"
#include "core/search/undecoded_records.h"
#include "core/store/part_counts.h"
#include "core/store/record_store.h"
#include "core/verify/verification.h"

namespace recordfs {

// Chunks with records of one codec. The first of a report is everything else, such as headers and indexes.
struct CodecSums {
  std::string name;
  std::uint64_t chunks = 0;
  std::uint64_t stored = 0;   // bytes of the file
  std::uint64_t decoded = 0;  // bytes of the records that can be read
};

// An equal part of the file.
struct FileBin {
  static constexpr std::size_t kMostCodecs = 9;

  std::array<std::uint64_t, kMostCodecs> stored{};  // bytes of the file by codec, as FileReport::codecs
  double decoded = 0;                               // bytes of the records that are stored here
  double packed = 0;                                // bytes of the file that hold these records
  bool is_damaged = false;
};

// One of the first records.
struct FirstRecord {
  std::uint64_t size = 0;
  std::string text{};    // its decoded form, or its bytes; may be cut
  bool is_json = false;  // the decoded form
  bool is_cut = false;
};

struct FileReport {
  static constexpr std::size_t kBins = 1280;
  static constexpr std::size_t kMostBoundaries = 256;  // between chunks
  static constexpr std::size_t kFirstRecords = 8;
  static constexpr std::size_t kMostFailures = 8;

  JsonObject info;  // info.json
  std::uint64_t size = 0;
  Verdict verdict;
  std::vector<CodecSums> codecs;     // at most FileBin::kMostCodecs; the last then has the rest
  std::vector<FileBin> bins;         // kBins, or one for each byte of a smaller file
  std::vector<Position> boundaries;  // where chunks begin; none if there are more than kMostBoundaries
  SizeHistogram sizes;               // of readable records, here and below: that the condition selects
  PartCounts parts;                  // of readable records, if they have any
  bool has_keys = false;             // `parts` are changes of keys
  std::vector<FirstRecord> first;
  ColumnStatistics columns;
  UndecodedRecords::Summary undecoded;  // records whose columns are not counted
  std::vector<Error> failures;          // the first reasons why records could not be described
  Thumbnails thumbnails;                // of the first records

  // Returns where a bin begins. REQUIRES: bin <= bins.size().
  Position begin_of(std::size_t bin) const;
};

// Reads the whole container, as verify() does, with the same arguments. The condition selects the records of which more
// is reported than whether they are readable. `file`: that of the container.
Result<FileReport> report_of(const RecordStore& store, const RecordFile& file, const RecordChoice& choice,
                             unsigned threads, const std::function<bool(std::uint64_t bytes)>& goes_on);

}  // namespace recordfs
