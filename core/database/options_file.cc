#include "core/database/options_file.h"

#include <optional>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/parse_number.h"

namespace recordfs::database {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
constexpr std::string_view kSpace = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Removes the backslashes before escaped characters, and what follows a '#' without one.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size() && text[i] != '#'; ++i) {
    const bool is_escaped = text[i] == '\\' && i + 1 < text.size();
    if (is_escaped) ++i;
    plain += is_escaped && text[i] == 'n' ? '\n' : is_escaped && text[i] == 'r' ? '\r' : text[i];
  }
  return std::string(trimmed(plain));
}

// Returns the quoted name in a section such as `[CFOptions "default"]`; nullopt if it is another section.
std::optional<std::string> family_of_section(std::string_view line) {
  constexpr std::string_view kBegin = "[CFOptions \"";
  constexpr std::string_view kEnd = "\"]";
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd) || line.size() < kBegin.size() + kEnd.size()) {
    return std::nullopt;
  }
  return unescaped(line.substr(kBegin.size(), line.size() - kBegin.size() - kEnd.size()));
}

std::string value_of(std::string_view text) {
  const std::string value = unescaped(text);
  return value == "nullptr" ? std::string() : value;
}

RecoveryMode recovery_mode_of(std::string_view value) {
  if (value == "kTolerateCorruptedTailRecords") return RecoveryMode::kTolerateTail;
  if (value == "kAbsoluteConsistency") return RecoveryMode::kAbsolute;
  if (value == "kSkipAnyCorruptedRecords") return RecoveryMode::kSkipDamage;
  return RecoveryMode::kPointInTime;
}

// Returns the first number of a version such as "7.8.3"; 0 if there is none.
std::uint64_t major_version(std::string_view version) {
  const std::string_view text = trimmed(version);
  return parse_number<std::uint64_t>(text.substr(0, text.find('.'))).value_or(0);
}

}  // namespace

const OptionsFile::OfFamily* OptionsFile::family(std::string_view name) const {
  const auto found = families.find(name);
  return found == families.end() ? nullptr : &found->second;
}

std::string OptionsFile::only_comparator(const std::set<std::string>& others) const {
  std::set<std::string> comparators;
  for (const auto& [name, family] : families) {
    if (!others.contains(name)) comparators.insert(family.comparator);
  }
  return comparators.size() == 1 ? *comparators.begin() : std::string();
}

std::optional<std::uint64_t> options_file_number(std::string_view name) {
  constexpr std::string_view kPrefix = "OPTIONS-";
  return name.starts_with(kPrefix) ? parse_number<std::uint64_t>(name.substr(kPrefix.size())) : std::nullopt;
}

OptionsFile parse_options(std::string_view text) {
  OptionsFile options;
  options.reuses_manifest = false;
  OptionsFile::OfFamily* family = nullptr;
  bool is_database = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with('[')) {
      const auto name = family_of_section(line);
      family = name ? &options.families[*name] : nullptr;
      is_database = line == "[DBOptions]";
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    const std::string_view value = line.substr(equals + 1);
    // Since RocksDB 7 at the latest.
    if (name == "rocksdb_version") options.writes_delimiters = major_version(value) >= 7;
    if (is_database && name == "reuse_manifest_on_open") options.reuses_manifest = trimmed(value) != "false";
    if (is_database && name == "wal_dir") options.wal_directory = value_of(value);
    if (is_database && name == "wal_recovery_mode") options.recovery_mode = recovery_mode_of(value_of(value));
    if (family == nullptr) continue;
    if (name == "comparator") family->comparator = value_of(value);
    if (name == "persist_user_defined_timestamps") family->persists_timestamps = trimmed(value) != "false";
    if (name == "merge_operator") family->merge_operator = value_of(value);
  }
  return options;
}

Result<OptionsFile> read_options(const RequestContext& context, const Source& source) {
  if (source.size() > kMostBytes) return Error{Code::kLimit, 0, "the file of options is too large"};
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, 0, source.size()));
  return parse_options(as_text(bytes.view()));
}

}  // namespace recordfs::database
