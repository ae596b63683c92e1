#include "core/formats/recordio/legacy/container.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/bytes.h"
#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/recordio/format.h"
#include "core/formats/recordio/table.h"
#include "core/formats/resync.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio::legacy {
namespace {

// The packed record: a table of item sizes, and items that may be compressed by an undeclared transform. FORMAT.md,
// "Legacy".
struct Packed {
  Layout layout;             // of the items, from 0
  Position items = 0;        // file position of the stored items
  std::uint64_t stored = 0;  // their stored size in bytes
  // Returns whether the items are stored unchanged. Bytes after them are ignored.
  bool is_plain() const { return layout.total() == stored; }
};

// Why a search is in progress, as stored in ChunkKey::state.
enum class Loss : std::uint8_t { kNone, kNoRecord, kTooLong };

constexpr std::array kMagics{kUnpackedMagic, kPackedMagic};
constexpr std::size_t kLengthSize = 8;

bool is_magic(std::uint64_t number) { return std::ranges::find(kMagics, number) != kMagics.end(); }

struct Fields {
  std::uint64_t magic = 0;
  std::uint64_t length = 0;
  bool length_is_sound = false;
};

std::optional<Fields> read_fields(Bytes head) {
  Cursor cursor(head);
  Fields fields;
  fields.magic = cursor.u64_le();
  const Bytes length = cursor.take(kLengthSize);
  const std::uint32_t checksum = cursor.u32_le();
  if (!cursor.ok()) return std::nullopt;
  fields.length = Cursor(length).u64_le();
  fields.length_is_sound = crc32(length) == checksum;
  return fields;
}

constexpr std::uint64_t kFirstPrefix = 4 << 10;
constexpr std::uint64_t kChecksumSize = 4;
constexpr std::uint32_t kZstdMagic = 0xFD2FB528;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;
constexpr std::uint32_t kSkippableMask = 0xFFFFFFF0;
constexpr unsigned kStoredBlock = 0;  // a block type of deflate
constexpr unsigned kNoBlock = 3;
constexpr int kDamagedBits = 8;  // a mark with up to this many wrong bits still counts as the mark

Error at_payload(Error error, Position begin) {
  error.position = begin;
  return error;
}

bool is_zstd(Bytes front) { return Cursor(front).u32_le() == kZstdMagic; }

// Decodes exactly `size` bytes. Returns nullopt if the output is shorter or longer, or if decoding fails.
Result<std::optional<Buffer>> try_codec(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t size,
                                        const Limits& limits) {
  auto content = decompress_exactly(context, codec, stored, size, Tail::kIgnored, limits.decoded_chunk);
  if (content) return std::optional(std::move(*content));
  if (content.error().code != Code::kDamage) return std::move(content).error();
  return std::optional<Buffer>{};
}

bool is_near(std::uint32_t found, std::uint32_t due) { return std::popcount(found ^ due) <= kDamagedBits; }

// Returns whether `front` resembles a zstd magic with a few damaged bits.
bool is_near_zstd(Bytes front) {
  const std::uint32_t magic = Cursor(front).u32_le();
  return is_near(magic, kZstdMagic) || is_near(magic & kSkippableMask, kSkippableMagic);
}

// The same for deflate, which has no magic. Data that deflate cannot shrink is in stored blocks, which begin with a
// length and its complement. Any other first block fails after its beginning.
bool is_near_deflate(Bytes front) {
  Cursor cursor(front);
  const unsigned type = cursor.u8() >> 1 & 3;
  const std::uint16_t length = cursor.u16_le();
  const std::uint16_t complement = cursor.u16_le();
  return !cursor.ok() || (type != kStoredBlock && type != kNoBlock) || is_near(length ^ 0xFFFFu, complement);
}

// Returns whether deflate gives `size` bytes if the type of the first block is changed.
Result<bool> is_deflate_of_another_type(const RequestContext& context, Buffer& stored, std::uint64_t size,
                                        const Limits& limits) {
  std::byte& first = stored.span()[0];
  const std::byte kept = first;
  Result<bool> found = false;
  for (const auto type : {std::byte{0x02}, std::byte{0x04}}) {
    first = (kept & ~std::byte{0x06}) | type;
    auto content = try_codec(context, CodecId::kDeflate, stored.view(), size, limits);
    if (!content)
      found = std::move(content).error();
    else if (*content)
      found = true;
    if (!found || *found) break;
  }
  first = kept;
  return found;
}

// Reads the table of the packed record with payload [begin, begin + length), and verifies its checksum. Fails with
// kDamage and kLimit, at the payload, and as Source does.
Result<Packed> read_packed(const RequestContext& context, const Source& source, Position begin, std::uint64_t length,
                           const Limits& limits) {
  for (std::uint64_t size = kFirstPrefix;; size *= 4) {
    ASSIGN_OR_RETURN(const auto prefix, read_exactly(context, source, begin, std::min(size, length)));
    Cursor cursor(prefix.view());
    const std::uint32_t checksum = cursor.u32_le();
    auto table = parse_table(context, cursor.rest(), UINT64_MAX, limits);
    if (!table) return at_payload(std::move(table).error(), begin);
    if (!*table && size >= length) return at_payload(cut_table(), begin);
    if (!*table) continue;
    const std::uint64_t table_size = (*table)->first_begin();
    if (crc32(cursor.take(table_size)) != checksum) {
      return Error{Code::kDamage, begin, "the checksum of a packed record's item sizes does not match"};
    }
    Packed packed{.layout = Layout(), .items = begin + kChecksumSize + table_size};
    packed.stored = length - kChecksumSize - table_size;
    packed.layout.reserve(context, std::max<std::uint64_t>((*table)->records(), 1));
    for (std::uint64_t i = 0; i < (*table)->records(); ++i) packed.layout.add(context, (*table)->extent(i).size);
    if (packed.layout.records() == 0) packed.layout.add(context, 0);  // as the reference reads it
    if (!packed.is_plain() && packed.layout.total() > limits.decoded_chunk) {
      return Error{Code::kLimit, begin,
                   fmt::format("{} bytes of items in one record exceed the limit", packed.layout.total())};
    }
    return packed;
  }
}

// Returns the name of the transform as far as the size and the first bytes show it, and "-" if only decoding would.
// `front` is the first four bytes that hold the items, or all if there are fewer. Static storage. REQUIRES:
// !packed.is_plain().
std::string_view codec_word(const Packed& packed, Bytes front) {
  if (is_zstd(front)) return to_string(CodecId::kZstd);
  return packed.layout.total() > packed.stored ? to_string(CodecId::kDeflate) : "-";
}

// Returns the items: the output of the transform whose size matches the table. If none matches, returns the beginning
// of `stored`, but only if it does not resemble even a damaged transform. Fails with kDamage, kLimit, kUnsupported
// and kOutOfMemory. REQUIRES: `stored` are the bytes that hold the items.
Result<Buffer> undo_packed(const RequestContext& context, const Packed& packed, Buffer stored, const Limits& limits) {
  const std::uint64_t size = packed.layout.total();
  if (packed.is_plain()) return stored;
  const bool has_zstd_magic = is_zstd(stored.view());
  // No deflate stream begins like zstd.
  ASSIGN_OR_RETURN(auto content, try_codec(context, has_zstd_magic ? CodecId::kZstd : CodecId::kDeflate, stored.view(),
                                           size, limits));
  if (content) return std::move(*content);
  if (size < stored.size() && !is_near_zstd(stored.view()) && !is_near_deflate(stored.view())) {
    ASSIGN_OR_RETURN(const auto other, is_deflate_of_another_type(context, stored, size, limits));
    if (!other) {
      stored.truncate(static_cast<std::size_t>(size));
      return stored;
    }
  }
  const std::string_view tried = has_zstd_magic ? "corrupt zstd data" : "neither zstd nor flate";
  return Error{.code = Code::kDamage,
               .detail = fmt::format("cannot decompress {} of items from {}: {}", counted(size, "byte"),
                                     counted(stored.size(), "stored byte"), tried)};
}

constexpr std::uint64_t kSearchWindow = 64 << 10;
constexpr std::uint64_t kFrontBytes = 4;  // enough to identify a codec
enum class Kind : std::uint8_t { kUnpacked, kPacked };
constexpr std::string_view kNoRecord = "no legacy recordio record where one should begin";
constexpr std::string_view kTooLong = "a record is longer than the writers' limit and the file";

std::string_view reason_of(Loss loss) { return loss == Loss::kTooLong ? kTooLong : kNoRecord; }

Step region_step(Position begin, Position end, std::string_view reason, Position size) {
  Step step;
  step.damage.push_back(damaged_region(begin, end, reason));
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

// An open file of the legacy format.
class LegacyContainer final : public Container {
 public:
  LegacyContainer(std::shared_ptr<const Source> source, const Limits& limits)
      : source_(std::move(source)),
        limits_(limits),
        traits_{
            .format = kFormat.name, .facts = {{"version", std::string("legacy")}}, .records_have_checksums = false} {}

  const ContainerTraits& traits() const override { return traits_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    const Position size = source_->size();
    if (at.position >= size) return Step{};
    if (at.state != 0) return search(context, at.position, static_cast<Loss>(at.state));
    std::array<std::byte, kRecordHeaderSize> bytes{};
    ASSIGN_OR_RETURN(const auto got, source_->read_at(context, at.position, bytes));
    const Bytes head = Bytes(bytes).first(got);
    const auto header = parse_record_header(head);
    if (!header) {
      const bool is_cut = head.size() < kRecordHeaderSize && is_cut_header(head);
      return is_cut ? unfinished_step(at.position, size) : search(context, at.position, Loss::kNoRecord);
    }
    if (ends_in(*header, at.position, size)) return describe(context, at.position, *header);
    if (header->length <= kLongestPayload) return unfinished_step(at.position, size);
    return search(context, at.position, Loss::kTooLong);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(auto packed, read_items(context, chunk));
    return std::move(packed.layout);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(const auto packed, read_items(context, chunk));
    TRY(check_limits(chunk, packed));
    return packed.is_plain() ? Result(Verification::kNoChecksum) : Container::verify(context, chunk);
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(auto packed, read_items(context, chunk));
    TRY(check_limits(chunk, packed));
    ASSIGN_OR_RETURN(auto stored, read_exactly(context, *source_, packed.items, packed.stored));
    auto items = undo_packed(context, packed, std::move(stored), limits_);
    if (!items) {
      items.error().position = chunk.begin;
      return std::move(items).error();
    }
    return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(*items), std::move(packed.layout)));
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(auto packed, read_items(context, chunk));
    if (!packed.is_plain()) return std::shared_ptr<const Chunk>{};
    return std::shared_ptr<const Chunk>(
        std::make_shared<FileChunk>(source_, std::move(packed.layout), FileChunk::stored_at(packed.items)));
  }

