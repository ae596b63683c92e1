// What commands write to: standard output, or a file.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "core/base/descriptor.h"
#include "core/output/text_output.h"
#include "fusefs/terminal.h"

namespace recordfs {

// Standard output, or a file. Not thread-safe.
class Output final : public TextOutput {
 public:
  Output() = default;
  // `name` is that of the file in messages.
  Output(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  ~Output() override { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Flushes, and prints the error if there was one other than EPIPE. Returns kExitGood or kExitPartlyDone.
  int finish();

 private:
  int write_through(Bytes bytes) override;
  int descriptor() const { return file_ ? file_.number() : STDOUT_FILENO; }

  const Descriptor file_{};  // none: standard output
  const std::string name_ = "standard output";
  // Whether it is a terminal that shows only ASCII, and so gets other bytes as "\xHH".
  const bool is_ascii_ = is_ascii_terminal(descriptor());
};

}  // namespace recordfs
