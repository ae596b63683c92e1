// RecordFiles: writes records as files of a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// A file gets its name when it is complete. Nothing is written through a symbolic link. Thread-safe.
class RecordFiles {
 public:
  // Fails with kIo if `directory` cannot be opened.
  static Result<std::unique_ptr<RecordFiles>> open(const std::string& directory, bool replaces);
  ~RecordFiles();
  RecordFiles(const RecordFiles&) = delete;
  RecordFiles& operator=(const RecordFiles&) = delete;

  // Why a file was not written.
  struct Failure {
    bool is_of_record = false;  // unreadable: `why` is as of RecordStore::read_record
    bool is_there = false;      // the file exists and must not be replaced
    Error why;
  };
  // Writes a record of a decoded chunk to the file named by its ordinal. Returns nullopt on success.
  std::optional<Failure> write(const RecordStore& store, const Chunk& chunk, std::uint64_t index,
                               std::uint64_t ordinal) const;

  // Returns "000000042", as in the mount's records/.
  static std::string name_of(std::uint64_t ordinal);

 private:
  RecordFiles(int directory, bool replaces) : directory_(directory), replaces_(replaces) {}
  bool publish(const std::string& unfinished, const std::string& name) const;

  const int directory_;
  const bool replaces_;
};

}  // namespace recordfs
