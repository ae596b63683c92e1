#include "core/store/stored_file.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"

namespace recordfs {
namespace {

bool is_unfinished(const DamagedRegion& region) { return region.damage_class == DamageClass::kUnfinished; }

// Returns where the unfinished part of a step begins, including the chunk that holds it. Returns nullopt if there is
// none, or if it precedes something else.
std::optional<Position> unfinished_from(const Step& step) {
  const auto first = std::ranges::find_if(step.damage, is_unfinished);
  if (first == step.damage.end() || !std::all_of(first, step.damage.end(), is_unfinished)) return std::nullopt;
  if (!step.chunk || step.chunk->end <= first->begin) return first->begin;
  if (step.chunk->begin > first->begin) return std::nullopt;
  return step.chunk->begin;
}

class CompletePrefix final : public ForwardingContainer {
 public:
  CompletePrefix(std::unique_ptr<const Container> whole, Position size)
      : ForwardingContainer(std::move(whole)), size_(size) {}
  // Chunks after the prefix must not be read.
  const BulkReader* bulk() const override { return nullptr; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  const TrailerReader* trailer() const override;

 private:
  Result<bool> is_tail(const RequestContext& context, const Step& step) const;

  const Position size_;
  mutable std::once_flag asked_trailer_;
  mutable bool has_trailer_ = false;
};

// Returns whether only unfinished regions follow a step.
Result<bool> CompletePrefix::is_tail(const RequestContext& context, const Step& step) const {
  for (std::optional<ChunkKey> next = step.next; next;) {
    ASSIGN_OR_RETURN(const auto after, below().scan(context, *next));
    if (after.chunk || !std::ranges::all_of(after.damage, is_unfinished)) return false;
    next = after.next;
  }
  return true;
}

Result<Step> CompletePrefix::scan(const RequestContext& context, ChunkKey at) const {
  ASSIGN_OR_RETURN(auto step, below().scan(context, at));
  const auto end = unfinished_from(step);
  if (!end) return step;
  ASSIGN_OR_RETURN(const auto tail, is_tail(context, step));
  if (!tail) return step;
  if (step.chunk && step.chunk->end > *end) step.chunk.reset();
  std::erase_if(step.damage, [&](const DamagedRegion& region) { return region.begin >= *end; });
  step.next.reset();
  return step;
}

// An incomplete chunk extends to the end of the file.
Result<std::optional<ChunkInfo>> CompletePrefix::locate(const RequestContext& context, Position at) const {
  auto found = below().locate(context, at);
  if (!found || !*found || (*found)->end < size_) return found;
  ASSIGN_OR_RETURN(const auto step, scan(context, (*found)->key));
  if (!step.chunk || step.chunk->begin != (*found)->begin) found->reset();
  return found;
}

// A trailer that cannot be decoded is not written yet, whatever the header declares.
const TrailerReader* CompletePrefix::trailer() const {
  const TrailerReader* const read = below().trailer();
  if (read == nullptr) return nullptr;
  std::call_once(asked_trailer_, [&] {
    const auto bytes = (*read)({});
    has_trailer_ = bytes || bytes.error().code != Code::kDamage;
  });
  return has_trailer_ ? read : nullptr;
}

constexpr std::size_t kReportedPlaces = 1024;
constexpr std::uint64_t kRegion = UINT64_MAX;        // Reported::thing: damage begins here
constexpr std::uint64_t kShortage = UINT64_MAX - 1;  // Reported::thing: lack of memory, logged once per file

}  // namespace

std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size) {
  return std::make_unique<CompletePrefix>(std::move(container), size);
}

std::string loss_text(const std::optional<std::uint64_t>& records, std::uint64_t at_least) {
  if (records) return counted(*records, "record") + " lost";
  return at_least > 0 ? "at least " + counted(at_least, "record") + " lost" : "records may be lost";
}

std::string damage_line(const DamagedRegion& region) {
  return fmt::format("bytes {} to {}: {}: {}; {}", region.begin, region.end, to_string(region.damage_class),
                     region.reason, loss_text(region.records_lost, region.least_lost));
}

DamageLog::DamageLog(const StoredFile& file, const DamageLog* shorter) : file_(file) {
  if (shorter != nullptr) reported_ = shorter->reported();
}

std::set<DamageLog::Reported> DamageLog::reported() const {
  const std::lock_guard lock(mutex_);
  return reported_;
}

void DamageLog::report(const RequestContext& context, const Error& error, std::uint64_t thing) {
  if (error.code == Code::kPending || error.code == Code::kInterrupted || context.was_refused()) return;
  using Lasts = Reported::Lasts;
  const Reported what =
      error.code == Code::kOutOfMemory
          ? Reported{0, kShortage, Lasts::kMaybeNot}
          : Reported{error.position, thing, is_permanent(error.code) ? Lasts::kForGood : Lasts::kMaybeNot};
  report(Severity::kWarning, what, to_string(error));
}

void DamageLog::report(const DamagedRegion& region) {
  const bool is_end = region.damage_class == DamageClass::kUnfinished || region.damage_class == DamageClass::kStale;
  report(is_end ? Severity::kInfo : Severity::kWarning, {region.begin, kRegion}, damage_line(region),
         region.damage_class != DamageClass::kStale);
}

void DamageLog::report(Severity severity, Reported what, const std::string& text, bool is_damage) {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    if (reported_.size() >= kReportedPlaces || !reported_.insert(what).second) return;
    is_last = reported_.size() == kReportedPlaces;
  }
  if (is_damage) ++file_.services.damaged_places;
  const Log& log = file_.services.log;
  log(severity, fmt::format("{}: {}", file_.name, text));
  if (is_last) log(Severity::kWarning, fmt::format("{}: too many failures; further ones are not logged", file_.name));
}

void DamageLog::report_once(std::atomic<bool>& was_reported, std::string_view what) {
  if (file_.is_followed || was_reported.exchange(true)) return;
  file_.services.log(Severity::kInfo, fmt::format("{}: {}", file_.name, what));
}

void DamageLog::report_growth() {
  report_once(logged_growth_, "the file has grown since it was opened; this snapshot does not show what was added");
}

void DamageLog::report_removal() {
  report_once(logged_removal_, "the file was removed or replaced after it was opened; this snapshot shows the old one");
}

Catalog::OnScanned DamageLog::scan_logger(std::string_view of_what) const {
  return [this, of_what](const PrefixSums& totals, std::chrono::steady_clock::duration scanned) {
    file_.services.log(Severity::kDetail,
                       fmt::format("{}: scanned its {} in {} ms: {}, {}", file_.name, of_what,
                                   std::chrono::duration_cast<std::chrono::milliseconds>(scanned).count(),
                                   counted(totals.chunks, "chunk"), counted(totals.records, "record")));
  };
}

}  // namespace recordfs
