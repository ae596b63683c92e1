#include "core/formats/tfrecord/compressed.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/resync.h"
#include "core/formats/tfrecord/container.h"
#include "core/formats/tfrecord/inflating.h"
#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

// A chunk ends with the first record that ends after this many stored bytes.
constexpr std::uint64_t kChunkSize = 64u << 10;
constexpr std::size_t kDecodedPiece = 32u << 10;  // bytes decoded at once
constexpr std::uint64_t kLargeRecord = 1u << 20;  // a longer record is a chunk alone; must exceed a piece
constexpr std::uint64_t kMostFound = 64u << 20;   // largest record that a search accepts
// Bytes decoded to compare candidates in one step of a search. A file may have a false header every few bytes.
constexpr std::uint64_t kMostCompared = 2 * kMostFound;
constexpr std::uint64_t kCheckpointSpan = 16u << 20;  // decoded bytes between checkpoints while skipping far ahead

std::optional<CodecId> codec_of(Bytes head) {
  constexpr std::uint16_t kGzipMagic = 0x8B1F;
  if (Cursor(head).u16_le() == kGzipMagic) return CodecId::kGzip;
  return begins_zlib(head) ? std::optional(CodecId::kZlib) : std::nullopt;
}

// Returns why bytes that a scan found were not decoded.
Error ended_early(const Inflating& reading) {
  return reading.unreadable().value_or(
      Error{Code::kChanged, reading.stored(), "the file is no longer the one that was scanned"});
}

// Skips to byte `decoded`. Fails with kChanged or kUnreadable if the decoded bytes end before it.
Result<void> go_to(const RequestContext& context, Inflating& reading, std::uint64_t decoded) {
  TRY(reading.skip(context, decoded - reading.decoded()));
  if (reading.decoded() == decoded) return {};
  return ended_early(reading);
}

// Like go_to(), but resumes after broken parts of the stream.
Result<void> reach(const RequestContext& context, Inflating& reading, std::uint64_t decoded) {
  while (reading.decoded() < decoded) {
    TRY(reading.skip(context, decoded - reading.decoded()));
    if (reading.decoded() == decoded) break;
    ASSIGN_OR_RETURN(const auto resumed, reading.resume(context));
    if (!resumed) break;
  }
  return go_to(context, reading, decoded);
}

// Returns whether a complete valid record begins at the current position of `reading`.
Result<bool> is_record(const RequestContext& context, Inflating& reading) {
  std::array<std::byte, kHeaderSize> header;
  ASSIGN_OR_RETURN(const auto got, reading.read(context, header));
  const auto length = got < header.size() ? std::nullopt : sound_length(header);
  if (!length || *length > kMostFound) return false;
  ASSIGN_OR_RETURN(
      auto piece, Buffer::allocate(context, static_cast<std::size_t>(std::min<std::uint64_t>(*length, kDecodedPiece))));
  std::uint32_t crc = 0;
  for (std::uint64_t left = *length; left > 0;) {
    const MutableBytes wanted = piece.span().first(std::min<std::size_t>(piece.size(), left));
    ASSIGN_OR_RETURN(const auto read, reading.read(context, wanted));
    if (read < wanted.size()) return false;
    crc = crc32c(wanted, crc);
    left -= wanted.size();
  }
  std::array<std::byte, kFooterSize> footer;
  ASSIGN_OR_RETURN(const auto end, reading.read(context, footer));
  return end == footer.size() && footer_matches(footer, crc);
}

DamagedRegion lost_end(Position begin, Position size, const Inflating& reading, const RecordFollower& follower) {
  DamagedRegion lost = damaged_region(begin, size, "the file ends inside a record", DamageClass::kUnfinished);
  if (follower.is_lost()) {
    lost.damage_class = DamageClass::kDamage;
    lost.reason = "a length that does not match its checksum";
  } else if (reading.ending() == Ending::kBroken) {
    lost.damage_class = DamageClass::kDamage;
    lost.reason = fmt::format("corrupt compressed stream: {}", reading.reason());
  } else if (reading.ending() == Ending::kCut) {
    lost.reason = "the file ends inside its compressed stream";
  } else {
    lost.records_lost = 1;
  }
  return lost;
}