 private:
  Result<Step> describe(const RequestContext& context, Position begin, const RecordHeader& header) const {
    ChunkInfo info;
    info.key = {begin, 0};
    info.begin = begin;
    info.end = begin + kRecordHeaderSize + header.length;
    info.kind = header.is_packed ? ChunkKind(Kind::kPacked, "packed") : ChunkKind(Kind::kUnpacked, "unpacked");
    info.stored_size = header.length;
    info.records = 1;
    info.decoded_size = header.length;
    info.codec = to_string(CodecId::kNone);
    if (header.is_packed) {
      auto packed = read_items(context, info);
      if (!packed) {
        if (!is_permanent(packed.error().code)) return std::move(packed).error();
        return region_step(begin, info.end, packed.error().detail, source_->size());
      }
      info.records = packed->layout.records();
      info.decoded_size = packed->layout.total();
      if (!packed->is_plain()) {
        ASSIGN_OR_RETURN(const auto front, read_up_to(context, *source_, packed->items,
                                                      std::min<std::uint64_t>(kFrontBytes, packed->stored)));
        info.codec = codec_word(*packed, front.view());
      }
    }
    Step step;
    if (info.end < source_->size()) step.next = ChunkKey{info.end, 0};
    step.chunk = info;
    return step;
  }

  // Searches for the next record from `from` on, reading about Limits::scan_bytes.
  Result<Step> search(const RequestContext& context, Position from, Loss loss) const {
    const Position size = source_->size();
    std::optional<RecordHeader> header;
    const auto test = [&](Position at, Bytes bytes) -> Result<Position> {
      header = parse_record_header(bytes);
      return header && ends_in(*header, at, size) ? at : at + 1;
    };
    const auto find = [](Bytes window) { return find_magic(window, 0); };
    const auto is_spent = [&](Position at) { return at - from >= limits_.scan_bytes; };
    WindowedReader windows(*source_, kSearchWindow);
    ASSIGN_OR_RETURN(const auto found, resync(context, windows, from, {kRecordHeaderSize, find, test, is_spent}));
    if (found.kind == ResyncResult::Kind::kFound && found.at == from) return describe(context, from, *header);
    Step step = region_step(from, found.at, reason_of(loss), size);
    if (found.kind == ResyncResult::Kind::kLater) step.next->state = static_cast<std::uint64_t>(loss);
    return step;
  }

