// Where a command writes its output: a file, a pipe or device, or standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/formats/record_writer.h"
#include "fusefs/commands/output.h"

namespace recordfs {

// Where a command writes its output.
struct OutputPlace {
  Descriptor directory{};        // of a file
  std::string directory_name{};  // for CommandContext; empty: the output is not a file
  std::string name{};            // of the file, in the directory
  Descriptor stream{};           // a pipe or device; none: standard output, unless there is a directory

  // Opens the directory again, for a file in it.
  Result<Descriptor> opened_directory() const;
  bool is_file() const { return !directory_name.empty(); }
  // Finds the place of a path; "-" is standard output. Opens a pipe or device, which may wait for a reader. Fails with
  // kIo. Must be called before the process is confined.
  static Result<OutputPlace> at(const std::string& path);
};

// Writes to a pipe, a device or standard output.
class StreamSink final : public ByteSink {
 public:
  // The output must outlive the object.
  explicit StreamSink(Output& output) : output_(output) {}
  // Fails with kIo after an error, which the output has or will print.
  Result<void> write(Bytes bytes) override;

 private:
  Output& output_;
};

}  // namespace recordfs
