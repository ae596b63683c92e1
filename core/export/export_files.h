// The files of an export: one, or the shards of a data set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/export/export_format.h"
#include "core/output/output_file.h"
#include "core/output/output_place.h"
#include "core/output/read_files.h"

namespace recordfs {

struct ShardingOptions {
  std::optional<std::uint64_t> shards{};  // how many
  std::optional<std::uint64_t> size{};    // bytes of a shard, about

  bool is_given() const { return shards || size; }
};

// Writes rows to a file, or to shards one after another. They get their names together, when all are complete. Not
// thread-safe.
class ExportFiles {
 public:
  struct Options {
    ExportForm form{};
    EncoderOptions encoding{};
    ShardingOptions sharding{};
    std::uint64_t records = 0;  // of all shards together, if their number is given
    bool replaces = false;
    ReadFiles read{};  // those that the rows come from, which are never replaced
  };
  // Fails because of a file, or because of what it should hold.
  struct Failure {
    std::string name{};  // of the file; empty: the output's
    Error why;
  };

  // `place`, `executor`, and `stream` for an output that is not a file, must outlive the object.
  ExportFiles(const OutputPlace& place, TextOutput& stream, Executor& executor, Options options);

  // Fails if a file exists that must not be replaced, as far as the names are known. One that is read must not be.
  std::optional<Failure> check() const;
  // Append rows; complete and name the files. Return nullopt on success.
  std::optional<Failure> append(const RowBytes& rows);
  std::optional<Failure> finish();
  // Puts the files on the disk without naming them. Called before finish(), so that all failures are known.
  std::optional<Failure> complete();
  // Takes what FileEncoder::take_failures() returned.
  std::vector<RowFailure> take_failures() { return std::exchange(failures_, {}); }

 private:
  // Returns "NAME-00003-of-00016.EXT"; the name itself without shards.
  std::string name_of(std::uint64_t shard, std::uint64_t shards) const;
  // Returns how many of the rows from `begin` on belong to the present shard; 0: it is complete. Fails as
  // FileEncoder::settle().
  Result<std::size_t> room_for(const RowBytes& rows, std::size_t begin);
  // Returns how many more bytes the present shard may have, if this number is needed: otherwise a lower bound.
  Result<std::uint64_t> room_left(std::uint64_t needed);
  Result<void> begin_shard();
  Result<void> end_shard();
  void gather_failures();
  std::optional<Failure> publish();

  const OutputPlace& place_;
  StreamSink stream_;
  Executor& executor_;
  const Options options_;
  std::vector<std::unique_ptr<OutputFile>> files_;  // none for a stream
  std::unique_ptr<FileEncoder> encoder_;            // of the last file; null: it is complete
  std::vector<RowFailure> failures_;
  std::uint64_t shards_ = 0;    // begun
  std::uint64_t in_shard_ = 0;  // rows of the last file
  std::uint64_t size_ = 0;      // bytes of the last file, or an estimate that depends on the rows alone
};

}  // namespace recordfs
