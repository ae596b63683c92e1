#include "core/formats/tfrecord/wire.h"

#include <algorithm>
#include <array>

#include "core/base/append.h"
#include "core/hash/crc32c.h"
#include "core/hash/wrong_byte.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::size_t kLengthSize = 8;

std::uint32_t stored_checksum(Bytes header) { return Cursor(header.subspan(kLengthSize)).u32_le(); }

std::uint32_t checksum_of(Bytes length) { return mask_crc(crc32c(length)); }

}  // namespace

std::optional<std::uint64_t> sound_length(Bytes header) {
  if (header.size() < kHeaderSize) return std::nullopt;
  if (checksum_of(header.first(kLengthSize)) != stored_checksum(header)) return std::nullopt;
  return Cursor(header).u64_le();
}

bool footer_matches(Bytes footer, std::uint32_t crc) { return Cursor(footer).u32_le() == mask_crc(crc); }

void append_record(std::string& out, Bytes data) {
  const std::size_t begin = out.size();
  append_le(out, std::uint64_t{data.size()});
  append_le(out, checksum_of(as_bytes(out).subspan(begin)));
  out += as_text(data);
  append_le(out, mask_crc(crc32c(data)));
}

std::optional<Wire::Header> Wire::parse(Bytes bytes) {
  const auto length = sound_length(bytes);
  return length ? std::optional(Header{*length}) : std::nullopt;
}

std::optional<Wire::Header> Wire::corrected(Bytes bytes, std::uint64_t room) {
  std::array<std::byte, kLengthSize> length;
  std::ranges::copy(bytes.first(kLengthSize), length.begin());
  const auto header = [&] { return Header{Cursor(length).u64_le()}; };
  const bool is_corrected = correct_one_byte(length, stored_checksum(bytes), [&] { return header().fits(room); });
  return is_corrected ? std::optional(header()) : std::nullopt;
}

Result<bool> Wire::is_sound(const RequestContext& context, const Source& source, Position at, const Header& header) {
  const Position begin = at + kHeaderSize;
  ASSIGN_OR_RETURN(const auto crc, framed::content_crc32c(context, source, begin, header.length));
  if (!crc) return false;
  ASSIGN_OR_RETURN(const auto footer, read_up_to(context, source, begin + header.length, kFooterSize));
  return footer.size() == kFooterSize && footer_matches(footer.view(), *crc);
}

Error Wire::wrong_content(Position begin, Position end) {
  return {.code = Code::kDamage, .position = begin, .detail = "a record that does not match its checksum", .end = end};
}

}  // namespace recordfs::tfrecord
