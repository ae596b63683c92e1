// Writes LevelDB and RocksDB logs for tests and benchmarks: valid ones as the databases write them, and invalid ones
// piece by piece. See core/formats/leveldb_log/FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs::leveldb_log {

// Returns one fragment: its checksum, length, type, log number (types 5 to 8, 11 and 131) and payload.
std::string fragment(std::uint8_t type, std::string_view payload, std::optional<std::uint32_t> log_number = {});

class LogWriter {
 public:
  struct Options {
    std::optional<std::uint32_t> log_number{};  // if set, writes recyclable fragments, types 5 to 8
    bool zstd = false;                          // each record a zstd frame
    bool zstd_content_size = true;              // whether its header states the size
  };

  LogWriter() : LogWriter(Options{}) {}
  explicit LogWriter(Options options);

  // Appends a record, split into fragments as necessary.
  void append(std::string_view record);
  // Appends bytes unchanged.
  void append_raw(std::string_view bytes) { log_ += bytes; }
  // Appends a record sized so that exactly `left` bytes of the frame remain after it.
  void fill_frame_but(std::size_t left, char filling = 'f');

  const std::string& log() const { return log_; }

  // Returns and removes the complete frames, for logs too large to hold in memory; log() keeps the rest.
  std::string take_frames();

 private:
  std::size_t left_in_frame() const;
  std::size_t header_size() const;
  void pad();

  Options options_;
  std::string log_;
};

}  // namespace recordfs::leveldb_log
