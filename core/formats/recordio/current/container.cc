#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/current/bulk.h"
#include "core/formats/recordio/current/chunk_frames.h"
#include "core/formats/recordio/current/header.h"
#include "core/formats/recordio/current/stored.h"
#include "core/formats/recordio/current/transform.h"
#include "core/formats/recordio/format.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

// Why no chunk begins at a position.
enum class Loss : std::uint8_t {
  kNone,        // ChunkKey::state outside of a search
  kNoHeader,    // nothing that resembles a header
  kChecksum,    // a header whose checksum does not match
  kHeadless,    // a valid frame that is not the first of its chunk
  kUnfinished,  // the file ends inside the frame
};

std::string_view reason_of(Loss loss) {
  switch (loss) {
    case Loss::kNone:
    case Loss::kNoHeader: return "no recordio chunk where one should begin";
    case Loss::kChecksum: return "the checksum of a chunk does not match";
    case Loss::kHeadless: return "the first chunk of a block is missing";
    case Loss::kUnfinished: return "the file ends inside a chunk";
  }
  return "no recordio chunk where one should begin";
}

// Classifies position `at`, where no run begins. Fails as Source does.
Result<Loss> loss_at(const RequestContext& context, Window& window, Position at) {
  ASSIGN_OR_RETURN(const auto bytes, window.view(context, at, kFrameSize));
  const auto header = parse_frame_header(bytes);
  if (!header) {
    const bool is_cut = bytes.size() < kFrameHeaderSize && is_cut_header(bytes);
    return is_cut ? Loss::kUnfinished : Loss::kNoHeader;
  }
  if (header->used() > bytes.size()) return Loss::kUnfinished;
  return checksum_matches(*header, bytes) ? Loss::kHeadless : Loss::kChecksum;
}

// Returns the region [begin, end), which a search passed without result.
DamagedRegion lost_region(Position begin, Position end, Loss loss) {
  return damaged_region(begin, end, reason_of(loss),
                        loss == Loss::kUnfinished ? DamageClass::kUnfinished : DamageClass::kDamage);
}

// Returns the broken frames of a chunk as regions. Fails as Source does.
Result<std::vector<DamagedRegion>> broken_frames(const RequestContext& context, const Source& source,
                                                 const ChunkInfo& chunk) {
  std::vector<DamagedRegion> regions;
  const auto see = [&](std::uint64_t index, const Result<Bytes>& fragment) -> Result<void> {
    if (fragment) return {};
    const Position begin = chunk.begin + index * kFrameSize;
    const Position end = std::min(begin + kFrameSize, chunk.end);
    regions.push_back({.begin = begin, .end = end, .records_lost = 0, .reason = fragment.error().detail});
    return {};
  };
  TRY(each_fragment(context, source, chunk, 0, frames_of(chunk).there, see));
  return regions;
}

constexpr std::uint32_t kZstdMagic = 0xFD2FB528;

// Returns the stored bytes as content. Their table must describe them to the last byte. Fails with kDamage and
// kLimit, at position 0. Any thread.
Result<Transform::Content> as_stored(const RequestContext& context, Buffer stored, const Limits& limits) {
  ASSIGN_OR_RETURN(auto table, parse_table(context, stored.view(), stored.size(), limits));
  if (!table) return cut_table();
  if (table->end() != stored.size()) {
    return Error{.code = Code::kDamage,
                 .detail = fmt::format("the items of the block take {}, the block {}", counted(table->end(), "byte"),
                                       stored.size())};
  }
  if (stored.size() > limits.decoded_chunk) {
    return Error{.code = Code::kLimit, .detail = fmt::format("{} bytes in one block exceed the limit", stored.size())};
  }
  return Transform::Content{std::move(stored), std::move(*table)};
}

