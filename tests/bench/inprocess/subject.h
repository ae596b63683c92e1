// The subject of a benchmark: one generated container, and the chunks that its writer makes of its first records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/container.h"
#include "tests/bench/data/form.h"
#include "tests/bench/data/records.h"

namespace recordfs::bench {

// An open file. All functions here end the program with a message if the file or the container fails.
struct Opened {
  std::shared_ptr<const Source> source;
  std::unique_ptr<const Container> container;
};

class Subject {
 public:
  // `form` may be followed by a kind, "riegeli-zstd.events"; the default kind is lines.
  Subject(std::string form, std::string path);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Opened open() const;
  // Returns the headers of chunks that hold kSampleBytes of records, or of all chunks if the file is smaller.
  std::vector<ChunkInfo> chunks(const Container& container) const;
  // Returns chunks of about as many bytes, as PlainDecoder takes them. Created by the first call. One thread.
  const std::vector<PackedChunk>& packed_chunks();

  static constexpr std::uint64_t kSampleBytes = 64u << 20;  // more than the processor's caches hold

 private:
  const std::string name_;
  const std::string path_;
  std::vector<PackedChunk> packed_;
};

// Prints the error and ends the program.
[[noreturn]] void give_up(const std::string& what, const Error& why);

}  // namespace recordfs::bench
