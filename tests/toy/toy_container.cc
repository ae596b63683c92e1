#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "tests/toy/toy_chunk.h"
#include "tests/toy/toy_format.h"
#include "tests/toy/toy_wire.h"

namespace recordfs::toy {
namespace {

struct Head {
  FixedHead fixed;
  std::vector<Attribute> attributes;
  std::string trailer;
};

std::string take_text(Cursor& cursor) { return std::string(as_text(cursor.take(cursor.u32_le()))); }

std::optional<Head> parse_head(FixedHead fixed, Bytes bytes) {
  if (bytes.size() < fixed.size) return std::nullopt;
  Cursor cursor(bytes.first(fixed.size));
  cursor.skip(kFixedHeadSize);
  Head head{.fixed = fixed, .attributes = {}, .trailer = {}};
  const std::uint32_t attributes = cursor.u32_le();
  for (std::uint32_t i = 0; i < attributes && cursor.ok(); ++i) {
    Attribute attribute;
    attribute.key = take_text(cursor);
    attribute.type = take_text(cursor);
    attribute.value = take_text(cursor);
    head.attributes.push_back(std::move(attribute));
  }
  head.trailer = take_text(cursor);
  const std::uint32_t check = cursor.u32_le();
  if (!cursor.ok() || !cursor.at_end() || check != check_of(bytes.first(fixed.size - 4))) return std::nullopt;
  return head;
}

// Returns nullopt if the source is not a toy file.
Result<std::optional<Head>> read_head(const Source& source) {
  ASSIGN_OR_RETURN(const auto start, read_up_to({}, source, 0, kFixedHeadSize));
  const auto fixed = parse_fixed_head(start.view());
  if (!fixed) return std::optional<Head>{};
  ASSIGN_OR_RETURN(const auto all, read_up_to({}, source, 0, fixed->size));
  return parse_head(*fixed, all.view());
}

// Takes the next part; returns nullopt if the record is malformed.
std::optional<FlatValue> take_part(Cursor& cursor, const std::vector<FlatValue>& before) {
  const std::uint32_t parent = cursor.u32_le();
  const std::uint32_t kind = cursor.u32_le();
  const Bytes key = cursor.take(cursor.u32_le());
  const Bytes bytes = cursor.take(cursor.u32_le());
  if (!cursor.ok() || kind > static_cast<std::uint32_t>(PartKind::kText) || parent > before.size()) return std::nullopt;
  FlatValue part{as_text(key), {}, {Value::Object()}};
  if (parent > 0) {
    part.parent = parent - 1;
    if (!std::holds_alternative<Value::Object>(before[*part.parent].value.is)) return std::nullopt;
  }
  if (static_cast<PartKind>(kind) == PartKind::kText) part.value.is = std::string(as_text(bytes));
  if (static_cast<PartKind>(kind) == PartKind::kSlice) part.value.is = bytes;
  return part;
}

class ToyContainer final : public Container, private Metadata {
 public:
  ToyContainer(std::shared_ptr<const Source> source, Head head, Limits limits, std::shared_ptr<Watch> watch)
      : source_(std::move(source)),
        head_(std::move(head)),
        limits_(limits),
        watch_(std::move(watch)),
        traits_{.format = kFormat.name,
                .facts = {{"stride", std::uint64_t{head_.fixed.stride}}},
                .first = {.position = head_.fixed.size},
                .has_seek_structure = head_.fixed.stride > 0} {
    if (has(kParts)) {
      schema_.value = [this](Bytes record, ValueForm form) { return value(record, form); };
      schema_.parts = RecordSchema::Parts::kRequired;
    }
    if (has(kTrailer))
      trailer_ = [this](const RequestContext& context) { return Buffer::copy_of(context, as_bytes(head_.trailer)); };
  }

