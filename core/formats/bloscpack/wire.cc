#include "core/formats/bloscpack/wire.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/codec/blosc.h"

namespace recordfs::bloscpack {
namespace {

constexpr std::uint8_t kOffsetsOption = 0x01;
constexpr std::uint8_t kMetadataOption = 0x02;
constexpr std::uint8_t kVariableOption = 0x04;
constexpr std::size_t kHeaderSize0 = 8;
constexpr std::size_t kHeaderSize1 = 16;
constexpr std::size_t kVersionField = 4;
constexpr std::size_t kOptionsField = 5;
constexpr std::size_t kChecksumField = 6;

Error unfinished(std::size_t size) { return {Code::kUnfinished, size, "the file ends inside its header"}; }

// The digests by their number in the file, starting at 1.
constexpr std::array kDigests = {DigestId::kAdler32, DigestId::kCrc32,  DigestId::kMd5,    DigestId::kSha1,
                                 DigestId::kSha224,  DigestId::kSha256, DigestId::kSha384, DigestId::kSha512};

Result<std::optional<DigestId>> digest_of(std::uint8_t number) {
  if (number == 0) return std::optional<DigestId>{};
  if (number <= kDigests.size()) return std::optional(kDigests[number - 1u]);
  return Error{.code = Code::kUnsupported, .detail = fmt::format("unknown checksum {}", number)};
}

// Version 0 has no version byte; it is recognized by a chunk directly after the count.
bool is_version0(Bytes head, std::uint64_t file_size) {
  if (head.size() < kHeaderSize0 + kBloscHeaderSize) return false;
  const auto first = parse_blosc_header(head.subspan(kHeaderSize0));
  return first && first->stored_size <= file_size - kHeaderSize0;
}

FileHeader version0(Bytes head) {
  Cursor cursor(head);
  cursor.skip(kVersionField);
  FileHeader header;
  header.dialect = Dialect::kVersion0;
  header.size = kHeaderSize0;
  header.chunks = cursor.u32_le();
  return header;
}

Result<FileHeader> version1(Bytes head) {
  Cursor cursor(head);
  cursor.skip(kVersionField);
  const std::uint32_t version = cursor.u32_le();
  FileHeader header;
  header.dialect = Dialect::kVersion1;
  header.version = 1;
  header.size = kHeaderSize1;
  header.chunks = static_cast<std::int64_t>(cursor.u64_le());
  if (!cursor.ok()) return unfinished(head.size());
  if (version != 1) return Error{Code::kUnsupported, kOptionsField, "version 1 has no options"};
  return header;
}

Result<FileHeader> later_version(Bytes head, std::uint8_t version, std::uint8_t options) {
  Cursor cursor(head);
  cursor.skip(kChecksumField);
  FileHeader header;
  header.version = version;
  header.dialect = version == 2 ? Dialect::kVersion2 : Dialect::kVersion3;
  if ((options & kVariableOption) != 0) header.dialect = Dialect::kVariable;
  header.has_offsets = (options & kOffsetsOption) != 0;
  header.has_metadata = (options & kMetadataOption) != 0 && header.dialect != Dialect::kVersion2;
  auto digest = digest_of(cursor.u8());
  header.typesize = cursor.u8();
  header.chunk_size = static_cast<std::int32_t>(cursor.u32_le());
  header.last_chunk = static_cast<std::int32_t>(cursor.u32_le());
  header.chunks = static_cast<std::int64_t>(cursor.u64_le());
  const std::uint64_t last = cursor.u64_le();
  if (header.dialect == Dialect::kVersion3) header.spare_offsets = static_cast<std::int64_t>(last);
  if (header.dialect == Dialect::kVariable) header.metadata_size = static_cast<std::int32_t>(last & 0xFFFFFFFF);
  if (!cursor.ok()) return unfinished(head.size());
  if (!digest) return Error{Code::kUnsupported, kChecksumField, std::move(digest).error().detail};
  header.digest = *digest;
  return header;
}

}  // namespace

std::string_view magic() { return "blpk"; }

Result<FileHeader> parse_file_header(Bytes head, std::uint64_t file_size) {
  if (is_version0(head, file_size)) return version0(head);
  Cursor cursor(head);
  cursor.skip(kVersionField);
  const std::uint8_t version = cursor.u8();
  const std::uint8_t options = cursor.u8();
  if (!cursor.ok()) return unfinished(head.size());
  if (version == 1 && (options & kVariableOption) == 0) return version1(head);
  if (options > (kOffsetsOption | kMetadataOption | kVariableOption)) {
    return Error{Code::kUnsupported, kOptionsField, fmt::format("unknown options {:#04x}", options)};
  }
  if (version != 2 && version != 3 && (options & kVariableOption) == 0) {
    return Error{Code::kUnsupported, kVersionField, fmt::format("unknown version {}", version)};
  }
  return later_version(head, version, options);
}

std::string file_header_bytes(const FileHeader& header) {
  const bool is_variable = header.dialect == Dialect::kVariable;
  std::string bytes(magic());
  bytes.push_back(static_cast<char>(is_variable ? header.version : 3));
  bytes.push_back(static_cast<char>((header.has_offsets ? kOffsetsOption : 0) |
                                    (header.has_metadata ? kMetadataOption : 0) | (is_variable ? kVariableOption : 0)));
  const auto* const digest = header.digest ? std::ranges::find(kDigests, *header.digest) : kDigests.begin();
  bytes.push_back(static_cast<char>(header.digest ? digest - kDigests.begin() + 1 : 0));
  bytes.push_back(static_cast<char>(header.typesize));
  append_le(bytes, static_cast<std::uint32_t>(header.chunk_size));
  append_le(bytes, static_cast<std::uint32_t>(header.last_chunk));
  append_le(bytes, static_cast<std::uint64_t>(header.chunks));
  append_le(bytes, is_variable ? static_cast<std::uint32_t>(header.metadata_size)
                               : static_cast<std::uint64_t>(header.spare_offsets));
  return bytes;
}

Result<MetadataHeader> parse_metadata_header(Bytes head) {
  constexpr std::string_view kJson("JSON\0\0\0\0", 8);
  Cursor cursor(head);
  MetadataHeader header;
  header.is_json = std::ranges::equal(cursor.take(kJson.size()), as_bytes(kJson));
  cursor.u8();  // options; none are defined
  auto digest = digest_of(cursor.u8());
  header.codec = cursor.u8();
  cursor.u8();  // the level, which concerns writers only
  header.size = cursor.u32_le();
  header.room = cursor.u32_le();
  header.stored_size = cursor.u32_le();
  cursor.skip(8);
  if (!cursor.ok()) return Error{.code = Code::kUnfinished, .detail = "the file ends inside its metadata"};
  if (!digest) return Error{.code = Code::kUnsupported, .detail = "metadata: " + digest.error().detail};
  header.digest = *digest;
  return header;
}

}  // namespace recordfs::bloscpack
