// Logs what is wrong with one file, once for each place.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/formats/chunk_info.h"
#include "core/store/catalog.h"
#include "core/store/stored_file.h"

namespace recordfs {

// Returns "bytes 10 to 20: damage: checksum mismatch; 3 records lost".
std::string damage_line(const DamagedRegion& region);

// Thread-safe.
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

  // Logs, once, that the file has grown and the growth is not shown. Does nothing for a followed file.
  void report_growth();
  // Returns a function that logs the duration of a scan.
  Catalog::OnScanned scan_logger(std::string_view of_what) const;

 private:
  struct Reported {
    Position position = 0;
    std::uint64_t thing = 0;
    enum class Lasts : std::uint8_t { kForGood, kMaybeNot } lasts = Lasts::kForGood;  // logged separately
    auto operator<=>(const Reported&) const = default;
  };

  void report(Severity severity, Reported what, const std::string& text);
  std::set<Reported> reported() const;

  const StoredFile& file_;
  std::atomic<bool> logged_growth_{false};
  mutable std::mutex mutex_;  // guards the next
  std::set<Reported> reported_;
};

}  // namespace recordfs