// A bounded set of checkpoints, whatever the size of the file. Any thread.
class Checkpoints {
 public:
  // Holds checkpoints spread evenly over the part of the file read so far, denser while there are few, and the latest
  // ones, for sequential readers.
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kLatest = 8;

  // Returns the last checkpoint at or before the decoded byte. Drops checkpoints of another generation of the source.
  Checkpoint nearest(std::uint64_t decoded, std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    check_generation(generation);
    Checkpoint best;
    const auto after = std::ranges::upper_bound(spread_, decoded, {}, &Checkpoint::decoded);
    if (after != spread_.begin()) best = *(after - 1);
    for (const Checkpoint& checkpoint : latest_) {
      if (checkpoint.decoded <= decoded && checkpoint.decoded > best.decoded) best = checkpoint;
    }
    return best;
  }

  void add(Checkpoint checkpoint, std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    check_generation(generation);
    const auto after = std::ranges::upper_bound(spread_, checkpoint.decoded, {}, &Checkpoint::decoded);
    const Position before = after == spread_.begin() ? 0 : (after - 1)->stored;
    const bool is_apart = checkpoint.stored - before >= spacing_ &&
                          (after == spread_.end() || after->stored - checkpoint.stored >= spacing_);
    if (is_apart) spread_.insert(after, checkpoint);
    if (spread_.size() > kMost) thin();
    std::erase_if(latest_, [&](const Checkpoint& other) { return other.decoded == checkpoint.decoded; });
    latest_.push_back(std::move(checkpoint));
    if (latest_.size() > kLatest) latest_.pop_front();
  }

 private:
  void check_generation(std::uint64_t generation) {
    if (std::exchange(generation_, generation) == generation) return;
    spread_.clear();
    latest_.clear();
    spacing_ = kLeastSpacing;
  }

  // Removes every other checkpoint.
  void thin() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < spread_.size(); i += 2) spread_[kept++] = std::move(spread_[i]);
    spread_.resize(kept);
    spacing_ *= 2;
  }

  static constexpr std::uint64_t kLeastSpacing = 256u << 10;  // stored bytes

  std::mutex mutex_;  // guards the following members
  std::uint64_t generation_ = 0;
  std::uint64_t spacing_ = kLeastSpacing;
  std::vector<Checkpoint> spread_;  // ordered by position
  std::deque<Checkpoint> latest_;
};

// The records of the chunk being scanned, and the start of the piece in which the last one ended.
struct Run {
  std::uint64_t begin = 0;  // decoded byte at which its first record begins
  std::uint64_t end = 0;    // decoded byte after its last record
  std::uint64_t records = 0;
  std::uint64_t decoded = 0;
  Checkpoint before_end{};

  void add(const RecordFollower::Record& record) {
    end = begin + record.end;
    records += 1;
    decoded += record.length;
  }
};

class CompressedFile final : public Container {
 public:
  CompressedFile(std::shared_ptr<const Source> source, const Limits& limits, CodecId codec)
      : source_(std::move(source)),
        limits_(limits),
        codec_(codec),
        traits_(traits_of(to_string(codec), false)),
        schema_(schema_of(limits)) {}

  const ContainerTraits& traits() const override { return traits_; }
  const RecordSchema& schema() const override { return schema_; }

