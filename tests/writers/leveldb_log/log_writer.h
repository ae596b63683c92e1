// Writes LevelDB and RocksDB logs, sound ones as the databases write them and unsound ones piece by piece,
// for tests and benchmarks. FORMAT.md in core/formats/leveldb_log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs::leveldb_log {

// One fragment: its checksum, length, type, log number (types 5 to 8, 11 and 131) and payload.
std::string fragment(std::uint8_t type, std::string_view payload, std::optional<std::uint32_t> log_number = {});

class LogWriter {
 public:
  struct Options {
    std::optional<std::uint32_t> log_number{};  // set: recyclable fragments, types 5 to 8
    bool zstd = false;                          // each record a zstd frame
    bool zstd_content_size = true;              // whether its header states the size
  };

  LogWriter() : LogWriter(Options{}) {}
  explicit LogWriter(Options options);

  // Appends a record, cut as it must be.
  void append(std::string_view record);
  // Appends bytes as they are.
  void append_raw(std::string_view bytes) { log_ += bytes; }
  // Appends a record of such a size that exactly `left` bytes of the frame are left behind it.
  void fill_frame_but(std::size_t left, char filling = 'f');

  const std::string& log() const { return log_; }

  // The whole frames that were not taken yet, for logs that are larger than memory should hold; log() keeps the rest.
  std::string take_frames();

 private:
  std::size_t left_in_frame() const;
  std::size_t header_size() const;
  void pad();

  Options options_;
  std::string log_;
};

}  // namespace recordfs::leveldb_log
