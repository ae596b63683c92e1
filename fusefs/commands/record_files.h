// RecordFiles: records as files of a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// A file appears under its name when all of its bytes are there, and not before. Nothing is written through a symbolic
// link. Any thread.
class RecordFiles {
 public:
  // Fails with kIo where `directory` is none, or can't be opened.
  static Result<std::unique_ptr<RecordFiles>> open(const std::string& directory, bool replaces);
  ~RecordFiles();
  RecordFiles(const RecordFiles&) = delete;
  RecordFiles& operator=(const RecordFiles&) = delete;

  // What kept a record from becoming a file.
  struct Failure {
    bool is_of_record = false;  // it can't be read: `why` is as of RecordStore::read_record
    bool is_there = false;      // there is a file of that name, which is not to be replaced
    Error why;
  };
  // Writes a record of a decoded chunk to the file of its ordinal.
  std::optional<Failure> write(const RecordStore& store, const Chunk& chunk, std::uint64_t index,
                               std::uint64_t ordinal) const;

  // "000000042", as in the mount's records/.
  static std::string name_of(std::uint64_t ordinal);

 private:
  RecordFiles(int directory, bool replaces) : directory_(directory), replaces_(replaces) {}
  bool publish(const std::string& unfinished, const std::string& name) const;

  const int directory_;
  const bool replaces_;
};

}  // namespace recordfs
