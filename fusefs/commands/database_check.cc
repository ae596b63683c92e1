#include "fusefs/commands/database_check.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/database/database.h"
#include "core/database/directory.h"
#include "core/database/table.h"
#include "core/hash/crc32c.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/key_text.h"
#include "fusefs/commands/progress.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

using database::FileKind;
using State = database::File::State;

constexpr std::size_t kMostValues = 1000;  // unreadable ones that are reported

Finding make_finding(std::string_view word, std::string reason, int status) {
  return {.word = word, .reason = std::move(reason), .is_of_whole_file = true, .status = status};
}

// Returns the word for a problem, or for a table that cannot be opened. A missing file is damage of the database.
std::string_view word_of(const Error& error) {
  return error.code == Code::kNotFound ? "damage" : finding_of(error).word;
}

bool is_verified_alone(const database::File& file) {
  return file.kind == FileKind::kManifest || file.kind == FileKind::kLog || file.kind == FileKind::kTable ||
         file.kind == FileKind::kBlob;
}

class Check {
 public:
  // `current`: the MANIFEST that CURRENT names; empty: unknown.
  Check(const database::Database& database, std::string current) : database_(database), current_(std::move(current)) {}

  Result<DatabaseCheck> run() {
    for (const database::File& file : database_.files()) add(file);
    if (database_.summary().blob_files > 0) {
      for (const database::Family& family : database_.families()) TRY(read_blobs(family));
    }
    // Last, because reading may find more.
    for (const database::Problem& problem : database_.problems()) add(problem);
    return std::move(check_);
  }

 private:
  void add(const database::File& file) {
    if (file.state == State::kMissing) {
      return add(file.name,
                 make_finding("missing", "the MANIFEST names this file, and it does not exist", kExitDamage));
    }
    if (is_verified_alone(file)) check_.files.push_back(file);
    // A damaged MANIFEST is not part of the state, but the database still uses it.
    if (file.state == State::kObsolete && file.name != current_) {
      const bool is_spare = file.kind == FileKind::kLog && database_.summary().engine == "RocksDB";
      return add(file.name, make_finding(is_spare ? kSpare : kSurplus, "not part of the database's state", kExitGood));
    }
    if (file.expected_size && *file.expected_size != file.size) {
      add(file.name,
          make_finding("wrong size", fmt::format("{} bytes, and {} in the MANIFEST", file.size, *file.expected_size),
                       kExitDamage));
    }
  }

  void add(const database::Problem& problem) {
    const auto found = check_.findings.find(problem.file);
    const bool is_end = !problem.loses_data && problem.error.code == Code::kUnfinished;
    if (is_end) check_.ends_of_logs.emplace(problem.file, problem.error.position);
    const bool is_known = found != check_.findings.end() && found->second.front().status == kExitDamage;
    if (!problem.loses_data || is_known) return;
    add(problem.file, make_finding(word_of(problem.error), reason_of(problem), status_of(problem)));
  }

  void add(const std::string& file, Finding finding) { check_.findings[file].push_back(std::move(finding)); }

  Result<void> read_blobs(const database::Family& family) {
    const auto keys = database_.keys(family.id, {});
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_key, keys->next({}));
      if (!has_key) return {};
      if (!keys->version().is_in_blob_file) continue;
      const auto value = keys->value({});
      if (value || unreadable_ == kMostValues) continue;
      ++unreadable_;
      const std::string reason = fmt::format("key {}: {}", escaped_key(keys->key()), value.error().detail);
      add("", make_finding("value", reason, status_of({.file = {}, .error = value.error()})));
    }
  }

  const database::Database& database_;
  const std::string current_;
  DatabaseCheck check_;
  std::size_t unreadable_ = 0;
};

// The only function that RocksDB brings with it. Its value is the CRC-32C of the file, as 4 bytes, the highest first.
constexpr std::string_view kCrcOfFile = "FileChecksumCrc32c";

std::string crc_value(std::uint32_t crc) {
  std::string value;
  for (int shift = 24; shift >= 0; shift -= 8) value += static_cast<char>(crc >> shift & 0xff);
  return value;
}

}  // namespace

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
  return make_finding("damage", "the checksum of the file is not that in the MANIFEST", kExitDamage);
}

std::optional<Finding> check_table(const std::string& path, const Limits& limits) {
  auto source = FileSource::open(path);
  if (!source) return finding_of(source.error());
  const auto opened = database::Table::open({}, {std::move(*source)}, {}, limits);
  if (opened) return std::nullopt;
  const Error& why = opened.error();
  return make_finding(word_of(why), why.detail, status_of_reading(why));
}

Result<DatabaseCheck> check_database(const std::string& directory, const database::Options& options) {
  ASSIGN_OR_RETURN(const auto opened, database::Database::open({}, directory, options));
  const database::OpenFiles files(directory, 1, {});
  return Check(*opened, database::read_current({}, files).value_or(std::string())).run();
}

Result<std::optional<Finding>> find_stale_keys(const std::string& directory, const database::Options& options) {
  ASSIGN_OR_RETURN(const auto opened, database::Database::open({}, directory, options));
  UncertainKeys uncertain;
  for (const database::Family& family : opened->families()) {
    const auto keys = opened->keys(family.id, {});
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_key, keys->next({}));
      if (!has_key || Interruption::came()) break;
      uncertain.add(keys->version());
    }
  }
  if (uncertain.stale == 0) return std::optional<Finding>{};
  return std::optional(make_finding("stale", uncertain.stale_text(), kExitDamage));
}

}  // namespace recordfs
