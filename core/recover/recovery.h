// Recovery: writes a good file with everything that can be read of a damaged one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/impact.h"
#include "core/base/result.h"
#include "core/formats/record_writer.h"
#include "core/output/output_file.h"
#include "core/store/record_store.h"
#include "core/verify/verification.h"

namespace recordfs {

// Returns how a file like this container is written; null if recordfs cannot. If a format is built on the container's
// own and the name is one of its names, the file is of that format and has lost what shows it, as an ArrayRecord file
// its footer.
const FileWriter* writer_for(const RecordStore& source);

// Returns whether a file that is written has a name of another format, and none of its own.
bool has_other_name(const std::string& path, const FileWriter& writer);

// The result for a file.
struct Recovered {
  std::uint64_t records = 0;     // written
  std::vector<Finding> lost{};   // what could not be read, in the order of the file
  std::optional<Error> error{};  // why there is no output; nullopt: the output is complete, and was verified
  bool was_stopped = false;      // by `goes_on`; then there is no output, either

  LossCount losses() const;
};

// Reads one container and writes another one of the same format.
class Recovery {
 public:
  struct Options {
    unsigned threads = 1;
    std::uint64_t memory = 64u << 20;  // bytes of decoded chunks
    bool copies_chunks = true;         // appends intact chunks as they are stored
    bool skips_unsupported = false;    // takes for lost what this build cannot decode, or what exceeds the limits
    // Called on the calling thread, with the number of bytes done since the last call; false stops. All together are
    // the size of the source: the first half while it is read, and the second while the output is.
    std::function<bool(std::uint64_t bytes)> goes_on{};
  };

  // All must outlive the object. `format`: as writer_for() returns it.
  Recovery(const RecordStore& source, const FileWriter& format, const Options& options, StoreResources& services)
      : source_(source), format_(format), options_(options), services_(services) {}

  // Writes to `output`, which was created, reads that again, and compares it with what was written. The caller
  // publishes `output` if there is no error.
  Recovered run(OutputFile& output) const;

 private:
  Result<void> write(OutputFile& output, Recovered& recovered, WriterOptions& wanted, std::uint64_t& digest) const;
  Result<void> check(const OutputFile& output, const Recovered& recovered, const WriterOptions& wanted,
                     std::uint64_t digest) const;

  const RecordStore& source_;
  const FileWriter& format_;
  const Options& options_;
  StoreResources& services_;
};

}  // namespace recordfs
