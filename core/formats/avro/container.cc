#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/codec/codec.h"
#include "core/formats/avro/encoding.h"
#include "core/formats/avro/format.h"
#include "core/formats/avro/schema.h"
#include "core/formats/block.h"
#include "core/hash/crc32.h"

namespace recordfs::avro {
namespace {

constexpr int kBidOnName = 1;
constexpr int kBidPerByte = 8;      // of the magic
constexpr int kBidOnMetadata = 40;  // beside a damaged magic
constexpr std::size_t kLeastMagic = 3;

constexpr std::string_view kSchemaKey = "avro.schema";
constexpr std::string_view kCodecKey = "avro.codec";

constexpr std::array kCodecs{
    std::pair{std::string_view("null"), CodecId::kNone},      std::pair{std::string_view("deflate"), CodecId::kDeflate},
    std::pair{std::string_view("snappy"), CodecId::kSnappy},  std::pair{std::string_view("bzip2"), CodecId::kBzip2},
    std::pair{std::string_view("zstandard"), CodecId::kZstd}, std::pair{std::string_view("xz"), CodecId::kXz},
};

// --- the header of a file

constexpr std::size_t kMagicSize = 4;
constexpr std::size_t kSyncSize = 16;
constexpr std::uint64_t kHeadSize = 4096;  // bytes of the header that are read first
constexpr std::uint64_t kLargestHeader = 64u << 20;
constexpr std::uint64_t kMostEntries = 65536;

// Returns how many bytes of the magic match those at the beginning of `head`, which may be shorter.
std::size_t matching_magic(Bytes head) {
  constexpr std::string_view kMagic = "Obj\x01";
  std::size_t matching = 0;
  for (std::size_t i = 0; i < std::min(head.size(), kMagicSize); ++i)
    matching += as_text(head)[i] == kMagic[i] ? 1u : 0u;
  return matching;
}

struct FileHeader {
  std::vector<Attribute> entries{};  // the metadata, in file order
  std::array<std::byte, kSyncSize> sync{};
  std::uint64_t size = 0;  // of the header

