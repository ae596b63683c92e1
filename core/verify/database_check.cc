#include "core/verify/database_check.h"

#include <string_view>
#include <utility>

#include "core/database/database.h"
#include "core/database/uncertain_keys.h"
#include "core/hash/crc32c.h"

namespace recordfs {
namespace {

// The only function that RocksDB brings with it. Its value is the CRC-32C of the file, as 4 bytes, the highest first.
constexpr std::string_view kCrcOfFile = "FileChecksumCrc32c";

std::string crc_value(std::uint32_t crc) {
  std::string value;
  for (int shift = 24; shift >= 0; shift -= 8) value += static_cast<char>(crc >> shift & 0xff);
  return value;
}

}  // namespace

std::string_view word_of(const Error& error) {
  return error.code == Code::kNotFound ? "damage" : finding_of(error).word;
}

bool is_known(const database::FileChecksum& checksum) { return checksum.function == kCrcOfFile; }

std::optional<Finding> compare_checksum(const Source& file, const database::FileChecksum& checksum,
                                        const std::function<bool()>& goes_on) {
  constexpr std::uint64_t kPiece = 1u << 20;
  std::uint32_t crc = 0;
  for (Position at = 0; at < file.size(); at += kPiece) {
    if (!goes_on()) return std::nullopt;
    const auto piece = read_up_to({}, file, at, kPiece);
    if (!piece) return finding_of(piece.error());
    crc = crc32c(piece->view(), crc);
  }
  if (crc_value(crc) == checksum.value) return std::nullopt;
  return finding_of_file("damage", "the checksum of the file is not that in the MANIFEST", Impact::kDamage);
}

Result<std::optional<Finding>> find_stale_keys(const std::string& directory, const database::Options& options,
                                               const std::function<bool()>& goes_on) {
  ASSIGN_OR_RETURN(const auto opened, database::Database::open({}, directory, options));
  UncertainKeys uncertain;
  for (const database::Family& family : opened->families()) {
    const auto keys = opened->keys(family.id, {});
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_key, keys->next({}));
      if (!has_key || !goes_on()) break;
      uncertain.add(keys->version());
    }
  }
  if (uncertain.stale == 0) return std::optional<Finding>{};
  return std::optional(finding_of_file("stale", uncertain.stale_text(), Impact::kDamage));
}

}  // namespace recordfs
