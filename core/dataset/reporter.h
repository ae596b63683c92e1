// Reporter: where jobs that read many records report what they find.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/impact.h"
#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// Thread-safe. `path` names a container.
class Reporter {
 public:
  virtual ~Reporter() = default;

  // Return how many threads the job uses, and whether it should go on; otherwise it ends soon.
  virtual unsigned threads() const = 0;
  virtual bool goes_on() const = 0;

  // Add to the outcome of the job, without a message. The stale end of a recycled log is not damage.
  virtual void note(Impact impact) = 0;
  virtual void note(const Error& error) = 0;
  virtual void note(const DamagedRegion& region) = 0;
  // Counts records that are skipped, as LossCount::add() does.
  virtual void add_loss(std::optional<std::uint64_t> count, std::uint64_t at_least = 0) = 0;

  // Report and note a problem of the job; why a container cannot be opened; why it cannot be read any further.
  virtual void fail(Impact impact, const std::string& text) = 0;
  virtual void report_unopened(const std::string& path, const Error& error) = 0;
  virtual void report_failure(const std::string& path, const Error& error) = 0;
  // Reports and notes why a record cannot be read.
  virtual void report(const RecordStore& store, const Error& error) = 0;
  // The same for skipped records of a chunk, which it counts. `records`: how many; nullopt: unknown.
  virtual void report_skipped(const std::string& path, const RecordStore& store, const Error& error,
                              const ChunkInfo& chunk, std::optional<std::uint64_t> records) = 0;
  // Reports a damaged region, and counts its records. `is_known`: an unfinished end at its place was reported.
  virtual void report_region(const std::string& path, const RecordStore& store, const DamagedRegion& region,
                             bool is_known) = 0;
};

}  // namespace recordfs
