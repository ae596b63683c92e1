#include "core/formats/leveldb_log/container.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"
#include "core/formats/leveldb_log/bulk.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/format.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_log {
namespace {

constexpr int kFirstFragmentBid = 40;
constexpr int kFirstFrameBid = 36;
constexpr int kLaterFrameBid = 33;
constexpr int kFoundBid = 22;                  // found by a search at each byte
constexpr std::uint64_t kSearched = 1u << 20;  // length of that search
constexpr std::uint32_t kZstdNumber = 7;
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

// Collects information from the valid consecutive fragments of a frame.
class HeadReader {
 public:
  // Reads the next frame. Returns true if no other frame is needed.
  bool read(Bytes frame, Position at) {
    if (at == 0 && parse_fragment(frame, 0).verdict != Verdict::kSound) {
      is_ruined_ = true;
      ruin_ = read_ruin(frame);
    }
    for (std::size_t offset = 0; frame.size() - offset >= kHeaderSize;) {
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
    head_.session.may_begin = beginning_of(head_, looks_like_zstd_);
    return head_;
  }

 private:
  void settle_session() {
    std::optional<std::uint32_t>& number = head_.session.log_number;
    if (!seen_data_) head_.session.recycled = number.has_value();
    if (!is_ruined_) return;
    // Numbers increase from log to log. If the damaged number is a little larger, it is that of the log, which ends
    // in the first frame; the rest is the older log that it overwrote.
    const bool is_newer = number && ruin_.log_number > *number && ruin_.log_number - *number < kMaxLogsBetween;
    if (!seen_in_first_frame_ && is_newer) number = ruin_.log_number;
    if (ruin_.names_zstd) {
      head_.compression.kind = Compression::Kind::kZstd;
    } else if (ruin_.names_codec || looks_like_zstd_) {
      head_.compression.kind = Compression::Kind::kLost;
    }
  }

  void take(const Parsed& parsed) {
    const Fragment& fragment = parsed.fragment;
    if (fragment.role == Role::kUnknown || fragment.role == Role::kIgnorable || fragment.role == Role::kFiller) return;
    const bool in_first_frame = fragment.begin < kFrameSize;
    if (head_.bid == 0) head_.bid = fragment.begin == 0 ? kFirstFragmentBid : kFirstFrameBid;
    if (!seen_in_first_frame_ && !in_first_frame) head_.bid = kLaterFrameBid;
    seen_in_first_frame_ |= in_first_frame;
    if (fragment.type > kLastLevelDbType) head_.writer = Writer::kRocksDb;
    if (!head_.session.log_number) head_.session.log_number = fragment.log_number;
    if (fragment.role == Role::kCompression && fragment.begin == 0 && fragment.length == kCompressionLength) {
      head_.compression = read_compression(parsed.payload);
    }
    if (fragment.is_data()) take_data(parsed);
  }

  void take_data(const Parsed& parsed) {
    if (!seen_data_) head_.session.recycled = parsed.fragment.log_number.has_value();
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
  }

  Head head_;
  Writer writer_of_batches_ = Writer::kEither;
  Writer writer_of_edits_ = Writer::kEither;
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
    const auto place = SoundPlaces(bytes.view(), frame, bytes.size() > frame, {}, nullptr).next(0);
    if (place && reader.read_found(bytes.view().subspan(*place), at + *place)) break;
  }
  return {};
}

constexpr std::uint64_t kInRefused = 1;           // ChunkKey::state
constexpr std::size_t kMaxRegionsInAStep = 1024;  // ends a step early to bound its size

bool agrees(const Tally& tally, const ChunkInfo& chunk) {
  return tally.begin == chunk.begin && tally.end == chunk.end && tally.records == chunk.records &&
         tally.decoded == chunk.decoded_size;
}

void append(std::vector<DamagedRegion>& all, std::vector<DamagedRegion>& more) {
  for (DamagedRegion& region : more) add_region(all, std::move(region));
}

Error no_longer_sound(Position at) { return {Code::kDamage, at, "a fragment no longer matches its checksum"}; }

// Reads bytes of records that consist of `pieces`, in order. Verifies each fragment that it reads.
Result<Buffer> read_pieces(const RequestContext& context, const Source& source, const Wire& wire,
                           const std::vector<Piece>& pieces, std::uint64_t offset, std::uint64_t length) {
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(length)));
  MutableBytes out = bytes.span();
  FrameReader frames(source, wire);
  auto piece = std::ranges::upper_bound(pieces, offset, {}, &Piece::offset);
  if (piece != pieces.begin()) --piece;
  for (; !out.empty(); ++piece) {
    if (piece == pieces.end()) return no_longer_sound(source.size());
    ASSIGN_OR_RETURN(auto rest, frames.rest_of_frame(context, piece->begin));
    Parsed parsed = parse_fragment(rest, piece->begin, wire);
    if (parsed.verdict == Verdict::kTooLong || parsed.verdict == Verdict::kShort) {
      ASSIGN_OR_RETURN(rest, frames.largest_fragment(context, piece->begin));
      parsed = parse_fragment(rest, piece->begin, wire);
    }
    const std::uint64_t skipped = offset - piece->offset;
    if (parsed.verdict != Verdict::kSound || parsed.payload.size() <= skipped) return no_longer_sound(piece->begin);
    const Bytes wanted = parsed.payload.subspan(static_cast<std::size_t>(skipped));
    const Bytes taken = wanted.first(std::min(wanted.size(), out.size()));
    std::copy(taken.begin(), taken.end(), out.begin());
    out = out.subspan(taken.size());
    offset += taken.size();
  }
  return bytes;
}

