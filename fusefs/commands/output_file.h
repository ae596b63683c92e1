// OutputFile: a file that appears under its name when it is complete.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/formats/record_writer.h"

namespace recordfs {

// Until it is published it is a hidden file of the same directory, which the destructor removes. Only a process that is
// killed leaves the hidden file. Not thread-safe.
class OutputFile final : public ByteSink {
 public:
  struct Options {
    bool replaces = false;  // an existing file, when this one is published
    mode_t mode = 0666;     // without the umask
  };

  // Of a file in a directory. REQUIRES: the name has no slash, and is not empty, "." or "..".
  OutputFile(Descriptor directory, std::string name, Options options);
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Creates the hidden file. From now on a file that becomes larger than the process may write is an error of write(),
  // and no signal. Fails with kIo: EEXIST if the name is taken and must not be. The first function to call.
  Result<void> create();
  // Buffers small pieces.
  Result<void> write(Bytes bytes) override;
  // Writes the buffer. Fails with kIo.
  Result<void> flush();
  // Returns another descriptor of the file, for reading what flush() has written. Fails with kIo.
  Result<Descriptor> reopened() const;
  // Puts the file on the disk and gives it its name. Nothing can be written afterwards. Fails with kIo: EEXIST if the
  // name was taken meanwhile; then the file is removed.
  Result<void> publish();

 private:
  Result<void> write_through(Bytes bytes);

  const Descriptor directory_;
  const std::string name_;
  const std::string unfinished_;  // its name until it is published
  const Options options_;
  Descriptor file_;
  Buffer buffer_;             // empty until the first use
  std::size_t gathered_ = 0;  // bytes of it that are not written yet
  bool is_there_ = false;     // the hidden file exists
};

}  // namespace recordfs
