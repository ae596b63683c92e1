// OutputPlace: where output goes: to a file, a pipe or device, or standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/formats/record_writer.h"
#include "core/output/text_output.h"

namespace recordfs {

// Returns the number of the open file that a path means, which is no name to replace: that of "-", which is standard
// output, and of names such as /dev/stdout. Thread-safe.
std::optional<int> descriptor_named(std::string_view path);

struct OutputPlace {
  Descriptor directory{};        // of a file
  std::string directory_name{};  // below which the process must be able to write; empty: the output is not a file
  std::string name{};            // of the file, in the directory
  Descriptor stream{};           // a pipe or device; none: standard output, unless there is a directory

  // Opens the directory again, for a file in it.
  Result<Descriptor> opened_directory() const;
  bool is_file() const { return !directory_name.empty(); }
  // Finds the place of a path, which may name an open file. Opens a pipe or device, which may wait for a reader. Fails
  // with kIo. Must be called before the process is confined.
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