// An open log. Its chunks are the records that begin in one frame.
class LogContainer final : public Container {
 public:
  LogContainer(std::shared_ptr<const Source> source, const Limits& limits, Head head)
      : source_(std::move(source)),
        limits_(limits),
        head_(head),
        traits_(make_traits()),
        schema_(make_schema()),
        has_bulk_(!head.session.recycled && head.compression.kind == Compression::Kind::kNone),
        bulk_(head.session.wire, limits) {}

  const ContainerTraits& traits() const override { return traits_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    Step step;
    ItemReader reader = items();
    SizeSink sink(head_.compression);
    Assembly::Place place{at.position, at.state == kInRefused};
    while (place.position < reader.size()) {
      Assembly assembly(reader, limits_, sink);
      ASSIGN_OR_RETURN(const auto reached, assembly.run(context, place));
      place = reached;
      append(step.damage, assembly.damage());
      // If the file's name has the log's number, the old end of a recycled log is slack.
      if (head_.number_in_name) {
        std::erase_if(step.damage, [](const auto& region) { return region.damage_class == DamageClass::kStale; });
      }
      if (assembly.tally().records == 0 && assembly.damage().empty()) {
        ASSIGN_OR_RETURN(const auto after, reader.data_after_hole(context, place.position));
        // A frame of zeros is filling, which ends a refused record before it.
        if (after > place.position) place = {after, false};
      }
      step.next.reset();
      if (place.position < reader.size()) step.next = ChunkKey{place.position, place.in_refused ? kInRefused : 0};
      if (assembly.tally().records > 0) step.chunk = describe(assembly.tally());
      if (step.chunk || step.damage.size() >= kMaxRegionsInAStep) return step;
      if (place.position - at.position >= limits_.scan_bytes) return step;
    }
    return step;
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    const Wire& wire = head_.session.wire;
    if (at < wire.first || at >= source_->size()) return std::optional<ChunkInfo>{};
    const Position home = wire.frame_begin(at);
    for (Position frame = home; frame == home || home - frame - kFrameSize <= limits_.stored_chunk;
         frame -= kFrameSize) {
      ASSIGN_OR_RETURN(auto chunk, chunk_of_frame(context, frame));
      if (chunk && chunk->begin <= at) {
        if (at >= chunk->end) chunk.reset();
        return chunk;
      }
      if (frame == wire.origin) break;
      if (frame == home) continue;
      ASSIGN_OR_RETURN(const auto passes, passes_through(context, frame));
      if (!passes) break;
    }
    return std::optional<ChunkInfo>{};
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    LayoutSink sink(head_.compression);
    TRY(walk_chunk(context, chunk, sink));
    return sink.take_layout();
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (head_.compression.kind != Compression::Kind::kNone) {
      TRY(decode(context, chunk));
    } else {
      SizeSink sink(head_.compression);
      TRY(walk_chunk(context, chunk, sink));
    }
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(chunk.decoded_size.value_or(0))));
    DecodeSink sink(head_.compression, payload.span());
    TRY(walk_chunk(context, chunk, sink));
    return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), sink.take_layout()));
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (head_.compression.kind != Compression::Kind::kNone) return std::shared_ptr<const Chunk>{};
    PieceSink sink;
    TRY(walk_chunk(context, chunk, sink));
    std::vector<Piece> pieces = sink.take_pieces();
    const std::uint64_t held = pieces.capacity() * sizeof(Piece);
    auto read = [wire = head_.session.wire, pieces = std::move(pieces)](
                    const RequestContext& request, const Source& source, const Layout&, std::uint64_t offset,
                    std::uint64_t length) { return read_pieces(request, source, wire, pieces, offset, length); };
    return std::shared_ptr<const Chunk>(
        std::make_shared<FileChunk>(source_, sink.take_layout(), std::move(read), held));
  }

  const RecordSchema& schema() const override { return schema_; }
  const BulkReader* bulk() const override { return has_bulk_ ? &bulk_ : nullptr; }

 private:
  ContainerTraits make_traits() const {
    std::vector<Fact> facts;
    facts.push_back({"variant", std::string(to_string(head_.writer))});
    facts.push_back({"compression", std::string(head_.compression.codec())});
    if (head_.compression.kind == Compression::Kind::kUnknown) {
      facts.push_back({"compression_number", std::uint64_t{head_.compression.number}});
    }
    facts.push_back({"recycled", head_.session.recycled});
    if (head_.session.log_number) facts.push_back({"log_number", std::uint64_t{*head_.session.log_number}});
    facts.push_back({"content", std::string(head_.content)});
    return {.format = kFormat.name, .facts = std::move(facts), .has_seek_structure = true};
  }

  RecordSchema make_schema() const {
    RecordSchema schema;
    if (head_.content == kManifest) {
      schema.value = [this](Bytes record, ValueForm) { return edit_value(record, limits_); };
    } else if (head_.content == kWriteAheadLog) {
      schema.value = [this](Bytes record, ValueForm form) { return batch_value(record, limits_, form); };
      schema.key_changes = batch_changes;
      // A valid record that is not a batch may occur too.
      schema.parts = RecordSchema::Parts::kOptional;
    }
    return schema;
  }

  ItemReader items() const { return {*source_, head_.session}; }

  ChunkInfo describe(const Tally& tally) const {
    ChunkInfo info;
    info.key = {tally.begin, 0};
    info.begin = tally.begin;
    info.end = tally.end;
    info.kind = "frame";
    info.codec = head_.compression.codec();
    info.records = tally.records;
    info.decoded_size = tally.decoded;
    info.stored_size = tally.stored;
    info.detail = {tally.fragments, 0};
    return info;
  }

  // The records that begin in a frame do not depend on the bytes before it. So a scan from the frame's begin finds the
  // same as one from the file's begin.
  Result<std::optional<ChunkInfo>> chunk_of_frame(const RequestContext& context, Position frame) const {
    ItemReader reader = items();
    SizeSink sink(head_.compression);
    Assembly assembly(reader, limits_, sink);
    ASSIGN_OR_RETURN(const auto first, reader.first_in(context, frame));
    if (first >= std::min(reader.wire().frame_end(frame), reader.size())) return std::optional<ChunkInfo>{};
    TRY(assembly.run(context, {first, false}));
    if (assembly.tally().records == 0) return std::optional<ChunkInfo>{};
    return std::optional(describe(assembly.tally()));
  }

  // Returns whether a record that began before `frame` may continue after it.
  Result<bool> passes_through(const RequestContext& context, Position frame) const {
    ItemReader reader = items();
    const Wire& wire = reader.wire();
    ASSIGN_OR_RETURN(const auto first, reader.first_in(context, frame));
    for (Position at = first; at < reader.size() && wire.frame_begin(at) == frame;) {
      ASSIGN_OR_RETURN(const auto item, reader.next(context, at));
      // After deleted or inserted bytes, even the last piece may cross a frame's end.
      const bool goes_on =
          item.kind == Item::Kind::kData &&
          (item.fragment.role == Role::kMiddle || (item.fragment.role == Role::kLast && item.end > wire.frame_end(at)));
      if (!goes_on && item.kind != Item::Kind::kSkipped && item.kind != Item::Kind::kIgnored) return false;
      at = item.end;
    }
    return true;
  }

  Result<void> walk_chunk(const RequestContext& context, const ChunkInfo& chunk, SizeSink& sink) const {
    ItemReader reader = items();
    const Error changed{Code::kDamage, chunk.begin, "the records are not those that the scan found"};
    if (chunk.begin >= reader.size()) return changed;
    Assembly assembly(reader, limits_, sink);
    TRY(assembly.run(context, {chunk.begin, false}));
    if (!agrees(assembly.tally(), chunk)) return changed;
    return {};
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Head head_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
  const bool has_bulk_;
  const LogBulkReader bulk_;
};

