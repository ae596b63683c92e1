// RecordFilesCopier: copies records of containers to files of a directory (cp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/reporter.h"
#include "core/dataset/set_member.h"
#include "core/export/record_files.h"
#include "core/search/record_condition.h"
#include "core/store/selection.h"

namespace recordfs {

// Uses the threads of its reporter. Not thread-safe.
class RecordFilesCopier {
 public:
  struct Options : RecordChoice {
    RecordFiles::Options files{};

    // Returns whether a condition or a name needs decoded records.
    bool decodes() const { return condition != nullptr || files.pattern != nullptr; }
  };
  struct Caller {
    std::function<void(std::uint64_t records)> has_copied;            // called on any thread
    std::function<void(const RecordFiles::Failure& failure)> report;  // why a file of a readable record is not written
  };
  // Records that were not copied for one reason.
  struct NotCopied {
    std::uint64_t records = 0;
    std::uint64_t first = 0;  // its ordinal
    std::string why{};        // of the first

    void add(std::uint64_t ordinal, const std::string& reason);
  };

  // `options` and `reporter` must outlive the object.
  RecordFilesCopier(Descriptor directory, const Options& options, Reporter& reporter, Caller caller);

  // Copies records of a container, and reports what fails, except for what is counted below. Returns as SetReader::Take
  // does: nullopt also if the records of the format have no parts, but parts are wanted.
  std::optional<std::uint64_t> copy(const SetMember& member, const Selection& selection);

  // Returns whether a file could not be written, so that the copy has ended.
  bool has_failed() const { return has_failed_; }
  // Returns how many records lack each of the parts.
  const std::vector<std::uint64_t>& without_part() const { return without_part_; }
  // Return the records that lack the fields of their name, and those whose name another file has, which is the reason.
  const NotCopied& without_name() const { return without_name_; }
  const NotCopied& of_taken_name() const { return of_taken_name_; }

 private:
  // What failed in a chunk, by ordinal.
  using Failures = std::vector<std::pair<std::uint64_t, RecordFiles::Failure>>;

  Failures copy_chunk(const RequestContext& context, const SetMember& member, const RecordDecoder& decoder,
                      const Selection& selection, const IndexedChunk& indexed);
  void copy_run(RecordFiles::Record& record, OrdinalInterval run, std::uint64_t first_ordinal, Failures& failed);
  bool settle(const RecordStore& store, const Failures& failures);

  const Options& options_;
  Reporter& reporter_;
  const Caller caller_;
  const RecordFiles files_;
  std::atomic<bool> has_failed_{false};
  std::vector<std::uint64_t> without_part_;
  NotCopied without_name_;
  NotCopied of_taken_name_;
};

}  // namespace recordfs
