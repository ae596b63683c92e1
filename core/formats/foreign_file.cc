#include "core/formats/foreign_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/base/cursor.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kMagicSize = 8;

struct KnownMagic {
  std::uint64_t magic;
  ForeignFile file;
};

constexpr ForeignFile kPlainTable{"plain table of RocksDB", "sst_dump --file=FILE --command=scan"};
constexpr ForeignFile kCuckooTable{"cuckoo table of RocksDB", "sst_dump --file=FILE --command=scan"};
constexpr ForeignFile kPebbleTable{"table in a format of Pebble's own", "pebble sstable scan FILE"};
constexpr ForeignFile kTitanBlobs{"blob file of Titan", "titan_blob_file_dump --path=FILE"};

// By the last 8 bytes.
constexpr std::array kLast = {KnownMagic{0x8242229663bf9564, kPlainTable}, KnownMagic{0x4f3418eb7a8f13b8, kPlainTable},
                              KnownMagic{0x926789d0c5f17873, kCuckooTable},
                              KnownMagic{0xb3aa9ff0b3aa9ff0, kPebbleTable},
                              KnownMagic{0x2be0a6148e39edc6, kTitanBlobs}};

// A blob file of Titan without its end: the magic and a version.
bool begins_titan(Bytes head) {
  constexpr std::uint32_t kMagic = 0x2be0a614;
  constexpr std::uint32_t kMostVersion = 3;
  Cursor cursor(head);
  const bool has_magic = cursor.u32_le() == kMagic;
  const std::uint32_t version = cursor.u32_le();
  return has_magic && cursor.ok() && version >= 1 && version <= kMostVersion;
}

namespace fs = std::filesystem;

bool is_backup(const fs::path& directory) {
  const auto has = [&](const char* name) {
    std::error_code ignored;
    return fs::is_directory(directory / name, ignored);
  };
  return has("meta") && has("private") && (has("shared_checksum") || has("shared"));
}

}  // namespace

std::string ForeignFile::text() const { return fmt::format("{}, which recordfs does not read (try: {})", what, hint); }

Result<std::optional<ForeignFile>> recognize_foreign_file(const RequestContext& context, const Source& source) {
  if (source.size() < kMagicSize) return std::optional<ForeignFile>{};
  ASSIGN_OR_RETURN(const auto tail, read_up_to(context, source, source.size() - kMagicSize, kMagicSize));
  Cursor cursor(tail.view());
  const std::uint64_t magic = cursor.u64_le();
  const auto* const found = std::ranges::find(kLast, magic, &KnownMagic::magic);
  if (cursor.ok() && found != kLast.end()) return std::optional(found->file);
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kMagicSize));
  return begins_titan(head.view()) ? std::optional(kTitanBlobs) : std::nullopt;
}

std::optional<std::string> recognize_backup(const std::string& directory) {
  std::error_code ignored;
  const fs::path path = fs::absolute(directory, ignored).lexically_normal();
  const fs::path here = path.has_filename() ? path : path.parent_path();
  const fs::path above = here.parent_path();  // of private/NUMBER
  const auto restore = [](const fs::path& backup) {
    return fmt::format("(try: ldb restore --backup_dir={} --db=NEW_DIRECTORY)", backup.string());
  };
  if (is_backup(here)) return "backup directory of RocksDB's BackupEngine " + restore(here);
  if (above.filename() != "private" || !is_backup(above.parent_path())) return std::nullopt;
  return "part of a backup by RocksDB's BackupEngine " + restore(above.parent_path());
}

}  // namespace recordfs
