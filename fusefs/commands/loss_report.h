// LossReport: the file in which `recover` lists what is lost.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/output/output_file.h"
#include "core/output/output_place.h"
#include "fusefs/commands/output.h"

namespace recordfs {

// Appears under its name when it is complete, unless it is a pipe, a device or standard output. Not thread-safe.
class LossReport {
 public:
  // `path`: "-" is standard output; empty: there is no report, and all functions do nothing. Opens a pipe or device,
  // which may wait for a reader. begin() fails if that fails. Must be called before the process is confined.
  LossReport(std::string path, bool replaces);

  const std::string& path() const { return path_; }
  bool is_there() const { return !path_.empty(); }
  // Returns the directory that the file is written to, for CommandContext; empty: none is needed.
  std::string directory() const { return place_ ? place_->directory_name : std::string(); }
  // Returns whether `path` is the same file, or would be if it existed.
  bool is_at(const std::string& path) const;

  // Creates the hidden file. Must be called before write(). Fails with kIo: EEXIST if the name is taken and must not
  // be.
  Result<void> begin();
  void write(std::string_view line);
  // Gives the file its name if it was begun. Nothing is written afterwards, and a second call does nothing. Fails with
  // kIo because of this or an earlier function; the error of a stream is printed.
  Result<void> finish();
  // Removes the file, unless it has its name. For a process that ends without destructors.
  void discard() { file_.reset(); }
  // Removes the file, also if it has its name and replaced no other. For an output that fails.
  void withdraw();

 private:
  const std::string path_;
  const bool replaces_;
  Result<OutputPlace> place_;
  std::unique_ptr<OutputFile> file_;
  std::optional<Output> stream_;
  Result<void> outcome_;  // of write()
  bool is_finished_ = false;
};

}  // namespace recordfs