  // Returns the chunk as stored. An unpacked record is one item.
  Result<Packed> read_items(const RequestContext& context, const ChunkInfo& chunk) const {
    const Position begin = chunk.begin + kRecordHeaderSize;
    const std::uint64_t length = chunk.end - begin;
    if (chunk.kind.as<Kind>() == Kind::kPacked) return read_packed(context, *source_, begin, length, limits_);
    Packed one{.layout = Layout(), .items = begin, .stored = length};
    one.layout.add(context, length);
    return one;
  }

  Result<void> check_limits(const ChunkInfo& chunk, const Packed& packed) const {
    if (packed.stored > limits_.stored_chunk || packed.layout.total() > limits_.decoded_chunk) {
      return Error{Code::kLimit, chunk.begin,
                   fmt::format("{} bytes in one record exceed the limit", packed.layout.total())};
    }
    return {};
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const ContainerTraits traits_;
};

}  // namespace

std::optional<RecordHeader> parse_record_header(Bytes head) {
  const auto fields = read_fields(head);
  if (!fields || !is_magic(fields->magic) || !fields->length_is_sound) return std::nullopt;
  return RecordHeader{fields->magic == kPackedMagic, fields->length};
}

bool is_damaged_header(Bytes head) {
  const auto fields = read_fields(head);
  return fields && (is_magic(fields->magic) || fields->length_is_sound);
}

bool is_cut_header(Bytes head) {
  if (head.size() < kMagicSize) return is_cut_magic(head, kMagics);
  return head.size() < kRecordHeaderSize && magic_at(head, kMagics);
}

std::size_t find_magic(Bytes bytes, std::size_t from) { return recordio::find_magic(bytes, from, kMagics); }

void append_record_header(std::string& out, const RecordHeader& header) {
  std::string length;
  append_le(length, header.length);
  append_le(out, header.is_packed ? kPackedMagic : kUnpackedMagic);
  out += length;
  append_le(out, crc32(as_bytes(length)));
}

std::unique_ptr<Container> open(std::shared_ptr<const Source> source, const Limits& limits) {
  return std::make_unique<LegacyContainer>(std::move(source), limits);
}

}  // namespace recordfs::recordio::legacy