  // Returns the value of the last entry with this key; null if there is none.
  const std::string* find(std::string_view key) const {
    const auto found =
        std::find_if(entries.rbegin(), entries.rend(), [&](const auto& entry) { return entry.key == key; });
    return found == entries.rend() ? nullptr : &found->value;
  }
};

Error ends_inside() { return {Code::kUnfinished, 0, "the file ends inside its header"}; }
Error damaged_header() { return {Code::kDamage, 0, "the header of the file is damaged"}; }

// Returns the next long, or why there is none.
Result<std::int64_t> next_long(Cursor& cursor) {
  constexpr std::size_t kLongest = 10;
  const std::size_t room = cursor.remaining();
  const std::int64_t number = read_long(cursor);
  if (!cursor.ok()) return room < kLongest ? ends_inside() : damaged_header();
  return number;
}

// Parses the header at the beginning of `head`. Fails with kUnfinished if it may continue after `head`, and with
// kDamage. The magic may be wrong.
Result<FileHeader> parse_file_header(Bytes head) {
  Cursor cursor(head);
  cursor.skip(kMagicSize);
  FileHeader header;
  for (;;) {
    ASSIGN_OR_RETURN(const auto number, next_long(cursor));
    if (number == 0) break;
    const auto count = number > 0 ? static_cast<std::uint64_t>(number) : ~static_cast<std::uint64_t>(number) + 1;
    if (number < 0) TRY(next_long(cursor));
    if (count > kMostEntries - header.entries.size()) return damaged_header();
    for (std::uint64_t i = 0; i < 2 * count; ++i) {
      ASSIGN_OR_RETURN(const auto size, next_long(cursor));
      if (size < 0) return damaged_header();
      const Bytes bytes = cursor.take(static_cast<std::uint64_t>(size));
      if (!cursor.ok()) return ends_inside();
      if (i % 2 == 0) header.entries.push_back({std::string(as_text(bytes)), "", ""});
      if (i % 2 == 1) header.entries.back().value = as_text(bytes);
    }
  }
  const Bytes sync = cursor.take(kSyncSize);
  if (!cursor.ok()) return ends_inside();
  std::ranges::copy(sync, header.sync.begin());
  header.size = cursor.offset();
  return header;
}

// --- payloads

constexpr std::size_t kCrcSize = 4;

struct Unpacked {
  Buffer bytes;
  bool has_checksum = false;
};

// The CRC-32 of the payload follows the compressed bytes. Old writers in Ruby omit it.
Result<Unpacked> unpack_snappy(const RequestContext& context, Bytes stored, std::uint64_t limit) {
  const std::size_t packed = stored.size() - std::min(stored.size(), kCrcSize);
  auto bytes = decompress(context, CodecId::kSnappy, stored.first(packed), 0, limit);
  if (bytes && crc32(bytes->view()) != Cursor(stored.subspan(packed)).u32_be()) {
    return Error{Code::kDamage, 0, "the checksum of the block does not match"};
  }
  if (bytes) return Unpacked{std::move(*bytes), true};
  if (bytes.error().code != Code::kDamage) return std::move(bytes).error();
  auto without = decompress(context, CodecId::kSnappy, stored, 0, limit);
  if (!without) return std::move(bytes).error();
  return Unpacked{std::move(*without), false};
}

// Python's writer leaves bytes of a zlib stream's checksum after the deflate stream.
Result<Buffer> unpack_deflate(const RequestContext& context, Bytes stored, std::uint64_t limit) {
  constexpr std::size_t kMostAfter = 4;
  ASSIGN_OR_RETURN(auto front, decompress_front(context, CodecId::kDeflate, stored, 0, limit));
  if (stored.size() - front.used > kMostAfter) {
    return Error{Code::kDamage, 0,
                 fmt::format("{} after the end of the stream", counted(stored.size() - front.used, "byte"))};
  }
  return std::move(front.content);
}

// Returns whether every stream in `stored`, which can be decompressed, has a checksum of its content.
bool has_checksum_inside(CodecId codec, Bytes stored) {
  constexpr std::size_t kDescriptor = 4;  // of a zstd frame, after the magic
  constexpr std::byte kHasChecksum{4};
  constexpr std::size_t kCheck = 7;  // of an .xz stream: the kind of its checks
  constexpr std::byte kCheckMask{0x0F};
  if (codec == CodecId::kBzip2) return true;
  if (codec == CodecId::kXz) return stored.size() > kCheck && (stored[kCheck] & kCheckMask) != std::byte{0};
  return codec == CodecId::kZstd && stored.size() > kDescriptor && zstd_frame_size(stored) == stored.size() &&
         (stored[kDescriptor] & kHasChecksum) != std::byte{0};
}

Result<Unpacked> unpack(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t limit) {
  if (codec == CodecId::kSnappy) return unpack_snappy(context, stored, limit);
  auto bytes = codec == CodecId::kDeflate ? unpack_deflate(context, stored, limit)
                                          : decompress(context, codec, stored, 0, limit);
  if (!bytes) return std::move(bytes).error();
  return Unpacked{std::move(*bytes), has_checksum_inside(codec, stored)};
}

// --- blocks

// What the header of a file says, as far as it is valid.
struct FileFacts {
  FileHeader header{};
  std::string codec_name = "null";
  std::optional<CodecId> codec = CodecId::kNone;  // nullopt: recordfs does not read it
  std::shared_ptr<const Schema> schema{};         // null: a block is one record
  std::string schema_error{};                     // why it is null
  BlockFileHead head{};
};

// As BlockWire.
class Wire {
 public:
  static constexpr std::uint64_t kLongestHeader = 20;

  Wire(std::shared_ptr<const FileFacts> facts, const Limits& limits) : facts_(std::move(facts)), limits_(limits) {}

  Bytes marker() const { return facts_->header.sync; }
  std::string_view codec() const { return facts_->codec ? to_string(*facts_->codec) : std::string_view("-"); }
  std::optional<std::uint64_t> records_of(const BlockHeader& header) const {
    if (header.records == 0 && header.stored > 0) return std::nullopt;
    return facts_->schema ? header.records : std::min<std::uint64_t>(header.records, 1);
  }

