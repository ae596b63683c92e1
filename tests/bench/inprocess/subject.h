// What a benchmark is about: one generated container, and the chunks that its writer makes of the first of its records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/container.h"
#include "tests/bench/data/form.h"
#include "tests/bench/data/records.h"

namespace recordfs::bench {

// A file, open. Any of these end the program with a message where the file or the container fails.
struct Opened {
  std::shared_ptr<const Source> source;
  std::unique_ptr<const Container> container;
};

class Subject {
 public:
  // `form` may have a kind behind it, "riegeli-zstd.events"; without it the records are lines.
  Subject(std::string form, std::string path);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Opened open() const;
  // Headers of chunks that hold kSampleBytes of records, or all chunks of a smaller file.
  std::vector<ChunkInfo> chunks(const Container& container) const;
  // Chunks of about as many bytes, as plain decompression wants them. Made by the first call. One thread.
  const std::vector<PackedChunk>& packed_chunks();

  static constexpr std::uint64_t kSampleBytes = 64u << 20;  // more than the processor's caches

 private:
  const std::string name_;
  const std::string path_;
  std::vector<PackedChunk> packed_;
};

// Prints why and ends the program.
[[noreturn]] void give_up(const std::string& what, const Error& why);

}  // namespace recordfs::bench
