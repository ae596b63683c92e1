// SavedIndex: what a scan of a large file has found, kept in a file for the next time.
//
// A convenience and never more: what can't be read, is not ours, or does not fit is as if it were not there, and
// what can't be written is one remark in the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/source.h"
#include "core/store/index_format.h"
#include "core/store/log.h"
#include "core/store/scanner.h"

namespace recordfs {

// Where saved indexes are, and from when on one is worth it.
struct IndexLocation {
  std::string directory;  // absolute; made when something is saved
  std::string settings;   // that decide how a file is scanned; there may be an index for each
  std::chrono::milliseconds least_scan_time{200};
  std::string program{};  // that scans: an index that another one has made is replaced
};

// Makes the directory, and the one above it, where they are not there and may be made. Any thread.
void make_directory(const IndexLocation& location);

// One catalog's. One thread reads and writes.
class SavedIndex {
 public:
  // `source` has to outlive the object. `format` is the container's.
  SavedIndex(IndexLocation location, const Source& source, std::string_view format, ScanDetail detail,
             IndexBounds bounds, Log log);

  struct Loaded {
    CatalogSnapshot snapshot;
    bool has_grown = false;  // it is one of the file's beginning, up to an earlier end
  };
  // What was saved of this file, or of the file before something was appended to it. To be called when a scan begins,
  // also by who is not interested: a file that was written at that very moment is not saved.
  std::optional<Loaded> read();

  // Saves what a scan has found that took so long. Does nothing where it is not worth it, or read() could not tell
  // which file it is.
  void write(const CatalogSnapshot& snapshot, std::chrono::steady_clock::duration scanned);

  // The file that read() looks into and write() replaces. REQUIRES: read() was called.
  std::string path() const { return location_.directory + "/" + file_name(); }

  // Takes away what turned out to be wrong. Any thread, once read() has returned.
  void remove() const;

 private:
  std::string file_name() const;
  std::optional<std::string> try_write(const std::string& bytes) const;

  const IndexLocation location_;
  const Source& source_;
  const IndexBounds bounds_;
  const Log log_;
  std::uint64_t way_ = 0;    // of scanning through the file: settings, format, detail
  IndexKey key_;             // but for the hashes: the ends of the file are read when there is something to compare
  bool is_settled_ = false;  // key_ is set, and a later change to the file changes it
};

}  // namespace recordfs
