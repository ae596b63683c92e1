#include "fusefs/commands/command_context.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kCacheBytes = 64u << 20;

}  // namespace

void ReadingOptions::declare(CLI::App& app) {
  app.add_option_function<std::string>(
         "--max-chunk",
         [this](const std::string& text) {
           const auto size = parse_size(text);
           if (!size || *size == 0) throw CLI::ValidationError("--max-chunk", "not a size: " + text);
           limits = limits_for_chunks_of(*size);
         },
         "largest chunk that is read, as stored and decoded (default 256M stored, 1G decoded)\n"
         "Same as the mount option `max_chunk`.")
      ->type_name("SIZE");
  app.add_option("--index", index,
                 "where indexes of large files are saved: auto, no, or a directory\n"
                 "Same as the mount option `index`.")
      ->type_name("WHERE");
  app.add_option("-j,--threads", threads, "number of threads that decode (default: one per processor)")->type_name("N");
}

void declare_file(CLI::App& app, std::string& file) {
  app.add_option("FILE", file, "a container")->required()->type_name("");
}

void declare_files(CLI::App& app, std::vector<std::string>& files) {
  app.add_option("FILE", files, "containers")->required()->type_name("");
}

CommandContext::CommandContext(const ReadingOptions& options)
    : CommandContext(options, [this](Severity severity, const std::string& line) {
        if (severity > Severity::kInfo) print_once(line);
      }) {}

CommandContext::CommandContext(const ReadingOptions& options, Log log)
    : limits_(options.limits),
      threads_(options.threads != 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1u)),
      services_(kCacheBytes, executor_threads(), std::move(log)) {
  auto place = index_place(options.index, options.limits);
  if (place) {
    services_.index = std::move(*place);
  } else {
    print_message(fmt::format("--index={}: {}", options.index, place.error().detail));
    note(kExitPartlyDone);
  }
}

std::shared_ptr<const RecordStore> CommandContext::open(const std::string& path) {
  auto opened = open_file({}, path, limits_, services_);
  if (opened) return std::move(opened->store);
  print_unopened(path, opened.error());
  return nullptr;
}

std::shared_ptr<const RecordStore> CommandContext::open_if_container(const std::string& path) {
  auto opened = open_file({}, path, limits_, services_);
  if (opened) return std::move(opened->store);
  if (opened.error().code != Code::kNoContainer) print_unopened(path, opened.error());
  return nullptr;
}

void CommandContext::print_unopened(const std::string& path, const Error& error) {
  print_message(open_failure(path, error));
  note(kExitCannotOpen);
}

std::unique_ptr<FollowedFile> CommandContext::open_followed(const std::string& path) {
  auto opened = FollowedFile::open(path, limits_, services_);
  if (opened) return std::move(*opened);
  print_unopened(path, opened.error());
  return nullptr;
}

int CommandContext::finish() {
  note(output_.finish());
  return status_;
}

void CommandContext::note(int status) {
  int known = status_;
  while (!status_.compare_exchange_weak(known, worse_of(known, status))) {
  }
}

void CommandContext::note(const DamagedRegion& region) {
  switch (region.damage_class) {
    case DamageClass::kDamage:
    case DamageClass::kUnfinished: return note(kExitDamage);
    case DamageClass::kUnsupported: return note(kExitPartlyDone);
    case DamageClass::kStale: return;
  }
}

void CommandContext::report(const RecordStore& store, const Error& error) {
  store.log().report({}, error);
  note(error);
}

void CommandContext::print_failure(const std::string& path, const Error& error) {
  // Nothing was found, so the error has no position.
  print_once(error.code == Code::kNotFound ? fmt::format("{}: {}", path, error.detail) : open_failure(path, error));
  note(error);
}

void CommandContext::print_once(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (line == last_line_) return;
  last_line_ = line;
  print_message(line);
}

int CommandContext::status_of(const Error& error) {
  switch (error.code) {
    case Code::kDamage:
    case Code::kUnfinished:
    case Code::kStale: return kExitDamage;
    case Code::kNoContainer: return kExitCannotOpen;
    default: return kExitPartlyDone;
  }
}

}  // namespace recordfs
