// The list of what a command skipped, a line of JSON each (cat --skipped).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/dataset/missing_shards.h"

namespace recordfs {

struct Finding;
struct JsonObject;

// Not thread-safe. After a failure to write it writes nothing more.
class SkippedList {
 public:
  // Creates the file, or truncates it. Fails with kIo; the detail begins with the path.
  static Result<std::unique_ptr<SkippedList>> create(const std::string& path);

  // Adds a finding in a container.
  void add(const std::string& container, const Finding& finding);
  // Adds missing shards, in one line, and a surplus one.
  void add(const MissingShards& missing);
  void add_surplus(const std::string& path);
  // Writes what is left. Fails with kIo, also after an earlier failure; the detail begins with the path.
  Result<void> finish();

 private:
  SkippedList(std::string path, Descriptor descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  void add_line(const JsonObject& line);
  void flush();

  const std::string path_;
  const Descriptor descriptor_;
  std::string lines_;  // not written yet
  int error_ = 0;      // errno
};

}  // namespace recordfs