  // ChunkKey::state is the decoded byte at which the chunk's first record begins. With kSearching, it is the decoded
  // byte from which to search for a record, and `position` is where the damage begins.
  Result<Step> scan(const RequestContext& context, ChunkKey key) const override {
    const Position size = source_->size();
    if (key.position >= size) return Step{};
    if ((key.state & kSearching) != 0) return search(context, key);
    const std::uint64_t generation = source_->generation();
    ASSIGN_OR_RETURN(auto reading, at(context, key.state));
    ASSIGN_OR_RETURN(auto piece, Buffer::allocate(context, kDecodedPiece));
    const std::uint64_t wanted = std::min(kChunkSize, limits_.stored_chunk / 2);

    Run run;
    run.begin = run.end = key.state;
    RecordFollower follower;
    while (!follower.is_lost() && reading.ending() == Ending::kNone) {
      ASSIGN_OR_RETURN(auto before, reading.here());
      ASSIGN_OR_RETURN(const auto got, reading.read(context, piece.span()));
      const auto records = follower.follow(piece.view().first(got));
      if (!records.empty()) {
        const bool is_large = run.records == 0 && records.front().length > kLargeRecord;
        const std::uint64_t enough = is_large ? 1 : wanted;
        if (reading.stored() >= key.position + enough) {
          ASSIGN_OR_RETURN(auto end, end_of_chunk(context, key.position + enough, before, records, run));
          if (end && end->stored == size) {
            run.before_end = std::move(before);
            return finish(context, key, run, reading, follower);
          }
          if (end) return end_at(context, std::move(*end), key, run, generation);
        } else {
          for (const auto& record : records) run.add(record);
        }
        run.before_end = std::move(before);
      }
      if (run.records == 0 || follower.length_inside() <= kLargeRecord) continue;
      ASSIGN_OR_RETURN(auto end, end_of(context, run));
      if (end.stored > key.position && end.stored < size) return end_at(context, std::move(end), key, run, generation);
    }
    return finish(context, key, run, reading, follower);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(const auto decoded, decode(context, chunk));
    if (const Error* const failure = decoded->layout().first_failure()) return *failure;
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    const std::uint64_t records = chunk.records.value_or(0);
    const std::uint64_t decoded = chunk.decoded_size.value_or(0);
    const bool is_allowed = chunk.stored_size <= limits_.stored_chunk && decoded <= limits_.decoded_chunk &&
                            records <= limits_.records_per_chunk;
    if (!is_allowed) {
      return Error{Code::kLimit, chunk.begin,
                   fmt::format("{} records of {} bytes in one run exceed the limit", records, decoded)};
    }
    const std::uint64_t generation = source_->generation();
    ASSIGN_OR_RETURN(auto reading, at(context, chunk.key.state));
    ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(decoded + records * kFrameSize)));
    ASSIGN_OR_RETURN(const auto got, reading.read(context, bytes.span()));
    if (got < bytes.size()) return reading.unreadable().value_or(framed::not_as_found(chunk.begin));
    ASSIGN_OR_RETURN(auto here, reading.here());
    checkpoints_.add(std::move(here), generation);
    // The record has no place of its own in the file.
    const auto wrong = [&chunk](std::uint64_t offset, std::uint64_t) {
      return Error{Code::kDamage, chunk.begin,
                   fmt::format("a record that does not match its checksum, at byte {} of the decompressed stream",
                               chunk.key.state + offset)};
    };
    return split(context, std::move(bytes), chunk.begin, wrong);
  }

 private:
  static constexpr std::uint64_t kSearching = std::uint64_t{1} << 63;

  // Returns a reader at byte `decoded`, from the last checkpoint before it.
  Result<Inflating> at(const RequestContext& context, std::uint64_t decoded) const {
    const std::uint64_t generation = source_->generation();
    ASSIGN_OR_RETURN(auto reading, Inflating::from(*source_, codec_, checkpoints_.nearest(decoded, generation)));
    while (decoded - reading.decoded() > kCheckpointSpan) {
      TRY(reach(context, reading, reading.decoded() + kCheckpointSpan));
      ASSIGN_OR_RETURN(auto here, reading.here());
      checkpoints_.add(std::move(here), generation);
    }
    TRY(reach(context, reading, decoded));
    return reading;
  }

  // Searches for the next record after an invalid header or a broken stream.
  Result<Step> search(const RequestContext& context, ChunkKey key) const {
    const std::uint64_t generation = source_->generation();
    const std::uint64_t begin = key.state & ~kSearching;
    ASSIGN_OR_RETURN(auto reading, at(context, begin));
    ASSIGN_OR_RETURN(auto window, Buffer::allocate(context, kHeaderSize - 1 + kDecodedPiece));
    std::string reason = "a length that does not match its checksum";
    std::uint64_t compared = 0;
    std::size_t held = 0;  // bytes of the window from before this piece
    Checkpoint held_from{};
    for (bool goes_on = true; goes_on;) {
      if (reading.decoded() - begin >= limits_.scan_bytes) {
        const std::uint64_t reached = reading.decoded() - held;
        return Step{.chunk = {}, .damage = {}, .next = ChunkKey{key.position, kSearching | reached}};
      }
      ASSIGN_OR_RETURN(auto here, reading.here());
      const std::uint64_t first = reading.decoded() - held;
      ASSIGN_OR_RETURN(const auto got, reading.read(context, window.span().subspan(held, kDecodedPiece)));
      const Bytes bytes = window.view().first(held + got);
      for (std::size_t i = 0; i + kHeaderSize <= bytes.size(); ++i) {
        const auto length = sound_length(bytes.subspan(i));
        if (!length || *length > kMostFound) continue;
        const std::uint64_t cost = kDecodedPiece + *length;  // from the checkpoint to the end of the record
        if (cost > kMostCompared - compared) continue;
        compared += cost;
        ASSIGN_OR_RETURN(auto record, Inflating::from(*source_, codec_, i < held ? held_from : here));
        TRY(go_to(context, record, first + i));
        const Position found = std::max(record.stored(), key.position + 1);
        ASSIGN_OR_RETURN(auto place, record.here());
        ASSIGN_OR_RETURN(const auto sound, is_record(context, record));
        if (!sound || found >= source_->size()) continue;
        checkpoints_.add(std::move(place), generation);
        Step step{.chunk = {}, .damage = {}, .next = ChunkKey{found, first + i}};
        step.damage.push_back(damaged_region(key.position, found, reason));
        return step;
      }
      const std::size_t kept = std::min<std::size_t>(bytes.size(), kHeaderSize - 1);
      std::copy(bytes.end() - static_cast<std::ptrdiff_t>(kept), bytes.end(), window.span().begin());
      held_from = std::move(here);
      held = kept;
      if (reading.ending() == Ending::kNone) continue;
      if (reading.ending() == Ending::kBroken && reading.decoded() <= begin + kHeaderSize) {
        reason = fmt::format("corrupt compressed stream: {}", reading.reason());
      }
      ASSIGN_OR_RETURN(const auto resumed, reading.resume(context));
      goes_on = resumed;
      held = 0;
    }
    Step step;
    step.damage.push_back(damaged_region(key.position, source_->size(), reason));
    return step;
  }

  // Adds records up to the first one that ends at or after `wanted`, and returns the checkpoint at its end. Returns
  // nullopt if all were added. The records end in the piece that begins at `before`.
  Result<std::optional<Checkpoint>> end_of_chunk(const RequestContext& context, Position wanted,
                                                 const Checkpoint& before,
                                                 const std::vector<RecordFollower::Record>& records, Run& run) const {
    ASSIGN_OR_RETURN(auto reading, Inflating::from(*source_, codec_, before));
    for (const auto& record : records) {
      run.add(record);
      TRY(go_to(context, reading, run.end));
      if (reading.stored() < wanted) continue;
      ASSIGN_OR_RETURN(auto here, reading.here());
      return std::optional(std::move(here));
    }
    return std::optional<Checkpoint>{};
  }

  // Returns the step of a chunk that does not end at the end of the file. The end of a complete stream belongs to the
  // chunk with its last record.
  Result<Step> end_at(const RequestContext& context, Checkpoint end, ChunkKey key, const Run& run,
                      std::uint64_t generation) const {
    ASSIGN_OR_RETURN(auto after, Inflating::from(*source_, codec_, end));
    ASSIGN_OR_RETURN(const auto more, after.skip(context, 1));
    if (after.ending() == Ending::kWhole && more == 0) {
      return Step{.chunk = describe(key, run, after.stored()), .damage = {}, .next = {}};
    }
    Step step{.chunk = describe(key, run, end.stored), .damage = {}, .next = ChunkKey{end.stored, run.end}};
    checkpoints_.add(std::move(end), generation);
    return step;
  }

  // Returns the end of the run's last record.
  Result<Checkpoint> end_of(const RequestContext& context, const Run& run) const {
    ASSIGN_OR_RETURN(auto reading, Inflating::from(*source_, codec_, run.before_end));
    TRY(go_to(context, reading, run.end));
    return reading.here();
  }

  // Returns the last step, with or without a chunk, when nothing more can be decoded. If the file is cut or broken, its
  // last byte belongs to no chunk. So a chunk ends before the lost part and stays the same when the file grows.
  Result<Step> finish(const RequestContext& context, ChunkKey key, const Run& run, const Inflating& reading,
                      const RecordFollower& follower) const {
    const Position size = source_->size();
    Step step;
    if (reading.ending() == Ending::kWhole && !follower.is_lost() && !follower.is_inside()) {
      if (run.records > 0) step.chunk = describe(key, run, size);
      return step;
    }
    Position end = key.position;
    if (run.records > 0) {
      ASSIGN_OR_RETURN(const auto place, end_of(context, run));
      // Each region before the chunk took a byte, so its begin may be past the bytes of its records.
      end = std::min(std::max(place.stored, key.position + 1), size - 1);
    }
    if (end > key.position) step.chunk = describe(key, run, end);
    if (follower.is_lost() || reading.ending() == Ending::kBroken) {
      const ChunkKey lost{end, kSearching | (step.chunk ? run.end : key.state)};
      if (!step.chunk) return search(context, lost);
      step.next = lost;
      return step;
    }
    step.damage.push_back(lost_end(end, size, reading, follower));
    step.damage.back().records_before = step.chunk ? run.records : 0;
    return step;
  }

  ChunkInfo describe(ChunkKey key, const Run& run, Position end) const {
    ChunkInfo info;
    info.key = key;
    info.begin = key.position;
    info.end = end;
    info.kind = ChunkKind("run");
    info.codec = to_string(codec_);
    info.records = run.records;
    info.decoded_size = run.decoded;
    info.stored_size = end - key.position;
    info.layout_cost = LayoutCost::kDecode;
    return info;
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const CodecId codec_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
  mutable Checkpoints checkpoints_;
};

}  // namespace

Result<std::optional<Packing>> find_packing(const RequestContext& context, Bytes head) {
  const std::optional<Packing> none;
  const auto codec = codec_of(head);
  if (!codec) return none;
  auto stream = open_stream(*codec, head, Tail::kIgnored);
  if (!stream) {
    if (is_permanent(stream.error().code)) return none;
    return std::move(stream).error();
  }
  std::array<std::byte, kHeaderSize> header;
  auto got = (*stream)->read(context, header);
  if (!got && !is_permanent(got.error().code)) return std::move(got).error();
  if (got && *got == 0) return std::optional(Packing{*codec, false});
  if (!got || !sound_length(header)) return none;
  return std::optional(Packing{*codec, true});
}

std::unique_ptr<Container> open_compressed(std::shared_ptr<const Source> source, const Limits& limits, CodecId codec) {
  return std::make_unique<CompressedFile>(std::move(source), limits, codec);
}

}  // namespace recordfs::tfrecord
