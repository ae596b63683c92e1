// OutputFile: a file that appears under its name when it is complete.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/formats/record_writer.h"

namespace recordfs {

// Returns a name for a file or directory until it has the name `name`. No other process chooses it, not even one of
// another container with the same process ID. The hidden file of a process that was killed therefore stays until a user
// removes it. Thread-safe.
std::string hidden_name(const std::string& name);

// Until it is published it is a hidden file of the same directory, which the destructor removes. Only a process that is
// killed leaves the hidden file. Not thread-safe.
class OutputFile final : public ByteSink {
 public:
  struct Options {
    bool replaces = false;  // an existing file or symbolic link, when this one is published
    mode_t mode = 0666;     // without the umask
  };

  // Of a file in a directory. REQUIRES: the name has no slash, and is not empty, "." or "..".
  OutputFile(Descriptor directory, std::string name, Options options);
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Creates the hidden file. From now on a file that becomes larger than the process may write is an error of write(),
  // and no signal. Fails with kIo: EEXIST if the name is taken and must not be; if it is that of a directory, pipe,
  // device or socket. The first function to call.
  Result<void> create();
  // Gathers small pieces.
  Result<void> write(Bytes bytes) override;
  Result<void> rewrite(Position begin, Bytes bytes) override;
  // Writes the buffer. Fails with kIo.
  Result<void> flush();
  // Returns another descriptor of the file, for reading what flush() has written. Fails with kIo.
  Result<Descriptor> reopened() const;
  // Returns how many bytes were written, buffered ones included.
  std::uint64_t size() const { return size_; }
  // Puts the file on the disk, and closes it. Nothing can be written afterwards. Fails with kIo.
  Result<void> complete();
  // Completes the file unless it is complete, and gives it its name, or another one in the same directory. Fails with
  // kIo: EEXIST if the name was taken meanwhile; then the file is removed.
  Result<void> publish();
  Result<void> publish_as(std::string name);
  // Removes a published file again, if it replaced no other.
  void withdraw();

 private:
  Result<void> write_through(Bytes bytes);

  const Descriptor directory_;
  std::string name_;
  const std::string unfinished_;  // its name until it is published
  const Options options_;
  Descriptor file_;
  Buffer buffer_;             // empty until the first use
  std::size_t gathered_ = 0;  // bytes of it that are not written yet
  std::uint64_t size_ = 0;
  bool is_there_ = false;      // the hidden file exists
  bool can_withdraw_ = false;  // it is published, and replaced no other
};

}  // namespace recordfs