  const ContainerTraits& traits() const override { return traits_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;
  const Metadata* metadata() const override { return this; }
  const RecordSchema& schema() const override { return schema_; }
  const TrailerReader* trailer() const override { return trailer_ ? &trailer_ : nullptr; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return head_.attributes;
  }
  Result<std::string_view> record_media_type(const RequestContext&) const override {
    return std::string_view(std::ranges::count(head_.attributes, "media", &Attribute::key) == 0 ? ""
                                                                                                : "application/x-toy");
  }
  Result<Value> value(Bytes record, ValueForm form) const;
  bool has(HeadFlag flag) const { return (head_.fixed.flags & flag) != 0; }
  std::optional<ChunkInfo> info(Position begin, const ChunkHeader& header) const;
  std::optional<ChunkKey> behind(Position end) const;
  Result<Step> search(const RequestContext& context, Position from) const;
  Step lost(Position begin, Position end, std::string_view why) const;
  Result<std::optional<ChunkHeader>> read_header(const RequestContext& context, Position begin) const;

  const std::shared_ptr<const Source> source_;
  const Head head_;
  const Limits limits_;
  const std::shared_ptr<Watch> watch_;
  const ContainerTraits traits_;
  RecordSchema schema_;
  TrailerReader trailer_;
};

// Returns nullopt if a valid header makes no sense at this position.
std::optional<ChunkInfo> ToyContainer::info(Position begin, const ChunkHeader& header) const {
  const std::uint64_t size = kChunkHeaderSize + header.payload_size;
  if (header.records > limits_.records_per_chunk) return std::nullopt;
  if (head_.fixed.stride > 0 && size > head_.fixed.stride) return std::nullopt;
  ChunkInfo chunk;
  chunk.key = {.position = begin};
  chunk.begin = begin;
  chunk.end = begin + size;
  chunk.kind = ChunkKind("toy");
  chunk.codec = header.flags & kUnsupportedCodec ? "future" : "none";
  if (has(kCounts)) {
    chunk.records = header.records;
    chunk.decoded_size = header.payload_size - 4 * header.records;
  }
  chunk.stored_size = header.payload_size;
  chunk.layout_cost = has(kSmallLayout) ? LayoutCost::kSmall : LayoutCost::kDecode;
  chunk.detail = {std::uint64_t{header.records} << 32 | header.flags, header.payload_check};
  return chunk;
}

std::optional<ChunkKey> ToyContainer::behind(Position end) const {
  Position next = end;
  if (const std::uint64_t stride = head_.fixed.stride; stride > 0) {
    next = end + (stride - (end - head_.fixed.size) % stride) % stride;
  }
  if (next >= source_->size()) return std::nullopt;
  return ChunkKey{.position = next};
}

Step ToyContainer::lost(Position begin, Position end, std::string_view why) const {
  DamagedRegion region;
  region.begin = begin;
  region.end = end;
  region.damage_class = why == "cut off" ? DamageClass::kUnfinished : DamageClass::kDamage;
  region.reason = why;
  Step step;
  step.damage.push_back(std::move(region));
  if (end < source_->size()) step.next = ChunkKey{.position = end};
  return step;
}

Result<std::optional<ChunkHeader>> ToyContainer::read_header(const RequestContext& context, Position begin) const {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, *source_, begin, kChunkHeaderSize));
  return parse_chunk_header(bytes.view());
}

Result<Step> ToyContainer::scan(const RequestContext& context, ChunkKey at) const {
  watch_->scans.fetch_add(1);
  if (watch_->on_scan) watch_->on_scan(at.position);
  const std::uint64_t size = source_->size();
  if (at.position >= size) return Step{};
  if (size - at.position < kChunkHeaderSize) return lost(at.position, size, "cut off");
  ASSIGN_OR_RETURN(const auto header, read_header(context, at.position));
  const auto chunk = header ? info(at.position, *header) : std::nullopt;
  if (!chunk) return search(context, at.position);
  if (chunk->end > size) return lost(at.position, size, "cut off");
  return Step{.chunk = chunk, .damage = {}, .next = behind(chunk->end)};
}

// Finds the next position worth scanning, after an invalid header at `from`.
Result<Step> ToyContainer::search(const RequestContext& context, Position from) const {
  constexpr std::string_view kWhy = "chunk header check mismatch";
  const std::uint64_t size = source_->size();
  if (head_.fixed.stride > 0) {
    ASSIGN_OR_RETURN(const auto data, source_->next_data(context, from));
    const Position slot = data - (data - head_.fixed.size) % head_.fixed.stride;
    return lost(from, std::min(size, std::max(slot, from + head_.fixed.stride)), kWhy);
  }
  const std::uint64_t window = std::max(limits_.scan_bytes, kChunkHeaderSize + 1);
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, *source_, from, window));
  const std::size_t room = bytes.size();
  for (std::size_t i = 1; i + kChunkHeaderSize <= room; ++i) {
    if (parse_chunk_header(bytes.view().subspan(i))) return lost(from, from + i, kWhy);
  }
  ASSIGN_OR_RETURN(const auto data, data_after_hole(context, *source_, from + room, bytes.view()));
  if (data > from + room) return lost(from, data, kWhy);
  return lost(from, room < window ? size : from + room - kChunkHeaderSize + 1, kWhy);
}

