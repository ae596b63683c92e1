#include "core/formats/leveldb_log/head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/codec/codec.h"

namespace recordfs::leveldb_log {
namespace {

constexpr int kFirstFragmentBid = 40;
constexpr int kFirstFrameBid = 36;
constexpr int kLaterFrameBid = 33;
constexpr int kFoundBid = 22;                  // found by a search at each byte
constexpr std::uint64_t kSearched = 1u << 20;  // length of that search
constexpr std::uint32_t kZstdNumber = 7;
constexpr std::uint8_t kPredecessor = 130;  // fragment types
constexpr std::uint8_t kRecyclablePredecessor = 131;
constexpr std::uint32_t kZstdMagic = 0xfd2fb528;
constexpr std::size_t kMagicSize = 4;
constexpr std::uint32_t kMaxLogsBetween = 1u << 20;
constexpr std::uint64_t kMaxGuessed = 65536;  // decoded bytes of a first record to examine
constexpr std::size_t kGuessedAtOnce = 4096;
constexpr std::uint64_t kGuessMemory = 8u << 20;

Compression read_compression(Bytes payload) {
  Cursor cursor(payload);
  const std::uint32_t number = cursor.u32_le();
  return {number == kZstdNumber ? Compression::Kind::kZstd : Compression::Kind::kUnknown, number};
}

// The decoded beginning of a record, as far as its first piece allows.
struct Beginning {
  std::vector<std::byte> bytes;
  bool is_all = false;
};

Beginning decompressed_beginning(const RequestContext& context, Bytes piece) {
  Beginning beginning;
  auto stream = open_stream(CodecId::kZstd, piece, Tail::kDamage, kGuessMemory);
  while (stream && !beginning.is_all && beginning.bytes.size() < kMaxGuessed) {
    std::array<std::byte, kGuessedAtOnce> bytes;
    const auto read = (*stream)->read(context, bytes);
    if (!read) break;
    beginning.bytes.insert(beginning.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*read));
    beginning.is_all = *read < bytes.size();
  }
  return beginning;
}

// `piece`: the record's first fragment.
std::string_view guess_content(const RequestContext& context, Compression::Kind compression, Bytes piece,
                               bool is_whole) {
  if (compression == Compression::Kind::kNone) return content_of(piece, is_whole);
  if (compression != Compression::Kind::kZstd) return "unknown";
  const Beginning beginning = decompressed_beginning(context, piece);
  return content_of(beginning.bytes, is_whole && beginning.is_all);
}

// Returns how many bytes the fragment at the start of `rest` takes, damaged or not; nullopt if unknown.
std::optional<std::size_t> size_of(const Parsed& parsed, Bytes rest) {
  const StatedSizes stated = stated_sizes(parsed.fragment);
  if (parsed.verdict == Verdict::kSound) return stated.own;
  if (const auto size = size_by_checksum(rest)) return size;
  for (const std::size_t size : {stated.own, stated.other}) {
    if (size <= rest.size() && is_sound(rest.subspan(size))) return size;
  }
  return std::nullopt;
}

// What can be read of an invalid first fragment.
struct Ruin {
  bool names_zstd = false;       // at most two bytes differ from the fragment that sets zstd
  bool names_codec = false;      // it named a compression, but possibly not the one it names now
  std::uint32_t log_number = 0;  // the bytes at the place of a recyclable header's number
  bool begins_record = false;    // by its type
  std::uint64_t end = 0;         // by its length
};

Ruin read_ruin(Bytes frame) {
  constexpr std::string_view kSetsZstd("\xe1\x2c\x08\xf8\x04\x00\x09\x07\x00\x00\x00", 11);
  constexpr std::size_t kMayDiffer = 2;
  const Fragment fragment = parse_fragment(frame, 0).fragment;
  const std::string_view head = as_text(frame.first(std::min(frame.size(), kSetsZstd.size())));
  std::size_t equal = 0;
  for (std::size_t i = 0; i < head.size(); ++i) equal += head[i] == kSetsZstd[i] ? 1 : 0;
  Ruin ruin;
  ruin.begins_record = fragment.role == Role::kFull || fragment.role == Role::kFirst;
  ruin.end = fragment.end();
  ruin.names_zstd = equal + kMayDiffer >= kSetsZstd.size();
  const bool has_its_size = fragment.length == kCompressionLength || size_by_checksum(frame) == head.size();
  ruin.names_codec = fragment.role == Role::kCompression && has_its_size;
  Cursor cursor(frame);
  cursor.skip(kHeaderSize);
  ruin.log_number = cursor.u32_le();
  return ruin;
}

// For a search: data in a record may look like fragments, but seldom like records of the same kind.
bool is_batch_begun(Bytes beginning, bool is_whole) { return content_of(beginning, is_whole) == kWriteAheadLog; }

bool is_edit_begun(Bytes beginning, bool is_whole) { return !is_whole || content_of(beginning) == kManifest; }

bool is_zstd_begun(Bytes beginning, bool) {
  return beginning.size() < kMagicSize || Cursor(beginning).u32_le() == kZstdMagic;
}

// A zstd frame does not begin a record of an uncompressed log. Not used if the records look like zstd, since the
// fragment that names the compression may be lost.
bool is_plain_begun(Bytes beginning, bool is_whole) {
  return beginning.size() < kMagicSize || !is_zstd_begun(beginning, is_whole);
}

MayBegin beginning_of(const Head& head, bool looks_like_zstd) {
  if (head.compression.kind == Compression::Kind::kZstd) return is_zstd_begun;
  if (head.content == kWriteAheadLog) return is_batch_begun;
  if (head.content == kManifest) return is_edit_begun;
  return looks_like_zstd ? nullptr : is_plain_begun;
}

// Returns the number in "000016.log", as a recyclable header stores it.
std::optional<std::uint32_t> log_number_in(std::string_view name) {
  constexpr std::size_t kDigits = 6;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(name.data() + name.size() - parsed.ptr));
  if (parsed.ec != std::errc{} || name.size() - rest.size() < kDigits || rest != ".log") return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

// Collects information from the valid consecutive fragments of a frame.
class HeadReader {
 public:
  // `named_number`: the number in the file's name.
  explicit HeadReader(std::optional<std::uint32_t> named_number) { head_.named_number = named_number; }