// Guesses the encoding in a file whose header is lost. A guess is right if the table describes its result to the last
// byte. Fails with kUnsupported if none fits: even a number over the limits may come from a wrong guess. Any thread.
Result<Transform::Content> by_trial(const RequestContext& context, Buffer stored, const Limits& limits) {
  const bool is_zstd = Cursor(stored.view()).u32_le() == kZstdMagic;
  auto undone = Transform({is_zstd ? CodecId::kZstd : CodecId::kDeflate}).undo(context, stored.view(), limits);
  if (undone ? is_zstd : !is_permanent(undone.error().code)) return undone;
  auto plain = as_stored(context, std::move(stored), limits);
  if (plain || !is_permanent(plain.error().code)) return plain;
  if (undone) return undone;
  return Error{.code = Code::kUnsupported, .detail = "the header block, which names the transformers, is lost"};
}

constexpr std::uint64_t kFramesAfterTrailer =
    4;  // a trailer is still found with up to this many frames of other data after it

std::shared_ptr<const Chunk> to_chunk(Buffer payload, Layout layout) {
  return std::make_shared<BufferChunk>(std::move(payload), std::move(layout));
}

Result<void> check_stored(const ChunkInfo& chunk, const Limits& limits) {
  if (chunk.stored_size <= limits.stored_chunk) return {};
  return Error{
      Code::kLimit, chunk.begin,
      fmt::format("{} bytes stored in one block, more than the limit of {}", chunk.stored_size, limits.stored_chunk)};
}

// Reads and verifies all fragments. Fails as check_stored() and read_stored().
Result<Buffer> read_all_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                               const Limits& limits) {
  TRY(check_stored(chunk, limits));
  return read_stored(context, source, chunk, UINT64_MAX);
}

// Returns the limits for a trailer. Listing a directory can read it, so it is held to the limit for metadata.
Limits for_trailer(Limits limits) {
  limits.stored_chunk = std::min(limits.stored_chunk, limits.metadata_bytes);
  limits.decoded_chunk = std::min(limits.decoded_chunk, limits.metadata_bytes);
  return limits;
}

bool is_body(const ChunkInfo& chunk) { return chunk.kind.as<Kind>() == Kind::kBody; }

DamagedRegion whole_chunk(const ChunkInfo& chunk, std::string reason) {
  return {.begin = chunk.begin, .end = chunk.end, .records_lost = 0, .reason = std::move(reason)};
}

// An open file of the current format.
class CurrentContainer final : public Container, private Metadata {
 public:
  CurrentContainer(std::shared_ptr<const Source> source, const Limits& limits)
      : source_(std::move(source)), limits_(limits) {}

  // Reads the header chunk, and the end of the file to look for a trailer. Call once, before all others.
  Result<void> read_ends(const RequestContext& context) {
    TRY(read_header(context));
    TRY(find_trailer(context));
    set_traits();
    if (transform_ && transform_->unsupported() == nullptr) bulk_.emplace(source_->size(), *transform_, limits_);
    return {};
  }