// Reads the first frame and, with kSearch if that is damaged, later ones within the default of Limits::scan_bytes: a
// session must not change with the limits. Returns nullopt if there is no valid fragment. Fails as Source does. Any
// thread.
Result<std::optional<Head>> read_head(const RequestContext& context, const Source& source, ProbeDepth depth) {
  const std::uint64_t limit = depth == ProbeDepth::kHead ? kFrameSize : Limits{}.scan_bytes;
  HeadReader reader;
  for (Position at = 0; at < std::min(limit, source.size()); at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto frame, read_up_to(context, source, at, kFrameSize));
    if (reader.read(frame.view(), at)) break;
  }
  if (depth == ProbeDepth::kSearch && !reader.has_found() && !reader.may_be_unfinished(source.size())) {
    TRY(search(context, source, reader));
  }
  return reader.finish(context);
}

constexpr std::size_t kLeastDigits = 6;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// NNNNNN.log or MANIFEST-NNNNNN: the only evidence for an empty log.
bool is_log_name(std::string_view name) {
  if (name.ends_with(".log")) return true;
  constexpr std::string_view kManifest = "MANIFEST-";
  if (!name.starts_with(kManifest)) return false;
  name.remove_prefix(kManifest.size());
  return name.size() >= kLeastDigits && std::ranges::all_of(name, is_digit);
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_log_name(file_name) ? 1 : 0;
  ASSIGN_OR_RETURN(const auto head, read_head(context, source, depth));
  return head ? head->bid : 0;
}

// Returns the number in "000016.log", as a recyclable header stores it.
std::optional<std::uint32_t> log_number_in(std::string_view name) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(name.data() + name.size() - parsed.ptr));
  if (parsed.ec != std::errc{} || name.size() - rest.size() < kLeastDigits || rest != ".log") return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  ASSIGN_OR_RETURN(const auto head, read_head(context, *source, ProbeDepth::kSearch));
  if (!head && source->size() > 0) {
    return Error{Code::kNoContainer, 0, "no fragment of a LevelDB log has a matching checksum"};
  }
  Head known = head.value_or(Head{});
  known.number_in_name = known.session.log_number && log_number_in(source->name()) == known.session.log_number;
  return open_log(std::move(source), limits, known);
}

}  // namespace

std::unique_ptr<Container> open_log(std::shared_ptr<const Source> source, const Limits& limits, const Head& head) {
  return std::make_unique<LogContainer>(std::move(source), limits, head);
}

const Format kFormat = {.name = "leveldb-log", .probe = probe, .open = open};

}  // namespace recordfs::leveldb_log