Result<std::optional<ChunkInfo>> ToyContainer::locate(const RequestContext& context, Position at) const {
  watch_->locates.fetch_add(1);
  if (at < head_.fixed.size) return std::optional<ChunkInfo>{};
  ASSIGN_OR_RETURN(const auto step, scan(context, {.position = at - (at - head_.fixed.size) % head_.fixed.stride}));
  if (step.chunk && at >= step.chunk->end) return std::optional<ChunkInfo>{};
  return step.chunk;
}

Result<Layout> ToyContainer::layout(const RequestContext& context, const ChunkInfo& chunk) const {
  watch_->layouts.fetch_add(1);
  if (watch_->on_layout) watch_->on_layout(context, chunk.begin);
  return read_layout(context, *source_, chunk, limits_);
}

Result<Verification> ToyContainer::verify(const RequestContext& context, const ChunkInfo& chunk) const {
  watch_->verifies.fetch_add(1);
  if (watch_->on_verify) watch_->on_verify(chunk.begin);
  TRY(read_payload(context, *source_, chunk, limits_));
  return Verification::kVerified;
}

Result<std::shared_ptr<const Chunk>> ToyContainer::decode(const RequestContext& context, const ChunkInfo& chunk) const {
  watch_->decodes.fetch_add(1);
  if (watch_->on_decode) watch_->on_decode(chunk.begin);
  return read_chunk(context, *source_, chunk, limits_);
}

Result<std::shared_ptr<const Chunk>> ToyContainer::open_in_place(const RequestContext& context,
                                                                 const ChunkInfo& chunk) const {
  if (!has(kByParts)) return std::shared_ptr<const Chunk>{};
  return toy::open_in_place(context, source_, chunk, limits_);
}

// Records have parts, and no form as JSON.
Result<Value> ToyContainer::value(Bytes record, ValueForm form) const {
  if (form == ValueForm::kJson) return Error{.code = Code::kDamage, .detail = "not JSON"};
  watch_->parts.fetch_add(1);
  std::vector<FlatValue> parts;
  for (Cursor cursor(record); !cursor.at_end();) {
    if (parts.size() >= limits_.parts_per_record) return Error{.code = Code::kLimit, .detail = "too many parts"};
    auto part = take_part(cursor, parts);
    if (!part) return Error{.code = Code::kDamage, .detail = "the parts do not add up"};
    parts.push_back(std::move(*part));
  }
  return tree_of(std::move(parts));
}

// The least that a format has to implement.
class MinimalContainer final : public Container {
 public:
  explicit MinimalContainer(std::unique_ptr<const Container> toy) : toy_(std::move(toy)) {}

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override { return toy_->scan(context, at); }
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    return toy_->decode(context, chunk);
  }

 private:
  const std::unique_ptr<const Container> toy_;
  const ContainerTraits traits_{.format = kFormat.name, .first = toy_->traits().first};
};

Result<int> probe_toy(const RequestContext&, const Source& source, std::string_view file_name, ProbeDepth) {
  if (source.size() == 0) return file_name.ends_with(".toy") ? 1 : 0;
  ASSIGN_OR_RETURN(const auto head, read_head(source));
  return head ? 64 : 0;
}

Result<std::unique_ptr<Container>> open_toy(const RequestContext&, std::shared_ptr<const Source> source,
                                            const Limits& limits) {
  return open(std::move(source), limits);
}

}  // namespace

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits,
                                        std::shared_ptr<Watch> watch) {
  ASSIGN_OR_RETURN(auto head, read_head(*source));
  if (!head && source->size() > 0) return Error{.code = Code::kNoContainer, .detail = "not a toy file"};
  if (!watch) watch = std::make_shared<Watch>();
  const bool is_minimal = head && (head->fixed.flags & kMinimal) != 0;
  std::unique_ptr<Container> whole =
      std::make_unique<ToyContainer>(std::move(source), std::move(head).value_or(Head{}), limits, std::move(watch));
  if (is_minimal) return std::unique_ptr<Container>(std::make_unique<MinimalContainer>(std::move(whole)));
  return whole;
}

constinit const Format kFormat{.name = "toy", .probe = probe_toy, .open = open_toy};

}  // namespace recordfs::toy
