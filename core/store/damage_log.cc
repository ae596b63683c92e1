#include "core/store/damage_log.h"

#include <cerrno>
#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "core/base/counted.h"

namespace recordfs {
namespace {

constexpr std::size_t kReportedPlaces = 1024;
constexpr std::uint64_t kRegion = UINT64_MAX;        // Reported::thing: damage begins here
constexpr std::uint64_t kShortage = UINT64_MAX - 1;  // Reported::thing: lack of memory, logged once per file

}  // namespace

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
          ? Reported{0, kShortage, Lasts::kTransient}
          : Reported{error.position, thing, is_permanent(error.code) ? Lasts::kPermanent : Lasts::kTransient};
  // It is not the file that fails.
  const bool is_refusal = error.code == Code::kIo && error.os_error == EFBIG;
  report(Severity::kWarning, what, is_refusal ? error.detail : to_string(error), !is_refusal);
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