  BlockReading parse(Bytes bytes) const {
    Cursor cursor(bytes);
    const std::int64_t count = read_long(cursor);
    const std::int64_t stored = read_long(cursor);
    if (!cursor.ok() && bytes.size() < kLongestHeader) return {.verdict = BlockReading::Verdict::kNeedMore};
    if (!cursor.ok() || count < 0 || stored < 0) return {.reason = "the header of the block is wrong"};
    BlockHeader header{cursor.offset(), static_cast<std::uint64_t>(stored), static_cast<std::uint64_t>(count)};
    if (facts_->schema && header.records > limits_.records_per_chunk) {
      return {.reason = fmt::format("{} records in one block exceed the limit", count)};
    }
    if (facts_->schema && facts_->codec == CodecId::kNone) {
      const std::uint64_t least = facts_->schema->least_size();
      const std::uint64_t most = least > 0 ? header.stored / least : UINT64_MAX;
      const bool is_fixed = facts_->schema->fixed_size().has_value();
      if (header.records > most || (is_fixed && header.records * least != header.stored)) {
        return {.reason = "the size of the block is not that of its records"};
      }
      if (is_fixed) header.decoded_size = header.stored;
    }
    return {.verdict = BlockReading::Verdict::kSound, .header = header};
  }

  Result<BlockContent> decode(const RequestContext& context, const BlockHeader& header, Bytes stored) const {
    if (!facts_->codec) {
      return Error{Code::kUnsupported, 0,
                   fmt::format("the codec \"{}\" is not supported", printable(facts_->codec_name))};
    }
    ASSIGN_OR_RETURN(auto unpacked, unpack(context, *facts_->codec, stored, limits_.decoded_chunk));
    BlockContent content{.bytes = std::move(unpacked.bytes), .layout = Layout()};
    if (!unpacked.has_checksum) content.layout.set_unchecked();
    if (!facts_->schema && header.records > 0) {
      content.layout.add(context, content.bytes.size());
    } else {
      TRY(split(context, header.records, content));
    }
    return content;
  }

 private:
  // Finds the records of a payload. If it ends early, or a record does not match the schema, the rest of them have
  // failed. If bytes are left over, it is not known which record is wrong, and all have.
  Result<void> split(const RequestContext& context, std::uint64_t records, BlockContent& content) const {
    Cursor cursor(content.bytes.view());
    content.layout.reserve(context, std::min<std::uint64_t>(records, content.bytes.size()));
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::size_t begin = cursor.offset();
      auto skipped = facts_->schema->skip(cursor);
      if (skipped) {
        content.layout.add(context, cursor.offset() - begin);
        continue;
      }
      if (i == 0) return skipped;
      content.bytes.truncate(begin);
      TRY(content.bytes.grow(context, begin + static_cast<std::size_t>(records - i)));
      std::ranges::fill(content.bytes.span().subspan(begin), std::byte{0});
      content.layout.add_failed(context, records - i, 1, std::move(skipped).error());
      return {};
    }
    if (cursor.at_end()) return {};
    return Error{
        Code::kDamage, 0,
        fmt::format("{} after the {} of the block", counted(cursor.remaining(), "byte"), counted(records, "record"))};
  }

  std::shared_ptr<const FileFacts> facts_;
  Limits limits_;
};

// --- the file

class AvroFile final : public BlockContainer<Wire>, private Metadata {
 public:
  AvroFile(std::shared_ptr<const Source> source, const Limits& limits, std::shared_ptr<const FileFacts> facts)
      : BlockContainer(std::move(source), limits, Wire(facts, limits), facts->head),
        facts_(std::move(facts)),
        traits_(make_traits()),
        schema_{.value = {}, .may_be_message = false} {
    if (facts_->schema) {
      schema_.value = [known = facts_->schema, most = limits](Bytes record, ValueForm) {
        return known->value(record, most);
      };
    }
  }

  const ContainerTraits& traits() const override { return traits_; }
  const Metadata* metadata() const override { return this; }
  const RecordSchema& schema() const override { return schema_; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    const bool is_too_much =
        facts_->head.size > limits().metadata_bytes || facts_->header.entries.size() > limits().metadata_values;
    if (is_too_much) return Error{Code::kLimit, 0, "the metadata exceeds the limit"};
    return facts_->header.entries;
  }

