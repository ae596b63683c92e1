// The words and options of the commands on databases, and how they open one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/database/database.h"
#include "core/export/database_reader.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"

namespace CLI {
class App;
}

namespace recordfs {

// The options that choose a state and a part of a database.
struct DatabaseView {
  std::string family{};  // by name or number; empty: the default one, or all of them
  database::Snapshot at{};

  // Declares the options on `app`. `without`: which families are read without --column-family, for the help. The object
  // must outlive the parsing.
  void declare(CLI::App& app, const std::string& without = "default");

  // Returns whether one of the options was given.
  bool is_given() const {
    return !family.empty() || at.sequence != database::kNewest || at.timestamp != database::kNewest;
  }
};

// The arguments that choose a database, and what of it is read.
struct DatabaseOptions {
  RecordWords words;  // one file or a manifest
  DatabaseView view;

  // Declares the argument DB and the options on `app`. If the command has `keys`, these are the further arguments, at
  // least one. The arguments must outlive the parsing.
  void declare(CLI::App& app, std::vector<std::string>* keys = nullptr);
};

// Opens a directory, one log, table or blob file, or the logs and tables of a data set. On failure prints an error,
// notes it, and returns null. The result writes to the output of `context`, which must outlive it.
std::unique_ptr<DatabaseReader> open_database(const RecordWords& words, CommandContext& context);

}  // namespace recordfs
