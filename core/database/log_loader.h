// Finds the live write-ahead logs of a database directory and reads them into its state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/database/directory.h"
#include "core/database/log_replay.h"
#include "core/database/state.h"
#include "core/database/wal_directory.h"

namespace recordfs::database {

// One attempt, as part of that of a StateLoader. One thread.
class LogLoader {
 public:
  // `only`, if not empty: there are no other files than these.
  LogLoader(const RequestContext& context, State& state, const std::vector<DirectoryEntry>& only)
      : context_(context), only_(only), state_(state) {}

  // Lists another directory that may have the logs. Call before the MANIFEST is read, so that no newer logs are used
  // with it. Fails as list_directory().
  Result<void> list_other_directory();

  // Uses the other directory if the database's own has no live logs, or if the caller of State::load() named it. Call
  // after the files of the state are known.
  void choose_directory();

  // The directory with the logs; empty: the database's own.
  const std::string& directory() const { return directory_; }

  // Returns whether a file is a log whose writes are not all in tables.
  bool is_live(const DirectoryEntry& entry) const;

  // The MANIFEST named a log as the first, and has lost edits. Writes up to those of the logs that follow may be lost.
  void note_lost_edits(std::uint64_t first_log) { lost_log_ = first_log; }

  // Reads the live logs, and blob files that are alone. Call after the families are known. Fails as LogReplay::read()
  // and replay_blob_files().
  Result<void> read();

  // Results, after read().
  bool is_any_missing() const { return is_any_missing_; }
  // Returns whether damage in a log may only be what the database was writing while it was read: it overwrites a
  // recycled log, and a log may end inside a write.
  bool may_have_raced() const { return may_have_raced_; }
  // The sequence number of the first write; nullopt: there are none.
  std::optional<std::uint64_t> first_sequence() const { return first_sequence_; }
  // The largest number of a family that has writes.
  std::uint32_t last_family() const { return last_family_; }

 private:
  using Logs = std::vector<const DirectoryEntry*>;

  OpenFiles& files() const { return *state_.open_files_; }
  void report(std::string file, Error error, bool loses_data = true) const;
  void lose_logs();
  Logs live_logs() const;
  void report_missing(const Logs& logs);
  void report_tracked(const Logs& logs);
  void report_missing_first(const Logs& logs);
  std::uint64_t last_of_earlier_use() const;
  bool is_of_earlier_use(std::uint64_t log) const;
  bool may_lack_log(std::uint64_t after, std::uint64_t before) const;
  LogReplay::FirstLogs first_logs() const;
  std::uint64_t least_log() const;
  LogReplay::Setup setup() const;
  Result<void> read_blob_files(LoggedWrites& writes);
  void take_writes(LogReplay& replay);
  void add_family(std::uint32_t id);
  void take_losses(LogReplay& replay, const Logs& logs);

  const RequestContext& context_;
  const std::vector<DirectoryEntry>& only_;
  State& state_;
  WalDirectory other_;                      // may have the logs
  std::vector<DirectoryEntry> other_logs_;  // in that directory
  std::string directory_;
  bool is_any_missing_ = false;
  bool may_have_raced_ = false;
  std::uint64_t lost_log_ = 0;
  std::optional<std::uint64_t> first_sequence_{};
  std::uint32_t last_family_ = 0;
};

}  // namespace recordfs::database
