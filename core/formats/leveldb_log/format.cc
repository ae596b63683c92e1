#include "core/formats/leveldb_log/format.h"

#include <algorithm>
#include <charconv>

#include "core/formats/leveldb_log/container.h"
#include "core/formats/leveldb_log/head.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kLeastDigits = 6;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// NNNNNN.log or MANIFEST-NNNNNN: the only evidence for an empty log.
bool is_log_name(std::string_view name) {
  if (name.ends_with(".log")) return true;
  constexpr std::string_view kManifest = "MANIFEST-";
  if (!name.starts_with(kManifest)) return false;
  name.remove_prefix(kManifest.size());
  return name.size() >= kLeastDigits && std::ranges::all_of(name, is_digit);
}

Result<int> probe(const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_log_name(file_name) ? 1 : 0;
  ASSIGN_OR_RETURN(const auto head, read_head(source, depth));
  return head ? head->bid : 0;
}

// Returns the number in "000016.log", as a recyclable header stores it.
std::optional<std::uint32_t> log_number_in(std::string_view name) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(name.data() + name.size() - parsed.ptr));
  if (parsed.ec != std::errc{} || name.size() - rest.size() < kLeastDigits || rest != ".log") return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto head, read_head(*source, ProbeDepth::kSearch));
  if (!head && source->size() > 0) {
    return Error{Code::kNoContainer, 0, "no fragment of a LevelDB log has a matching checksum"};
  }
  Head known = head.value_or(Head{});
  known.number_in_name = known.session.log_number && log_number_in(source->name()) == known.session.log_number;
  return std::unique_ptr<Container>(std::make_unique<LogContainer>(std::move(source), limits, known));
}

}  // namespace

const Format kFormat = {.name = "leveldb-log", .probe = probe, .open = open};

}  // namespace recordfs::leveldb_log
