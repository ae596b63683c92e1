#include "fusefs/commands/recover_database.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/output/output_directory.h"
#include "core/recover/database_recovery.h"
#include "fusefs/commands/database_options.h"
#include "fusefs/commands/loss_report.h"
#include "fusefs/commands/progress.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

// Returns whether a new file or directory would be in one of these directories, or below one.
bool is_below_one(const std::string& path, const std::vector<std::string>& directories) {
  std::filesystem::path named(path);
  if (!named.has_filename()) named = named.parent_path();
  std::error_code failed;
  const std::filesystem::path parent = named.has_parent_path() ? named.parent_path() : ".";
  std::filesystem::path place = std::filesystem::canonical(parent, failed);
  while (!failed) {
    const auto is_place = [&](const std::string& directory) {
      std::error_code other;
      return std::filesystem::equivalent(place, directory, other);
    };
    if (std::ranges::any_of(directories, is_place)) return true;
    if (place == place.root_path()) return false;
    place = place.parent_path();
  }
  return false;
}

// Returns the first of the outputs that would be in a directory of the database; null: none would be.
const std::string* output_in_database(const RecoverOptions& options) {
  const database::Options& database = options.reading.database;
  std::vector<std::string> directories = database.table_directories;
  directories.push_back(options.files.front());
  if (!database.wal_directory.empty()) directories.push_back(database.wal_directory);
  for (const std::string* const output : {&options.output, &options.report}) {
    if (!output->empty() && is_below_one(*output, directories)) return output;
  }
  return nullptr;
}

// Recovers the directory of a database to a new directory.
class RecoverDatabase final : RecoveryListener {
 public:
  explicit RecoverDatabase(const RecoverOptions& options)
      : options_(options),
        report_(options.report, options.replaces),
        directory_(OutputDirectory::create(options.output)),
        context_(options.reading, [](Severity, const std::string&) {},
                 {directory_ ? (*directory_)->path() : std::string(), report_.directory()}) {}

  int run() {
    if (!directory_) return fail(options_.output, directory_.error());
    reader_ = open_database({.files = options_.files}, context_);
    if (!reader_ || !begin_report()) return finish();
    const DamagedDatabase source{
        .database = reader_->source(), .path = reader_->path(), .options = context_.database_options()};
    const auto recovered = recover_database(source, (*directory_)->path(), *this, context_);
    if (!recovered && recovered.error().code != Code::kInterrupted) fail(options_.output, recovered.error());
    if (!recovered) return finish();
    // The report comes first, so that no signal leaves the database without it.
    if (const auto finished = report_.finish(); !finished) {
      fail(report_.path(), finished.error());
      return finish();
    }
    if (const auto published = (*directory_)->publish(); !published) {
      report_.withdraw();
      fail(options_.output, published.error());
      return finish();
    }
    is_published_ = true;
    if (!recovered->lost.is_none() || recovered->stale > 0) context_.note(kExitDamage);
    if (context_.status() == kExitDamage) {
      const std::string stale = recovered->any_may_be_stale ? "any" : std::to_string(recovered->stale);
      print_message(fmt::format("{}: {} written; {} lost, {} may be stale", reader_->path(),
                                counted(recovered->keys, "key"), to_string(recovered->lost), stale));
    }
    return finish();
  }

 private:
  void list(std::string_view line) override { report_.write(line); }
  void count(const database::Version& version) override { reader_->count(version); }
  void report_end(const Error& why) override { reader_->report_end(why); }
  void report_unreadable(const database::KeyIterator& key, const Error& why) override {
    reader_->report_unreadable(key, why);
  }
  void end_of_keys() override { reader_->finish(); }

  // Returns false after printing why the report cannot be written.
  bool begin_report() {
    if (!report_.is_there()) return true;
    std::error_code failed;
    bool is_taken = report_.is_at(options_.output);
    const database::Options database = context_.database_options();
    std::vector<std::string> directories = database.table_directories;
    directories.push_back(reader_->path());
    if (!database.wal_directory.empty()) directories.push_back(database.wal_directory);
    for (const std::string& directory : directories) {
      for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
        is_taken = is_taken || report_.is_at(entry.path().string());
      }
      if (!failed) continue;
      fail(directory, system_error(failed.value()));
      return false;
    }
    if (is_taken) {
      context_.fail(kExitWrongUse, report_.path() + ": the report would replace another file of this command");
      return false;
    }
    const auto begun = report_.begin();
    if (!begun) fail(report_.path(), begun.error());
    return begun.has_value();
  }
  int fail(const std::string& path, const Error& error) {
    const bool is_output = path == options_.output && error.os_error == EEXIST;
    context_.fail(kExitPartlyDone, is_output ? fmt::format("{}: {} (a database becomes a new directory, also with -f)",
                                                           path, error.detail)
                                             : failure_text(path, error));
    return context_.status();
  }
  int finish() {
    // Remove what is not published.
    directory_ = Error{};
    report_.discard();
    Interruption::pass_on();
    const int status = context_.finish();
    return !is_published_ && status == kExitDamage ? kExitPartlyDone : status;
  }

  const RecoverOptions& options_;
  const Interruption interruption_;
  LossReport report_;                                   // opened before the context confines the process
  Result<std::unique_ptr<OutputDirectory>> directory_;  // likewise
  CommandContext context_;
  std::unique_ptr<DatabaseReader> reader_;
  bool is_published_ = false;
};

}  // namespace

std::string failure_text(const std::string& path, const Error& error) {
  return fmt::format("{}: {}{}", path, error.detail, error.os_error == EEXIST ? " (-f replaces it)" : "");
}

int recover_database_directory(const RecoverOptions& options) {
  if (const std::string* const output = output_in_database(options)) {
    print_message(printable(*output) + ": is in a directory of the database, where recover writes nothing");
    return kExitWrongUse;
  }
  return RecoverDatabase(options).run();
}

}  // namespace recordfs
