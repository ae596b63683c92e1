// A TFRecord file that is a single gzip or zlib stream. FORMAT.md, "Compressed files".
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/codec/codec.h"
#include "core/formats/tfrecord/container.h"
#include "core/formats/tfrecord/frames.h"
#include "core/formats/tfrecord/inflating.h"

namespace recordfs::tfrecord {

// Identifies a stream at the head of a file that decodes to records or to nothing. Returns nullopt for anything else.
// `head` is all of a small file.
struct Packing {
  CodecId codec = CodecId::kGzip;
  bool has_record = false;
};
// Fails with kOutOfMemory.
Result<std::optional<Packing>> find_packing(const RequestContext& context, Bytes head);

// A bounded set of checkpoints, whatever the size of the file. Any thread.
class Checkpoints {
 public:
  // Holds checkpoints spread evenly over the part of the file read so far, denser while there are few, and the latest
  // ones, for sequential readers.
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kLatest = 8;

  // Returns the last checkpoint at or before the decoded byte. Drops checkpoints of another generation of the source.
  Checkpoint nearest(std::uint64_t decoded, std::uint64_t generation);
  void add(Checkpoint checkpoint, std::uint64_t generation);

 private:
  void check_generation(std::uint64_t generation);
  void thin();

  static constexpr std::uint64_t kLeastSpacing = 256u << 10;  // stored bytes

  std::mutex mutex_;  // guards the following members
  std::uint64_t generation_ = 0;
  std::uint64_t spacing_ = kLeastSpacing;
  std::vector<Checkpoint> spread_;  // ordered by position
  std::deque<Checkpoint> latest_;
};

class CompressedFile final : public File {
 public:
  CompressedFile(std::shared_ptr<const Source> source, const Limits& limits, CodecId codec)
      : File(limits, to_string(codec), false), source_(std::move(source)), codec_(codec) {}

  // ChunkKey::state is the decoded byte at which the chunk's first record begins. With kSearching, it is the decoded
  // byte from which to search for a record, and `position` is where the damage begins.
  Result<Step> scan(const RequestContext& context, ChunkKey key) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;

 private:
  struct Run;

  static constexpr std::uint64_t kSearching = std::uint64_t{1} << 63;

  Result<Inflating> at(const RequestContext& context, std::uint64_t decoded) const;
  Result<Step> search(const RequestContext& context, ChunkKey key) const;
  Result<std::optional<Checkpoint>> end_of_chunk(const RequestContext& context, Position wanted,
                                                 const Checkpoint& before,
                                                 const std::vector<RecordFollower::Record>& records, Run& run) const;
  Result<Step> end_at(const RequestContext& context, Checkpoint end, ChunkKey key, const Run& run,
                      std::uint64_t generation) const;
  Result<Checkpoint> end_of(const RequestContext& context, const Run& run) const;
  Result<Step> finish(const RequestContext& context, ChunkKey key, const Run& run, const Inflating& reading,
                      const RecordFollower& follower) const;
  ChunkInfo describe(ChunkKey key, const Run& run, Position end) const;

  const std::shared_ptr<const Source> source_;
  const CodecId codec_;
  mutable Checkpoints checkpoints_;
};

}  // namespace recordfs::tfrecord
