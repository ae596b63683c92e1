#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/container.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/leveldb_log/wire.h"
#include "core/formats/wandb/format.h"
#include "core/formats/wandb/record_types.h"

namespace recordfs::wandb {
namespace {

using leveldb_log::Fragment;
using leveldb_log::kFrameSize;
using leveldb_log::kHeaderSize;
using leveldb_log::Role;
using leveldb_log::Verdict;
using leveldb_log::Wire;

struct Writer {
  std::string_view magic;  // name and number
  std::string_view name;
  std::uint8_t first_with_type;  // the first version whose records are protobuf messages
  std::string_view record_type;
};

constexpr std::array kWriters{
    Writer{":W&B\xe1\xbe", "wandb", 0, kRecordType},
    Writer{":SWL\xd6\xe1", "swanlab", 2, kSwanLabRecordType},
};
constexpr std::size_t kMagicSize = 6;
constexpr std::size_t kNameSize = 4;

// The ident is either in the first frame or before it.
constexpr Wire kWithIdent{Wire::Checksum::kCrc32, false, 0, kIdentSize};
constexpr Wire kAfterIdent{Wire::Checksum::kCrc32, false, kIdentSize, kIdentSize};

enum class Seen : std::uint8_t { kInside, kBefore, kUnknown };

bool is_empty_first(const Fragment& fragment) { return fragment.role == Role::kFirst && fragment.length == 0; }

// Compares the bytes on both sides of the position where the next frame of the first kind begins.
Result<Seen> look_at(const RequestContext& context, const Source& source, Position begin) {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, begin, kFrameSize + kIdentSize));
  if (bytes.size() < kIdentSize) return Seen::kUnknown;
  const Bytes both = bytes.view();
  const auto inside = parse_fragment(both.first(std::min<std::size_t>(both.size(), kFrameSize)), begin, kWithIdent);
  const auto before = parse_fragment(both.subspan(kIdentSize), begin + kIdentSize, kAfterIdent);
  const bool inside_is_sound = inside.verdict == Verdict::kSound;
  const bool before_is_sound = before.verdict == Verdict::kSound;
  // A valid fragment in the last seven bytes of a frame cannot be the start of another: there would be room for more.
  if (before_is_sound && (!inside_is_sound || is_empty_first(inside.fragment))) return Seen::kBefore;
  return inside_is_sound && !before_is_sound ? Seen::kInside : Seen::kUnknown;
}

// Checks the fragments of the first frame: whether one ends, or would end, where only frames after an ident have
// room.
Result<Seen> look_at_first(const RequestContext& context, const Source& source) {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, 0, kIdentSize + kFrameSize));
  for (Position at = kIdentSize; at < bytes.size();) {
    const auto parsed = parse_fragment(bytes.view().subspan(static_cast<std::size_t>(at)), at, kAfterIdent);
    const Position end = parsed.fragment.end();
    const bool is_sound = parsed.verdict == Verdict::kSound;
    const bool is_cut = parsed.verdict == Verdict::kTooLong && at + kHeaderSize <= kFrameSize;
    const bool begins_before = at < kFrameSize || (is_sound && is_empty_first(parsed.fragment));
    const bool ends_after = end > kFrameSize && end <= kFrameSize + kIdentSize;
    if (begins_before && ends_after && (is_sound || is_cut)) return Seen::kBefore;
    if (!is_sound) break;
    at = end;
  }
  return Seen::kUnknown;
}

// Checks every byte, in case bytes before the fragments were deleted or inserted.
Result<bool> has_fragment_anywhere(const RequestContext& context, const Source& source) {
  constexpr std::uint64_t kSearchedAtEachByte = 1u << 20;
  for (Position at = 0; at < std::min(kSearchedAtEachByte, source.size()); at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, 2 * kFrameSize));
    const std::size_t frame = std::min<std::size_t>(bytes.size(), kFrameSize);
    const leveldb_log::ValidFragments places(bytes.view(), frame, bytes.size() > frame, kWithIdent, nullptr);
    if (places.next(0)) return true;
  }
  return false;
}

leveldb_log::Head head_of(const Wire& wire) {
  leveldb_log::Head head;
  head.session.wire = wire;
  return head;
}

constexpr int kBidOnName = 1;
constexpr int kBidOnIdent = 48;
constexpr int kBidOnFragment = 30;
constexpr int kBits = 8;

bool is_name(std::string_view name) { return name.ends_with(".wandb") || name.ends_with(".swanlab"); }

// Uses the default of Limits: the result must not change with the limits.
constexpr std::uint64_t kSearched = Limits().scan_bytes;

Result<int> bid_on(const RequestContext& context, const Source& source, ProbeDepth depth) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kIdentSize));
  if (parse_ident(head.view())) return kBidOnIdent;
  if (const std::size_t cut = cut_ident(head.view()); cut > 0) return kBits * static_cast<int>(cut);
  if (depth == ProbeDepth::kHead) return 0;
  ASSIGN_OR_RETURN(const auto found, has_fragment(context, source, kSearched));
  return found ? kBidOnFragment : 0;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_name(file_name) ? kBidOnName : 0;
  return bid_on(context, source, depth);
}

