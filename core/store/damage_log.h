// Logs what is wrong with a file, and how it is said.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/chunk_info.h"
#include "core/store/catalog.h"
#include "core/store/log.h"
#include "core/store/stored_file.h"

namespace recordfs {

// Returns "3 records lost"; if the number is unknown, "at least 1 record lost", or "records may be lost".
std::string loss_text(const std::optional<std::uint64_t>& records, std::uint64_t at_least);

// Returns "bytes 10 to 20: damage: checksum mismatch; 3 records lost".
std::string damage_line(const DamagedRegion& region);

// Logs what is wrong with one file, once for each place. Thread-safe.
class DamageLog {
 public:
  // `shorter`: the log of the same file when it was shorter, whose lines are not repeated; null: none. `file` must
  // outlive this.
  DamageLog(const StoredFile& file, const DamageLog* shorter);

  // Logs a failure, at most once per place in the file; `thing` distinguishes several at one place. Permanent failures
  // and others count separately. Does not log kPending, kInterrupted, or refused work. After 1024 places, logs no more.
  void report(const RequestContext& context, const Error& error, std::uint64_t thing = 0);
  // Logs a damaged region as damage_line(), likewise.
  void report(const DamagedRegion& region);
  // Returns `outcome`, and reports its failure unless it is kNotFound.
  template <class T>
  Result<T> reported(const RequestContext& context, Result<T> outcome) {
    if (!outcome && outcome.error().code != Code::kNotFound) report(context, outcome.error());
    return outcome;
  }

  // Log, once each, that the file has grown, and that it has no name any more; neither is shown. Do nothing for a
  // followed file.
  void report_growth();
  void report_removal();
  // Returns a function that logs the duration of a scan.
  Catalog::OnScanned scan_logger(std::string_view of_what) const;

 private:
  struct Reported {
    Position position = 0;
    std::uint64_t thing = 0;
    enum class Lasts : std::uint8_t { kPermanent, kTransient } lasts = Lasts::kPermanent;  // logged separately
    auto operator<=>(const Reported&) const = default;
  };

  void report(Severity severity, Reported what, const std::string& text, bool is_damage = true);
  std::set<Reported> reported() const;

  const StoredFile& file_;
  void report_once(std::atomic<bool>& was_reported, std::string_view what);

  std::atomic<bool> logged_growth_{false};
  std::atomic<bool> logged_removal_{false};
  mutable std::mutex mutex_;  // guards the next
  std::set<Reported> reported_;
};

}  // namespace recordfs
