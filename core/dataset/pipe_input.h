// PipeInput: makes standard input, and files that are pipes, readable at any position.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/dataset/source_spec.h"

namespace recordfs {

// Returns whether a path is kStandardInput or a named pipe, such as <(...) of a shell.
bool is_pipe(const std::string& path);

// Makes standard input or a pipe readable at any position. A pipe is saved in a temporary file without a name, which is
// gone when the program ends in any way. Thread-safe, except make_room().
class PipeInput {
 public:
  // `path`: of a pipe, or kStandardInput. `most_bytes`: the most that is saved.
  PipeInput(std::string path, std::uint64_t most_bytes) : path_(std::move(path)), most_bytes_(most_bytes) {}

  // Creates the temporary file, which a confined process cannot; errors are path()'s. Without this call, path() saves
  // the pipe in memory, as for a pipe that only a list of files names. Call it at most once, before path().
  void make_room();

  // Returns a path by which this process can open what the pipe has. The first call reads all of it. Fails with kIo if
  // that fails, if there is too much of it, or if it cannot be saved; so do later calls.
  Result<std::string> path();

 private:
  Result<std::string> saved();
  Result<void> save(int pipe);
  std::string name() const;

  const std::string path_;
  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::string place_ = "memory";               // of the file: a directory
  Result<Descriptor> file_ = Descriptor();     // guarded by mutex_
  std::optional<Result<std::string>> result_;  // guarded by mutex_
};

}  // namespace recordfs
