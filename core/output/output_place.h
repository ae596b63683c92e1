// OutputPlace: where output goes: to a file, a pipe or device, or standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/formats/record_writer.h"
#include "core/output/text_output.h"

namespace recordfs {

struct OutputPlace {
  Descriptor directory{};        // of a file
  std::string directory_name{};  // below which the process must be able to write; empty: the output is not a file
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
  explicit StreamSink(TextOutput& output) : output_(output) {}
  // Fails with kIo after an error, which the output has.
  Result<void> write(Bytes bytes) override;

 private:
  TextOutput& output_;
};

}  // namespace recordfs
