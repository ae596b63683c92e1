#include "fusefs/commands/loss_report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

// Returns the path without links and without a slash at its end.
std::filesystem::path full_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path full = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  return full.has_filename() ? full : full.parent_path();
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a {};
  struct stat b {};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

LossReport::LossReport(std::string path, bool replaces)
    : path_(std::move(path)), replaces_(replaces), place_(path_.empty() ? OutputPlace() : OutputPlace::at(path_)) {
  if (place_ && place_->stream) stream_.emplace(std::move(place_->stream), path_);
  if (descriptor_named(path_) && place_ && !stream_) stream_.emplace();
}

bool LossReport::is_at(const std::string& path) const {
  return place_ && place_->is_file() && (is_same_file(path, path_) || full_path(path) == full_path(path_));
}

Result<void> LossReport::begin() {
  if (!is_there() || stream_) return {};
  if (!place_) return place_.error();
  ASSIGN_OR_RETURN(auto directory, place_->opened_directory());
  file_ = std::make_unique<OutputFile>(std::move(directory), place_->name, OutputFile::Options{.replaces = replaces_});
  auto created = file_->create();
  if (!created) file_.reset();
  return created;
}

void LossReport::write(std::string_view line) {
  if (stream_) stream_->write(line);
  if (file_ != nullptr && outcome_) outcome_ = file_->write(as_bytes(line));
}

Result<void> LossReport::finish() {
  if (std::exchange(is_finished_, true)) return {};
  if (stream_ && stream_->finish() != kExitGood) return system_error(EIO);
  if (file_ == nullptr) return {};
  TRY(outcome_);
  return file_->publish();
}

void LossReport::withdraw() {
  if (file_ != nullptr) file_->withdraw();
  file_.reset();
}

}  // namespace recordfs
