// Which files passed `recordfs verify`, and when: the file of its option --state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/source_id.h"

namespace recordfs {

struct Passed {
  SourceId file;
  std::uint64_t size = 0;    // bytes
  std::int64_t when = 0;     // seconds since 1970
  bool is_container = true;  // false: no format recognizes it
};

// Stores absolute paths, so it does not depend on the current directory. Thread-safe.
class VerifyState {
 public:
  // Reads the state of an earlier run. A missing or empty file is an empty state. So is a broken one, or one of other
  // checks, and `remark` then says so. Fails with kNoContainer for any other file, which must not be overwritten, and
  // with kIo.
  static Result<std::unique_ptr<VerifyState>> read(const std::string& path, std::string& remark);

  // Returns how a file passed, or nullopt if it has changed or never passed.
  std::optional<Passed> find(const std::string& path, const SourceId& now) const;
  void set(const std::string& path, const Passed& passed);
  void remove(const std::string& path);

  // Passes the current state, without files that no longer exist, to `write`. Fails as that.
  Result<void> save(const std::function<Result<void>(std::string_view content)>& write);

 private:
  VerifyState() = default;
  std::string encode() const;

  mutable std::mutex mutex_;
  std::map<std::string, Passed> passed_;  // by absolute path
};

}  // namespace recordfs