  const ContainerTraits& traits() const override { return traits_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    Step step;
    ChunkFrames frames(*source_, run_lengths_);
    ASSIGN_OR_RETURN(const auto found, frames.search(context, at.position, limits_.scan_bytes));
    auto loss = static_cast<Loss>(at.state);
    if (found.reached > at.position) {
      if (loss == Loss::kNone) {
        ASSIGN_OR_RETURN(const auto here, loss_at(context, frames.window(), at.position));
        loss = here;
      }
      step.damage.push_back(lost_region(at.position, found.reached, loss));
    }
    if (!found.run) {
      if (found.reached < source_->size()) step.next = ChunkKey{found.reached, static_cast<std::uint64_t>(loss)};
      return step;
    }
    ASSIGN_OR_RETURN(const auto chunk, describe(context, frames, *found.run));
    ASSIGN_OR_RETURN(auto inside, damage_in(context, chunk, *found.run));
    for (DamagedRegion& region : inside) step.damage.push_back(std::move(region));
    if (chunk.end < source_->size()) step.next = ChunkKey{chunk.end, 0};
    step.chunk = chunk;
    return step;
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    if (at >= source_->size()) return std::optional<ChunkInfo>{};
    ChunkFrames frames(*source_, run_lengths_);
    ASSIGN_OR_RETURN(const auto run, frames.covering(context, at));
    if (!run) return std::optional<ChunkInfo>{};
    ASSIGN_OR_RETURN(const auto chunk, describe(context, frames, *run));
    return std::optional(chunk);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (!is_body(chunk)) return Layout();
    if (!transform_) return Container::layout(context, chunk);
    if (transform_->is_none()) {
      ASSIGN_OR_RETURN(const auto plain, read_plain(context, *source_, chunk, limits_));
      return plain_layout(context, *source_, chunk, plain);
    }
    TRY(check_stored(chunk, limits_));
    const bool is_cut = frames_of(chunk).is_cut();
    bool tried_all = false;
    const auto prefix = [&](std::uint64_t size) -> Result<Buffer> {
      if (is_cut && tried_all) return cut_chunk(*source_, chunk);
      tried_all = size >= chunk.stored_size;
      return read_stored(context, *source_, chunk, std::min(size, chunk.stored_size));
    };
    auto layout = transform_->layout(context, prefix, is_cut ? UINT64_MAX : chunk.stored_size, limits_);
    if (!layout) return in_chunk(std::move(layout).error(), chunk);
    return layout;
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_body(chunk) && is_plain(chunk)) {
      TRY(verify_plain(context, *source_, chunk, limits_));
      return Verification::kVerified;
    }
    TRY(check_stored(chunk, limits_));
    TRY(verify_stored(context, *source_, chunk));
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_body(chunk) && is_plain(chunk)) return decode_plain(context, source_, chunk, limits_);
    if (is_body(chunk) && transform_) return decode_transformed(context, chunk);
    ASSIGN_OR_RETURN(auto read, content(context, chunk, limits_));
    return to_chunk(std::move(read.bytes), is_body(chunk) ? std::move(read.layout) : Layout());
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (!is_body(chunk) || !is_plain(chunk)) return std::shared_ptr<const Chunk>{};
    return open_plain_in_place(context, source_, chunk, limits_);
  }

  const Metadata* metadata() const override { return this; }
  const BulkReader* bulk() const override { return bulk_ ? &*bulk_ : nullptr; }
  const TrailerReader* trailer() const override { return read_trailer_ ? &read_trailer_ : nullptr; }

 private:
  Result<void> read_header(const RequestContext& context) {
    if (source_->size() == 0) return {};
    ChunkFrames frames(*source_, run_lengths_);
    ASSIGN_OR_RETURN(const auto run, frames.at(context, 0));
    if (!run) header_state_ = "damaged";
    if (!run || run->first.kind != Kind::kHeader) return {};
    header_state_ = "damaged";
    ASSIGN_OR_RETURN(const auto chunk, describe(context, frames, *run));
    auto stored = read_all_stored(context, *source_, chunk, limits_);
    if (!stored && !is_permanent(stored.error().code)) return std::move(stored).error();
    if (!stored) {
      if (stored.error().code == Code::kLimit) header_.unshown = stored.error();
      header_.problem = std::move(stored).error();
      return {};
    }
    header_ = parse_header(context, stored->view(), limits_);
    if (header_.problem) return {};
    header_state_ = "good";
    transform_ = header_.names_all
                     ? Transform::from_names(header_.transformers)
                     : Transform::unknown("the header's transformers are not all strings, or too long, or too many");
    return {};
  }

  Result<void> find_trailer(const RequestContext& context) {
    if (source_->size() == 0) return {};
    ChunkFrames frames(*source_, run_lengths_);
    Position at = source_->size() - 1;
    ASSIGN_OR_RETURN(const auto last, frames.window().header(context, at - at % kFrameSize));
    if (last && last->kind != Kind::kTrailer) return {};
    for (std::uint64_t after = 0; after <= kFramesAfterTrailer; ++after) {
      ASSIGN_OR_RETURN(const auto run, frames.covering(context, at));
      if (run) {
        ASSIGN_OR_RETURN(const auto chunk, describe(context, frames, *run));
        if (run->first.kind == Kind::kTrailer) trailer_ = chunk;
        return {};
      }
      if (at < kFrameSize) break;
      at -= kFrameSize;
    }
    return {};
  }

  void set_traits() {
    std::vector<Fact> facts;
    facts.push_back({"version", std::string("current")});
    facts.push_back({"header", std::string(header_state_)});
    std::string transformers;
    for (const std::string& one : header_.transformers) (transformers += transformers.empty() ? "" : ", ") += one;
    facts.push_back({"transformers", std::move(transformers)});
    facts.push_back({"trailer", std::string(!has_trailer() ? "none" : trailer_ ? "present" : "missing")});
    traits_ = {.format = kFormat.name,
               .facts = std::move(facts),
               .has_seek_structure = true,
               .index_fits_in_chunk = transform_ && transform_->is_none()};
    if (has_trailer()) read_trailer_ = [this](const RequestContext& context) { return trailer_content(context); };
  }

  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    if (header_.unshown) return *header_.unshown;
    return header_.attributes;
  }

  bool has_trailer() const { return header_state_ == "good" ? header_.declares_trailer : trailer_.has_value(); }

  Result<Buffer> trailer_content(const RequestContext& context) const {
    if (!trailer_) {
      return Error{Code::kDamage, source_->size(), "the header declares a trailer, and the file does not end in one"};
    }
    auto read = content(context, *trailer_, for_trailer(limits_));
    if (!read && read.error().code == Code::kLimit) read.error().detail = "the trailer: " + read.error().detail;
    if (!read) return std::move(read).error();
    if (read->layout.records() != 1) {
      return Error{Code::kDamage, trailer_->begin,
                   fmt::format("{} items in the trailer (expected 1)", read->layout.records())};
    }
    const Extent item = read->layout.extent(0);
    return Buffer::copy_of(
        context, read->bytes.view().subspan(static_cast<std::size_t>(item.begin), static_cast<std::size_t>(item.size)));
  }

  Result<ChunkInfo> describe(const RequestContext& context, ChunkFrames& frames, const Run& run) const {
    ChunkInfo info;
    info.key = {run.begin, 0};
    info.begin = run.begin;
    info.end = run.end;
    info.kind = {run.first.kind, to_string(run.first.kind)};
    info.stored_size = run.stored;
    info.detail = detail_of(run);
    if (run.first.kind != Kind::kBody) {
      info.codec = run.first.kind == Kind::kTrailer && transform_ ? transform_->word() : to_string(CodecId::kNone);
      info.records = 0;
      info.decoded_size = 0;
      return info;
    }
    info.codec = transform_ ? transform_->word() : "-";
    if (!transform_) info.layout_cost = LayoutCost::kDecode;
    if (!is_plain(info) || !run.is_whole()) return info;
    ASSIGN_OR_RETURN(const auto frame, frames.window().view(context, run.begin, run.first.used()));
    auto table = parse_table(context, frame.subspan(kFrameHeaderSize), run.stored, limits_);
    const bool all_full = run.stored - run.last_size == (run.frames - 1) * kLargestFragment;
    if (table && *table && all_full && (*table)->end() == run.stored) {
      info.records = (*table)->records();
      info.decoded_size = (*table)->total();
    }
    return info;
  }

  // Returns the damage inside a chunk.
  Result<std::vector<DamagedRegion>> damage_in(const RequestContext& context, const ChunkInfo& chunk,
                                               const Run& run) const {
    std::vector<DamagedRegion> regions;
    if (!run.is_whole()) {
      const Error cut = cut_chunk(*source_, chunk);
      regions.push_back(whole_chunk(chunk, cut.detail));
      regions.back().records_lost.reset();
      if (cut.code == Code::kUnfinished) regions.back().damage_class = DamageClass::kUnfinished;
      return regions;
    }
    if (run.first.kind == Kind::kHeader && chunk.begin != 0) {
      regions.push_back(whole_chunk(chunk, "another header block: what follows is read as the first one says"));
      return regions;
    }
    if (run.first.kind == Kind::kHeader && header_.problem) {
      regions.push_back(whole_chunk(chunk, header_.problem->detail));
      if (header_.problem->code == Code::kLimit) regions.back().damage_class = DamageClass::kUnsupported;
      return regions;
    }
    if (chunk.begin == 0 && run.first.kind != Kind::kHeader) {
      regions.push_back(whole_chunk(chunk, "no header block: the transformers are not known"));
      regions.back().end = kFrameHeaderSize;
    }
    for (const std::uint64_t index : run.headless) {
      if (run.first.kind != Kind::kBody) break;
      const Position begin = run.begin + index * kFrameSize;
      regions.push_back(lost_region(begin, begin + kFrameSize, Loss::kNoHeader));
    }
    if (run.first.kind != Kind::kBody) {
      ASSIGN_OR_RETURN(const auto broken, broken_frames(context, *source_, chunk));
      regions.insert(regions.end(), broken.begin(), broken.end());
    }
    const Position rest = std::min(run.last_used_end(), run.end - 1);
    if (run.end - run.begin < run.frames * kFrameSize && (regions.empty() || regions.back().end <= rest)) {
      regions.push_back(whole_chunk(chunk, "a part of a chunk's padding is missing"));
      regions.back().begin = rest;
      regions.back().records_before = chunk.records.value_or(0);
      if (run.end == source_->size()) regions.back().damage_class = DamageClass::kUnfinished;
    }
    return regions;
  }

  bool is_plain(const ChunkInfo& chunk) const { return !is_body(chunk) || (transform_ && transform_->is_none()); }

  // Verifies the chunk and undoes its transformers. Fails as decode.
  Result<Transform::Content> content(const RequestContext& context, const ChunkInfo& chunk,
                                     const Limits& limits) const {
    ASSIGN_OR_RETURN(auto stored, read_all_stored(context, *source_, chunk, limits));
    const bool is_header = chunk.kind.as<Kind>() == Kind::kHeader;
    const bool is_as_stored = is_header || (transform_ && transform_->is_none());
    auto content = is_as_stored ? as_stored(context, std::move(stored), limits)
                   : transform_ ? transform_->undo(context, stored.view(), limits)
                                : by_trial(context, std::move(stored), limits);
    if (!content) return in_chunk(std::move(content).error(), chunk);
    return content;
  }

  // REQUIRES: the chunk is a body, and transform_ is set and is not "none".
  Result<std::shared_ptr<const Chunk>> decode_transformed(const RequestContext& context, const ChunkInfo& chunk) const {
    ASSIGN_OR_RETURN(auto stored, read_all_stored(context, *source_, chunk, limits_));
    const auto explain = [chunk](Error error) { return in_chunk(std::move(error), chunk); };
    auto decoded = transform_->decode(context, std::move(stored), limits_, explain);
    if (!decoded) return explain(std::move(decoded).error());
    return decoded;
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  mutable RunLengths run_lengths_;
  // Set before the container is shared.
  Header header_;
  std::string_view header_state_ = "missing";
  std::optional<Transform> transform_;  // nullopt: the header is lost, so each chunk is decoded by trial
  std::optional<CurrentBulkReader> bulk_;
  ContainerTraits traits_{};
  TrailerReader read_trailer_;        // null: no trailer
  std::optional<ChunkInfo> trailer_;  // the chunk that ends the file, if it is a trailer
};

}  // namespace

Result<std::unique_ptr<Container>> open_current(const RequestContext& context, std::shared_ptr<const Source> source,
                                                const Limits& limits) {
  auto container = std::make_unique<CurrentContainer>(std::move(source), limits);
  TRY(container->read_ends(context));
  return std::unique_ptr<Container>(std::move(container));
}

}  // namespace recordfs::recordio
