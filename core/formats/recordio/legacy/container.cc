#include "core/formats/recordio/legacy/container.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/formats/file_chunk.h"
#include "core/formats/recordio/format.h"
#include "core/formats/resync.h"

namespace recordfs::recordio::legacy {
namespace {

constexpr std::uint64_t kSearchWindow = 64 << 10;
constexpr std::uint64_t kFrontBytes = 4;  // enough to identify a codec
constexpr std::string_view kUnpacked = "unpacked";
constexpr std::string_view kPacked = "packed";
constexpr std::string_view kNoRecord = "no legacy recordio record where one should begin";
constexpr std::string_view kTooLong = "a record is longer than the writers' limit and the file";

std::string_view reason_of(Loss loss) { return loss == Loss::kTooLong ? kTooLong : kNoRecord; }

Step region_step(Position begin, Position end, std::string_view reason, Position size) {
  Step step;
  step.damage.push_back({.begin = begin, .end = end, .records_lost = std::nullopt, .reason = std::string(reason)});
  if (end < size) step.next = ChunkKey{end, 0};
  return step;
}

Step unfinished_step(Position begin, Position size) {
  Step step = region_step(begin, size, "the file ends inside a record", size);
  step.damage.back().damage_class = DamageClass::kUnfinished;
  return step;
}

bool ends_in(const RecordHeader& header, Position begin, std::uint64_t size) {
  return header.length <= size - begin - kRecordHeaderSize;
}

}  // namespace

LegacyContainer::LegacyContainer(std::shared_ptr<const Source> source, const Limits& limits)
    : source_(std::move(source)),
      limits_(limits),
      traits_{.format = kFormat.name, .facts = {{"version", std::string("legacy")}}} {}

Result<Step> LegacyContainer::scan(ChunkKey at) const {
  const Position size = source_->size();
  if (at.position >= size) return Step{};
  if (at.state != 0) return search(at.position, static_cast<Loss>(at.state));
  std::array<std::byte, kRecordHeaderSize> bytes{};
  ASSIGN_OR_RETURN(const auto got, source_->read_at(at.position, bytes));
  const Bytes head = Bytes(bytes).first(got);
  const auto header = parse_record_header(head);
  if (!header) {
    const bool is_cut = head.size() < kRecordHeaderSize && is_cut_header(head);
    return is_cut ? unfinished_step(at.position, size) : search(at.position, Loss::kNoRecord);
  }
  if (ends_in(*header, at.position, size)) return describe(at.position, *header);
  if (header->length <= kLongestPayload) return unfinished_step(at.position, size);
  return search(at.position, Loss::kTooLong);
}

Result<Step> LegacyContainer::describe(Position begin, const RecordHeader& header) const {
  ChunkInfo info;
  info.key = {begin, 0};
  info.begin = begin;
  info.end = begin + kRecordHeaderSize + header.length;
  info.kind = header.is_packed ? kPacked : kUnpacked;
  info.stored_size = header.length;
  info.records = 1;
  info.decoded_size = header.length;
  info.codec = to_string(CodecId::kNone);
  if (header.is_packed) {
    auto packed = read_items(info);
    if (!packed) {
      if (!is_permanent(packed.error().code)) return std::move(packed).error();
      return region_step(begin, info.end, packed.error().detail, source_->size());
    }
    info.records = packed->layout.records();
    info.decoded_size = packed->layout.total();
    if (!packed->is_plain()) {
      ASSIGN_OR_RETURN(const auto front,
                       read_up_to(*source_, packed->items, std::min<std::uint64_t>(kFrontBytes, packed->stored)));
      info.codec = codec_word(*packed, front.view());
    }
  }
  Step step;
  if (info.end < source_->size()) step.next = ChunkKey{info.end, 0};
  step.chunk = info;
  return step;
}

Result<Step> LegacyContainer::search(Position from, Loss loss) const {
  const Position size = source_->size();
  std::optional<RecordHeader> header;
  const auto test = [&](Position at, Bytes bytes) -> Result<Position> {
    header = parse_record_header(bytes);
    return header && ends_in(*header, at, size) ? at : at + 1;
  };
  const auto find = [](Bytes window) { return find_magic(window, 0); };
  const auto is_spent = [&](Position at) { return at - from >= limits_.scan_bytes; };
  WindowedReader windows(*source_, kSearchWindow);
  ASSIGN_OR_RETURN(const auto found, resync(windows, from, {kRecordHeaderSize, find, test, is_spent}));
  if (found.kind == ResyncResult::Kind::kFound && found.at == from) return describe(from, *header);
  Step step = region_step(from, found.at, reason_of(loss), size);
  if (found.kind == ResyncResult::Kind::kLater) step.next->state = static_cast<std::uint64_t>(loss);
  return step;
}

Result<Packed> LegacyContainer::read_items(const ChunkInfo& chunk) const {
  const Position begin = chunk.begin + kRecordHeaderSize;
  const std::uint64_t length = chunk.end - begin;
  if (chunk.kind == kPacked) return read_packed(*source_, begin, length, limits_);
  Packed one{.layout = Layout(), .items = begin, .stored = length};
  one.layout.add(length);
  return one;
}

Result<void> LegacyContainer::check_limits(const ChunkInfo& chunk, const Packed& packed) const {
  if (packed.stored > limits_.stored_chunk || packed.layout.total() > limits_.decoded_chunk) {
    return Error{Code::kLimit, chunk.begin,
                 fmt::format("{} bytes in one record exceed the limit", packed.layout.total())};
  }
  return {};
}

Result<Layout> LegacyContainer::layout(const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(auto packed, read_items(chunk));
  return std::move(packed.layout);
}

Result<Verification> LegacyContainer::verify(const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(const auto packed, read_items(chunk));
  TRY(check_limits(chunk, packed));
  return packed.is_plain() ? Result(Verification::kNoChecksum) : Container::verify(chunk);
}

Result<std::shared_ptr<const Chunk>> LegacyContainer::decode(const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(auto packed, read_items(chunk));
  TRY(check_limits(chunk, packed));
  ASSIGN_OR_RETURN(auto stored, read_exactly(*source_, packed.items, packed.stored));
  auto items = undo_packed(packed, std::move(stored), limits_);
  if (!items) {
    items.error().position = chunk.begin;
    return std::move(items).error();
  }
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(*items), std::move(packed.layout)));
}

Result<std::shared_ptr<const Chunk>> LegacyContainer::open_in_place(const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(auto packed, read_items(chunk));
  if (!packed.is_plain()) return std::shared_ptr<const Chunk>{};
  return std::shared_ptr<const Chunk>(
      std::make_shared<FileChunk>(source_, std::move(packed.layout), FileChunk::stored_at(packed.items)));
}

}  // namespace recordfs::recordio::legacy