// An open run file: an ident followed by a log.
class RunFile final : public ForwardingContainer, private Metadata {
 public:
  // `size` is that of the source. `ident` is nullopt if it is damaged or cut off.
  RunFile(std::shared_ptr<const Source> source, std::uint64_t size, const Limits& limits, std::optional<Ident> ident,
          const leveldb_log::Wire& wire)
      : ForwardingContainer(leveldb_log::open_log(std::move(source), limits, head_of(wire))),
        size_(size),
        ident_(ident),
        traits_{.format = kFormat.name, .has_seek_structure = true} {
    if (ident_) {
      traits_.facts.push_back({"writer", std::string(ident_->writer)});
      traits_.facts.push_back({"version", std::to_string(ident_->version)});
    }
    traits_.facts.push_back({"blocks_begin_at_byte", std::uint64_t{wire.origin}});
  }

  const ContainerTraits& traits() const override { return traits_; }

  // The first step covers the ident.
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (at.position >= kIdentSize) return below().scan(context, at);
    Step step;
    if (size_ > kIdentSize) {
      ASSIGN_OR_RETURN(auto after, below().scan(context, {kIdentSize, 0}));
      step = std::move(after);
    }
    if (ident_ || size_ == 0) return step;
    DamagedRegion region;
    region.end = std::min<Position>(size_, kIdentSize);
    region.records_lost = 0;
    region.damage_class = size_ < kIdentSize ? DamageClass::kUnfinished : DamageClass::kDamage;
    region.reason = size_ < kIdentSize ? "the file ends inside its identifier" : "invalid file identifier";
    step.damage.insert(step.damage.begin(), std::move(region));
    return step;
  }

  const Metadata* metadata() const override { return this; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return std::vector<Attribute>{};
  }
  Result<std::string_view> record_type(const RequestContext& context) const override;
  bool has_descriptors() const override { return ident_ && !ident_->record_type.empty(); }
  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext&, const ChunkInfo&) const override {
    return has_descriptors() ? record_descriptors(ident_->record_type) : nullptr;
  }

  const std::uint64_t size_;
  const std::optional<Ident> ident_;
  ContainerTraits traits_;
};

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on(context, *source, ProbeDepth::kSearch));
    if (bid == 0)
      return Error{.code = Code::kNoContainer,
                   .detail = "neither the identifier nor a fragment of a run file was found"};
  }
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, *source, 0, kIdentSize));
  ASSIGN_OR_RETURN(const auto wire, find_wire(context, *source, kSearched));
  const auto ident = parse_ident(head.view());
  const std::uint64_t size = source->size();
  return std::unique_ptr<Container>(std::make_unique<RunFile>(std::move(source), size, limits, ident, wire));
}

Result<std::string_view> RunFile::record_type(const RequestContext&) const {
  return ident_ ? ident_->record_type : std::string_view();
}

}  // namespace

std::optional<Ident> parse_ident(Bytes head) {
  if (head.size() < kIdentSize) return std::nullopt;
  for (const Writer& writer : kWriters) {
    if (as_text(head.first(kMagicSize)) != writer.magic) continue;
    const std::uint8_t version = Cursor(head.subspan(kMagicSize)).u8();
    return Ident{writer.name, version >= writer.first_with_type ? writer.record_type : std::string_view(), version};
  }
  return std::nullopt;
}

std::string default_ident() { return std::string(kWriters.front().magic) + '\0'; }

std::size_t cut_ident(Bytes head) {
  if (head.size() < kNameSize || head.size() > kMagicSize) return 0;
  const bool is_known =
      std::ranges::any_of(kWriters, [&](const Writer& writer) { return writer.magic.starts_with(as_text(head)); });
  return is_known ? head.size() : 0;
}

Result<Wire> find_wire(const RequestContext& context, const Source& source, std::uint64_t most) {
  auto seen = look_at_first(context, source);
  if (!seen) return std::move(seen).error();
  const Position end = std::min(most, source.size());
  for (Position at = kFrameSize; *seen == Seen::kUnknown && at < end; at += kFrameSize) {
    seen = look_at(context, source, at);
    if (!seen) return std::move(seen).error();
  }
  return *seen == Seen::kBefore ? kAfterIdent : kWithIdent;
}

Result<bool> has_fragment(const RequestContext& context, const Source& source, std::uint64_t most) {
  ASSIGN_OR_RETURN(const auto first, read_up_to(context, source, kIdentSize, kFrameSize));
  if (is_sound(first.view(), kAfterIdent)) return true;
  const Position end = std::min(most, source.size());
  for (Position at = kFrameSize; at < end; at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, kFrameSize + kIdentSize));
    if (is_sound(bytes.view(), kWithIdent)) return true;
    if (bytes.size() > kIdentSize && is_sound(bytes.view().subspan(kIdentSize), kAfterIdent)) return true;
  }
  return has_fragment_anywhere(context, source);
}

const Format kFormat = {.name = "wandb", .probe = probe, .open = open, .suffixes = ".wandb .swanlab"};

}  // namespace recordfs::wandb
