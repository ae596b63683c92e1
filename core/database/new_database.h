// Writes a new LevelDB database. All its keys are in its log, from which LevelDB makes tables when it opens the
// database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/formats/record_writer.h"

namespace recordfs::database {

inline constexpr std::string_view kNewLog = "000003.log";
inline constexpr std::string_view kNewManifest = "MANIFEST-000002";
// The content of CURRENT.
inline constexpr std::string_view kNewCurrent = "MANIFEST-000002\n";

// Returns the family of `source` that a new database can hold, with its keys in the same order. Fails with
// kUnsupported, and says why, if there is none.
Result<Family> writable_family(const Database& source);

// Returns the content of the MANIFEST for keys of this family.
Result<std::string> new_manifest(const Family& family);

// Writes the log. Not thread-safe.
class NewLog {
 public:
  // `sink` gets the file, and must outlive the object.
  explicit NewLog(ByteSink& sink);

  // Appends a key, which must be new, and its value. Fails as ByteSink, and with kLimit beyond 4 GiB.
  Result<void> add(Bytes key, Bytes value);
  // Writes the last keys. Must be called once, as the last function. Fails as add().
  Result<void> finish();

 private:
  Result<void> write_batch();

  const std::unique_ptr<RecordWriter> log_;
  std::string writes_;       // of the batch
  std::uint32_t count_ = 0;  // of them
  std::uint64_t sequence_ = 1;
};

}  // namespace recordfs::database