  // Reads the next frame. Returns true if no other frame is needed.
  bool read(Bytes frame, Position at) {
    const bool is_empty = at == 0 && take_end_mark(frame);
    if (at == 0 && !is_empty && parse_fragment(frame, 0).verdict != Verdict::kSound) {
      is_ruined_ = true;
      ruin_ = read_ruin(frame);
    }
    for (std::size_t offset = is_empty ? kRecyclableHeaderSize : 0; frame.size() - offset >= kHeaderSize;) {
      const Parsed parsed = parse_fragment(frame.subspan(offset), at + offset);
      if (parsed.verdict == Verdict::kSound) take(parsed);
      const auto size = size_of(parsed, frame.subspan(offset));
      if (!size) break;
      offset += *size;
    }
    return head_.bid > 0 && (!is_ruined_ || seen_record_);
  }

  // Reads a frame at an irregular position, after no regular one was valid. Returns true if no other frame is needed.
  bool read_found(Bytes bytes, Position at) {
    const bool is_enough = read(bytes, at);
    head_.bid = std::min(head_.bid, kFoundBid);
    return is_enough;
  }

  bool has_found() const { return head_.bid > 0; }

  // Returns whether the file may be a log whose first record is still being written; its bytes are then no evidence.
  bool may_be_unfinished(std::uint64_t size) const { return ruin_.begins_record && ruin_.end > size; }

  std::optional<Head> finish(const RequestContext& context) {
    if (head_.bid == 0) return std::nullopt;
    settle_session();
    if (seen_record_) head_.content = guess_content(context, head_.compression.kind, first_piece_, first_is_whole_);
    // Records of another kind than the first one's may be anything.
    if (head_.content == kWriteAheadLog) head_.writer = std::max(head_.writer, writer_of_batches_);
    if (head_.content == kManifest) head_.writer = std::max(head_.writer, writer_of_edits_);
    if (predecessor_teller_ == head_.session.log_number) head_.predecessor = predecessor_;
    if (marks_ > NumberingMarks::kPerWrite && !has_numbers_per_write_) head_.numbering = Numbering::kPerSubBatch;
    head_.session.may_begin = beginning_of(head_, looks_like_zstd_);
    return head_;
  }

 private:
  void settle_session() {
    std::optional<std::uint32_t>& number = head_.session.log_number;
    if (!seen_data_) head_.session.recycled = number.has_value();
    if (!is_ruined_) return;
    if (number && ruin_.log_number == head_.named_number) number = head_.named_number;
    // Numbers increase from log to log. If the damaged number is a little larger, it is that of the log, which ends
    // in the first frame; the rest is the older log that it overwrote.
    const bool is_newer = number && number != head_.named_number && ruin_.log_number > *number &&
                          ruin_.log_number - *number < kMaxLogsBetween;
    if (!seen_in_first_frame_ && is_newer) number = ruin_.log_number;
    if (ruin_.names_zstd) {
      head_.compression.kind = Compression::Kind::kZstd;
    } else if (ruin_.names_codec || looks_like_zstd_) {
      head_.compression.kind = Compression::Kind::kLost;
    }
  }

  // Returns whether the log is empty: only the mark with which Pebble ends the log of this name.
  bool take_end_mark(Bytes frame) {
    const auto number = parse_end_mark(frame);
    if (!number || !head_.named_number || *number != *head_.named_number + 1) return false;
    head_.bid = kFoundBid;
    head_.writer = Writer::kRocksDb;
    head_.session.log_number = head_.named_number;
    head_.session.recycled = true;
    seen_data_ = true;
    return true;
  }

