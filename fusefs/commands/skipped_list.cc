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

// Returns the line for a file that is not read.
JsonObject left_out(const std::string& path, std::string_view word, std::string_view reason) {
  JsonObject line;
  line.set("file", JsonPath{path});
  line.set("class", word);
  line.set("reason", reason);
  return line;
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
  add_line(line);
}

void SkippedList::add(const MissingShards& missing) {
  JsonObject line =
      left_out(missing.path, "missing", missing.count == 1 ? "this shard does not exist" : "these shards do not exist");
  add_numbers(line, missing);
  add_line(line);
}

void SkippedList::add_surplus(const std::string& path) {
  add_line(left_out(path, "surplus", "the data set has fewer shards, or another number of them"));
}

void SkippedList::add_line(const JsonObject& line) {
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
