// Writes a new LevelDB database, or tables that RocksDB ingests. All keys of a new database are in its log, from which
// LevelDB makes tables when it opens the database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/formats/record_writer.h"

namespace recordfs::database {

inline constexpr std::string_view kNewLog = "000003.log";
inline constexpr std::string_view kNewManifest = "MANIFEST-000002";
// The content of CURRENT.
inline constexpr std::string_view kNewCurrent = "MANIFEST-000002\n";

// Returns the families of `source`, if all of them can be written with their keys in the same order. Fails with
// kUnsupported, and says why, if not.
Result<std::vector<Family>> writable_families(const Database& source);

// Returns whether the keys are written as tables for RocksDB. Otherwise they are written as a LevelDB database, and
// there is one family.
bool needs_tables(const Database& source);

// Returns the content of the MANIFEST for keys of this family.
Result<std::string> new_manifest(const Family& family);

// Writes keys and their values to one file. Not thread-safe.
class KeyWriter {
 public:
  virtual ~KeyWriter() = default;
  KeyWriter() = default;
  KeyWriter(const KeyWriter&) = delete;
  KeyWriter& operator=(const KeyWriter&) = delete;

  // Appends a key, which must be new and in order, and its value. Fails as ByteSink, and with kLimit beyond 4 GiB.
  virtual Result<void> add(Bytes key, Bytes value) = 0;
  // Writes the last keys. Must be called once, as the last function. Fails as add().
  virtual Result<void> finish() = 0;
};

// Writes a table that RocksDB's IngestExternalFile() takes into a family with the same comparator: with the properties
// of SstFileWriter, and the sequence number 0. `sink` must outlive the result. Fails as FileWriter::open.
Result<std::unique_ptr<KeyWriter>> open_new_table(ByteSink& sink, const Family& family);

// Writes the log of a LevelDB database.
class NewLog final : public KeyWriter {
 public:
  // `sink` gets the file, and must outlive the object.
  explicit NewLog(ByteSink& sink);

  Result<void> add(Bytes key, Bytes value) override;
  Result<void> finish() override;

 private:
  Result<void> write_batch();

  const std::unique_ptr<RecordWriter> log_;
  std::string writes_;       // of the batch
  std::uint32_t count_ = 0;  // of them
  std::uint64_t sequence_ = 1;
};

}  // namespace recordfs::database
