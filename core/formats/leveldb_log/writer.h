// Writes LevelDB logs, and those of RocksDB and Pebble, and of formats that are built on them. FORMAT.md, "Fragment".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/codec/codec.h"
#include "core/formats/leveldb_log/wire.h"
#include "core/formats/record_writer.h"

namespace recordfs::leveldb_log {

extern const FileWriter kWriter;

// How a log is written.
struct LogForm {
  Wire wire{};
  std::uint32_t header_size = kHeaderSize;  // or one of the other sizes
  std::uint32_t log_number = 0;             // in headers of the other sizes
  CodecId codec = CodecId::kNone;           // or kZstd: each record is a frame
  // Fragments at the head of the log, before the first record.
  struct Control {
    std::uint8_t type = 0;
    std::string payload{};
  };
  std::vector<Control> controls{};
  std::string ident{};  // of wire.first bytes, before the first fragment
};

// Returns a writer of a log. `sink` must outlive it.
std::unique_ptr<RecordWriter> log_writer(ByteSink& sink, LogForm form);

}  // namespace recordfs::leveldb_log