  void take(const Parsed& parsed) {
    const Fragment& fragment = parsed.fragment;
    if (fragment.role == Role::kUnknown || fragment.role == Role::kIgnorable || fragment.role == Role::kFiller) return;
    const bool in_first_frame = fragment.begin < kFrameSize;
    if (head_.bid == 0) head_.bid = fragment.begin == 0 ? kFirstFragmentBid : kFirstFrameBid;
    if (!seen_in_first_frame_ && !in_first_frame) head_.bid = kLaterFrameBid;
    seen_in_first_frame_ |= in_first_frame;
    if (fragment.type > kLastLevelDbType) head_.writer = Writer::kRocksDb;
    const bool is_named = fragment.log_number && fragment.log_number == head_.named_number;
    if (!head_.session.log_number || is_named) head_.session.log_number = fragment.log_number;
    if (fragment.role == Role::kCompression && fragment.begin == 0 && fragment.length == kCompressionLength) {
      head_.compression = read_compression(parsed.payload);
    }
    if (fragment.type == kPredecessor || fragment.type == kRecyclablePredecessor) take_predecessor(parsed);
    if (fragment.is_data()) take_data(parsed);
  }

  void take_predecessor(const Parsed& parsed) {
    Cursor cursor(parsed.payload);
    const Predecessor read{cursor.u64_le(), cursor.u64_le(), cursor.u64_le()};
    if (!cursor.ok() || predecessor_) return;
    predecessor_ = read;
    predecessor_teller_ = parsed.fragment.log_number;
  }

  void take_data(const Parsed& parsed) {
    if (!seen_data_) {
      head_.session.recycled = parsed.fragment.log_number.has_value();
      head_.session.wire.has_sync_offsets = parsed.fragment.header_size == kSyncHeaderSize;
    }
    seen_data_ = true;
    const bool begins = parsed.fragment.role == Role::kFull || parsed.fragment.role == Role::kFirst;
    if (begins) note_writer(parsed);
    if (seen_record_ || !begins || parsed.payload.size() < kMagicSize) return;
    seen_record_ = true;
    looks_like_zstd_ = Cursor(parsed.payload).u32_le() == kZstdMagic;
    first_is_whole_ = parsed.fragment.role == Role::kFull;
    first_piece_.assign(parsed.payload.begin(), parsed.payload.end());
  }

  void note_writer(const Parsed& parsed) {
    const bool is_whole = parsed.fragment.role == Role::kFull;
    writer_of_batches_ = std::max(writer_of_batches_, writer_of(parsed.payload, is_whole, kWriteAheadLog));
    writer_of_edits_ = std::max(writer_of_edits_, writer_of(parsed.payload, is_whole, kManifest));
    const auto batch = is_whole ? summarize_batch(parsed.payload) : BatchSummary{};
    if (!batch) return;
    marks_ = std::max(marks_, batch->marks);
    has_numbers_per_write_ |= batch->marks == NumberingMarks::kPerWrite;
  }

  Head head_;
  Writer writer_of_batches_ = Writer::kEither;
  Writer writer_of_edits_ = Writer::kEither;
  std::optional<Predecessor> predecessor_{};
  std::optional<std::uint32_t> predecessor_teller_{};  // the log with that fragment
  NumberingMarks marks_ = NumberingMarks::kNone;       // the strongest
  bool has_numbers_per_write_ = false;
  bool is_ruined_ = false;  // the first fragment is invalid
  Ruin ruin_;
  bool seen_in_first_frame_ = false;
  bool seen_data_ = false;
  bool seen_record_ = false;
  bool looks_like_zstd_ = false;
  bool first_is_whole_ = false;
  std::vector<std::byte> first_piece_;  // of the first record
};

// Searches frames that begin at irregular positions, because bytes before them were deleted or inserted.
Result<void> search(const RequestContext& context, const Source& source, HeadReader& reader) {
  for (Position at = 0; at < std::min(kSearched, source.size()); at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, 2 * kFrameSize));
    const std::size_t frame = std::min<std::size_t>(bytes.size(), kFrameSize);
    const auto place = ValidFragments(bytes.view(), frame, bytes.size() > frame, {}, nullptr).next(0);
    if (place && reader.read_found(bytes.view().subspan(*place), at + *place)) break;
  }
  return {};
}

}  // namespace

Result<std::optional<Head>> read_head(const RequestContext& context, const Source& source, ProbeDepth depth) {
  const std::uint64_t limit = depth == ProbeDepth::kHead ? kFrameSize : Limits{}.scan_bytes;
  HeadReader reader(log_number_in(source.name()));
  for (Position at = 0; at < std::min(limit, source.size()); at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto frame, read_up_to(context, source, at, kFrameSize));
    if (reader.read(frame.view(), at)) break;
  }
  if (depth == ProbeDepth::kSearch && !reader.has_found() && !reader.may_be_unfinished(source.size())) {
    TRY(search(context, source, reader));
  }
  return reader.finish(context);
}

}  // namespace recordfs::leveldb_log
