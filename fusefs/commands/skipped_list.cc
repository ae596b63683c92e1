#include "fusefs/commands/skipped_list.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/decoding/json_writer.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/verification.h"

namespace recordfs {
namespace {

constexpr std::size_t kBuffered = 64u << 10;

Error failure(const std::string& path, int error) {
  return {.code = Code::kIo, .detail = fmt::format("{}: {}", path, std::strerror(error)), .os_error = error};
}

}  // namespace

Result<std::unique_ptr<SkippedList>> SkippedList::create(const std::string& path) {
  constexpr int kMode = 0666;
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!file) return failure(path, errno);
  return std::unique_ptr<SkippedList>(new SkippedList(path, std::move(file)));
}

void SkippedList::add(const std::string& container, const Finding& finding) {
  JsonObject line = json_of(finding);
  line.members.insert(line.members.begin(), {"file", JsonPath{container}});
  lines_ += to_json(line, JsonLayout::kLine);
  if (lines_.size() >= kBuffered) flush();
}

void SkippedList::flush() {
  if (error_ == 0) error_ = write_all(descriptor_.number(), as_bytes(lines_));
  lines_.clear();
}

Result<void> SkippedList::finish() {
  flush();
  return error_ == 0 ? Result<void>() : failure(path_, error_);
}

}  // namespace recordfs
