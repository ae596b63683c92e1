#include "core/formats/leveldb_log/container.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/base/parse_number.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"
#include "core/formats/leveldb_log/bulk.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/format.h"
#include "core/formats/leveldb_log/head.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/leveldb_log/version_edit.h"
#include "core/formats/leveldb_log/write_batch.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_log {
namespace {

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
        hides_stale_(head.has_named_number() && !head.is_in_database),
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
      if (hides_stale_) {
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
    if (head_.is_of_another_log()) {
      facts.push_back({"log_number_in_name", std::uint64_t{*head_.named_number}});
      facts.push_back({"note", fmt::format("the records are those of log {}, whose file was renamed to be written "
                                           "over; its database ignores them",
                                           *head_.session.log_number)});
    }
    facts.push_back({"content", std::string(head_.content)});
    return {.format = kFormat.name, .facts = std::move(facts), .has_seek_structure = true};
  }

  RecordSchema make_schema() const {
    RecordSchema schema;
    if (head_.content == kManifest) {
      schema.value = [this](Bytes record, ValueForm) { return edit_value(record, limits_); };
    } else if (head_.content == kWriteAheadLog) {
      schema.value = [this](Bytes record, ValueForm form) {
        return batch_value(record, limits_, form, head_.numbering);
      };
      if (!head_.is_of_another_log()) schema.change_kinds = batch_changes;
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
    info.kind = ChunkKind("frame");
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
    // Each fragment is verified, so only records with bytes that cannot be read are missing, as in the scan.
    TRY(assembly.run(context.filling_unreadable(), {chunk.begin, false}));
    if (!agrees(assembly.tally(), chunk)) return changed;
    return {};
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Head head_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
  const bool hides_stale_;  // the old end of a recycled log is slack if the file's name has the log's number
  const bool has_bulk_;
  const LogBulkReader bulk_;
};

constexpr std::size_t kLeastDigits = 6;

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

Result<Head> head_of(const RequestContext& context, const Source& source) {
  ASSIGN_OR_RETURN(const auto head, read_head(context, source, ProbeDepth::kSearch));
  if (!head && source.size() > 0) {
    return Error{Code::kNoContainer, 0, "no fragment of a LevelDB log has a matching checksum"};
  }
  return head.value_or(Head{});
}

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  ASSIGN_OR_RETURN(const Head head, head_of(context, *source));
  return open_log(std::move(source), limits, head);
}

}  // namespace

std::unique_ptr<Container> open_log(std::shared_ptr<const Source> source, const Limits& limits, const Head& head) {
  return std::make_unique<LogContainer>(std::move(source), limits, head);
}

Result<DatabaseLog> open_in_database(const RequestContext& context, std::shared_ptr<const Source> source,
                                     const Limits& limits) {
  ASSIGN_OR_RETURN(Head head, head_of(context, *source));
  head.is_in_database = true;
  Head read_as = head;
  if (head.is_of_another_log()) read_as.session.log_number = head.named_number;
  return DatabaseLog{open_log(std::move(source), limits, read_as), head};
}

const Format kFormat = {.name = "leveldb-log", .probe = probe, .open = open};

}  // namespace recordfs::leveldb_log