  ContainerTraits make_traits() const {
    std::vector<Fact> facts{{"version", "1"}};
    if (facts_->schema) facts.push_back({"schema", std::string(facts_->schema->name())});
    if (!facts_->schema_error.empty()) facts.push_back({"schema_error", facts_->schema_error});
    if (!facts_->codec) facts.push_back({"unsupported_codec", printable(facts_->codec_name)});
    const bool has_checksums = facts_->codec && *facts_->codec != CodecId::kNone && *facts_->codec != CodecId::kDeflate;
    return {.format = kFormat.name,
            .facts = std::move(facts),
            .index_fits_in_chunk = false,
            .headers_have_checksums = false,
            .records_have_checksums = has_checksums};
  }

  const std::shared_ptr<const FileFacts> facts_;
  const ContainerTraits traits_;
  RecordSchema schema_;
};

int bid_on(Bytes head) {
  const std::size_t matching = matching_magic(head);
  if (matching == std::min(head.size(), kMagicSize) && matching >= kLeastMagic) {
    return static_cast<int>(matching) * kBidPerByte;
  }
  const std::string_view text = as_text(head);
  const bool has_metadata =
      text.find(kSchemaKey) != std::string_view::npos || text.find(kCodecKey) != std::string_view::npos;
  return matching >= kLeastMagic && has_metadata ? kBidOnMetadata : 0;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth) {
  if (source.size() == 0) return file_name.ends_with(".avro") ? kBidOnName : 0;
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kHeadSize));
  return bid_on(head.view());
}

// Reads the header, in pieces of growing size. Fails as parse_file_header().
Result<std::shared_ptr<FileFacts>> read_facts(const RequestContext& context, const Source& source) {
  for (std::uint64_t size = kHeadSize;; size *= 4) {
    ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, size));
    auto header = parse_file_header(head.view());
    auto unreadable = source.unreadable_in(0, header ? header->size : head.size());
    if (unreadable) return std::move(*unreadable);
    const bool may_continue = !header && header.error().code == Code::kUnfinished && head.size() < source.size();
    if (may_continue && size <= kLargestHeader) continue;
    if (may_continue) return Error{Code::kDamage, 0, "the header of the file is damaged"};
    if (!header) return std::move(header).error();
    const auto facts = std::make_shared<FileFacts>();
    facts->header = std::move(*header);
    facts->head.size = facts->header.size;
    if (const auto* const codec = facts->header.find(kCodecKey)) facts->codec_name = *codec;
    facts->codec.reset();
    for (const auto& [name, codec] : kCodecs) {
      if (name == facts->codec_name) facts->codec = codec;
    }
    const auto* const text = facts->header.find(kSchemaKey);
    auto schema = text != nullptr ? Schema::parse(as_bytes(*text)) : Error{.detail = "the file has no schema"};
    if (schema) {
      facts->schema = std::make_shared<Schema>(std::move(*schema));
    } else {
      facts->schema_error = schema.error().detail;
    }
    std::string_view why = facts->schema_error;
    if (matching_magic(head.view()) < kMagicSize) why = "the magic of the file is wrong";
    if (!why.empty()) {
      facts->head.damage = damaged_region(0, facts->head.size, why);
      facts->head.damage->records_lost = 0;
    }
    return facts;
  }
}

// Nothing can be read without the header.
BlockFileHead unreadable(std::uint64_t size, const Error& why) {
  const bool is_torn = why.code == Code::kUnfinished;
  return {size, damaged_region(0, size, why.detail, is_torn ? DamageClass::kUnfinished : DamageClass::kDamage)};
}

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  auto facts = std::make_shared<FileFacts>();
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto head, read_up_to(context, *source, 0, kHeadSize));
    if (bid_on(head.view()) == 0)
      return Error{.code = Code::kNoContainer, .detail = "no header of an Avro file was found"};
    auto read = read_facts(context, *source);
    if (!read && !is_permanent(read.error().code)) return std::move(read).error();
    if (!read) facts->head = unreadable(source->size(), read.error());
    if (read) facts = std::move(*read);
  }
  return std::unique_ptr<Container>(std::make_unique<AvroFile>(std::move(source), limits, std::move(facts)));
}

}  // namespace

const Format kFormat = {.name = "avro", .probe = probe, .open = open, .suffixes = ".avro"};

}  // namespace recordfs::avro
