#include "core/verify/verify_state.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/base/location.h"
#include "core/hash/highway.h"
#include "core/verify/verification.h"

namespace recordfs {
namespace {

// Two header lines: the type of the file, then the version of the checks and a hash of the rest. For each file follow
// its numbers, a tab, its name, and a zero byte.
constexpr std::string_view kFirstLine = "recordfs verify state 1\n";
constexpr std::string_view kCorrupt = "ignoring a corrupt state: reading all files";
constexpr std::string_view kOtherChecks = "ignoring the state of another version: reading all files";

std::string absolute(const std::string& path) {
  const Location from_root = Location(path).absolute();
  return from_root.is_local() ? std::filesystem::path(from_root.text()).lexically_normal().string() : path;
}

std::string head(std::string_view rows) {
  return fmt::format("{}{} {:016x}\n", kFirstLine, kVersionOfChecks, highway_hash(as_bytes(rows)));
}

// Returns all rows, or none and why in `remark`.
std::map<std::string, Passed> decode(const std::string& text, std::string& remark) {
  std::istringstream input(text);
  std::string hash;
  unsigned version = 0;
  remark = kCorrupt;
  input.ignore(static_cast<std::streamsize>(kFirstLine.size()));
  if (!(input >> version)) return {};
  if (version != kVersionOfChecks) remark = kOtherChecks;
  if (version != kVersionOfChecks || !std::getline(input >> std::ws, hash) || input.eof()) return {};
  const auto rows = std::string_view(text).substr(static_cast<std::size_t>(input.tellg()));
  if (hash != fmt::format("{:016x}", highway_hash(as_bytes(rows)))) return {};
  std::map<std::string, Passed> all;
  std::string name;
  Passed passed;
  while (input >> passed.file.source >> passed.file.version >> passed.size >> passed.when >> passed.is_container) {
    if (input.get() != '\t' || !std::getline(input, name, '\0')) return {};
    all.insert_or_assign(name, passed);
  }
  if (!input.eof()) return {};
  remark.clear();
  return all;
}

Error failed(std::string_view action) {
  Error error = system_error(errno);
  error.detail = fmt::format("{}: {}", action, error.detail);
  return error;
}

}  // namespace

Result<std::unique_ptr<VerifyState>> VerifyState::read(const std::string& path, std::string& remark) {
  auto state = std::unique_ptr<VerifyState>(new VerifyState);
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return state;
    return failed("cannot open");
  }
  const Error foreign{.code = Code::kNoContainer, .detail = "not a state file of recordfs verify"};
  if (!S_ISREG(st.st_mode)) return foreign;
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed("cannot open");
  std::string first(kFirstLine.size(), '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  if (!kFirstLine.starts_with(first)) return foreign;
  std::ostringstream rest;
  if (file) rest << file.rdbuf();
  if (first.empty()) return state;
  if (first.size() < kFirstLine.size()) {
    remark = kCorrupt;
  } else {
    state->passed_ = decode(first + rest.str(), remark);
  }
  return state;
}

std::optional<Passed> VerifyState::find(const std::string& path, const SourceId& now) const {
  const std::string name = absolute(path);
  const std::lock_guard lock(mutex_);
  const auto found = passed_.find(name);
  if (found == passed_.end() || found->second.file != now) return std::nullopt;
  return found->second;
}

void VerifyState::set(const std::string& path, const Passed& passed) {
  std::string name = absolute(path);
  const std::lock_guard lock(mutex_);
  passed_.insert_or_assign(std::move(name), passed);
}

void VerifyState::remove(const std::string& path) {
  const std::string name = absolute(path);
  const std::lock_guard lock(mutex_);
  passed_.erase(name);
}

Result<void> VerifyState::save(const std::function<Result<void>(std::string_view content)>& write) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(passed_, [](const auto& one) {
      struct stat st {};
      if (!Location(one.first).is_local()) return false;
      return ::lstat(one.first.c_str(), &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
    });
  }
  auto saved = write(encode());
  if (saved) return {};
  Error error = std::move(saved).error();
  error.detail = "cannot save: " + error.detail;
  return error;
}

std::string VerifyState::encode() const {
  std::string rows;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, passed] : passed_) {
    rows += fmt::format("{} {} {} {} {}\t{}", passed.file.source, passed.file.version, passed.size, passed.when,
                        passed.is_container ? 1 : 0, name);
    rows += '\0';
  }
  return head(rows) + rows;
}

}  // namespace recordfs
