// Names and opens the data sets of a command, and prints what is missing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/missing_shards.h"
#include "core/dataset/set_reader.h"
#include "core/dataset/source_spec.h"
#include "core/output/read_files.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"

namespace recordfs {

// Names the shards of a data set. Prints what is missing or surplus, and notes it unless that is allowed. Returns
// nullopt if the command has to end: after printing why there is no shard, or if shards are missing or surplus that
// must not be.
std::optional<ShardList> name_shards(const RecordWords& words, CommandContext& context);

// Returns what the words name, after a hint that it is opened next, and that the first range is read: see
// expect_open().
SourceSpec::Kind kind_of(const RecordWords& words, CommandContext& context);

// Returns the name of the data set in messages.
std::string set_name(const RecordWords& words);

// Returns the first of the files that is the directory of a database, whose own files have older values and deleted
// keys too; null if none is. `files` must outlive the result.
const std::string* database_among(const std::vector<std::string>& files);

// Returns the shards that a manifest names, unless that is empty, and then those that the words name, one data set a
// word, each with its surplus ones after it. Prints what is missing or surplus, and notes it.
std::vector<NamedFile> named_files(const std::string& manifest, const std::vector<std::string>& words,
                                   CommandContext& context);

// Names the shards as name_shards(), and opens the only one, but no other. Returns null if the command has to end.
// `kind`: as kind_of() returns it. `context` must outlive the result.
std::unique_ptr<SetReader> open_set(const RecordWords& words, SourceSpec::Kind kind, CommandContext& context);
inline std::unique_ptr<SetReader> open_set(const RecordWords& words, CommandContext& context) {
  return open_set(words, kind_of(words, context), context);
}

// Calls `take` with each range that was given, and then with those that standard input has, if they are read from
// there, until it returns false. If none is given or read, calls it with that of all records.
void each_range(const RecordWords& words, CommandContext& context, const std::function<bool(const Range& range)>& take);

// Returns the files of a command's data set, and its manifest.
ReadFiles files_read(const RecordWords& words, const DataSet& set);

// Lists the missing and the surplus shards, if there is a list of what is skipped.
void list_left_out(SetReader& reader, CommandContext& context);

}  // namespace recordfs
