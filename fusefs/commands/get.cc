#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/database/key_text.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_options.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct GetOptions {
  ReadingOptions reading;
  DatabaseOptions source;
  std::vector<std::string> keys;
  bool encoded = false;
  bool history = false;
  bool operands = false;
  bool null = false;
  bool json = false;
};

// Returns the names and sizes of an entity's columns; empty if there are none. The default column has no name.
std::string columns_text(const std::vector<database::Column>& columns) {
  std::string text;
  for (const database::Column& column : columns) {
    text += fmt::format("{}{}:{}", text.empty() ? "\tcolumns " : " ", escaped_key(as_bytes(column.name)),
                        column.value.bytes.size());
  }
  return text;
}

// `is_aligned`: in columns for people; otherwise with tabs.
std::string row_of(const database::Version& version, const std::string& file,
                   const std::vector<database::Column>& columns, bool is_aligned) {
  const std::string size = version.size ? fmt::format("{}", *version.size) : "-";
  const std::string stale = version.may_be_stale ? "may be stale" : "";
  const std::string timestamp = version.timestamp ? fmt::format("\ttimestamp {}", *version.timestamp) : "";
  const std::string_view operation = to_string(version.operation);
  std::string row =
      is_aligned
          ? fmt::format("{:>12} {:<13} {:>11}  {:<12} {}{}", version.sequence, operation, size, file, stale, timestamp)
          : fmt::format("{}\t{}\t{}\t{}\t{}{}", version.sequence, operation, size, file, stale, timestamp);
  while (is_aligned && row.ends_with(' ')) row.pop_back();
  return row + columns_text(columns) + "\n";
}

// Reads one key.
class Get {
 public:
  Get(const GetOptions& options, std::string key, DatabaseReader& reader, CommandContext& context)
      : options_(options), key_(std::move(key)), reader_(reader), context_(context) {}

  // Prints the value, the operands or the versions. Returns false if there are none, or they cannot be read. The
  // context notes errors.
  bool print(const database::Family& family) {
    const auto found = find(family);
    if (!found) return fail(found.error());
    bool is_stale = false;
    bool is_incomplete = false;
    for (const database::VersionedValue& each : *found) {
      print(family, each);
      is_stale |= each.version.may_be_stale;
      is_incomplete |= each.version.may_lack_others;
    }
    if (is_stale) {
      report_loss("may have a newer value, or may be deleted, in what is damaged");
    } else if (is_incomplete) {
      report_loss("may have other versions in what is damaged or cannot be read");
    }
    return !found->empty() || none("no such key");
  }

 private:
  Bytes key() const { return as_bytes(key_); }

  // Of several keys, names one without a value. Returns false.
  bool none(const std::string& why) {
    if (options_.keys.size() == 1) return false;
    context_.output().flush();
    reader_.report(fmt::format("key {}: {}", escaped_key(key()), why), Impact::kNone);
    return false;
  }

  bool fail(const Error& error) {
    if (error.code == Code::kNotFound) return none(error.detail);
    reader_.report_failure(key(), error);
    const bool may_be_explained =
        error.code == Code::kDamage || error.code == Code::kUnsupported || error.code == Code::kLimit;
    if (may_be_explained) reader_.report_problems();
    return false;
  }

  // Returns what is printed. Versions have no values.
  Result<std::vector<database::VersionedValue>> find(const database::Family& family) const {
    const database::Snapshot& at = options_.source.view.at;
    if (options_.operands) return reader_.source().operands({}, family.id, key(), at);
    std::vector<database::VersionedValue> found;
    if (options_.history) {
      ASSIGN_OR_RETURN(auto versions, reader_.source().history({}, family.id, key()));
      for (database::Version& version : versions) {
        const bool is_seen = version.sequence <= at.sequence && version.timestamp.value_or(0) <= at.timestamp;
        if (is_seen) found.push_back({std::move(version), {}});
      }
    } else {
      ASSIGN_OR_RETURN(auto got, reader_.source().get({}, family.id, key(), at));
      found.push_back(std::move(got));
    }
    return found;
  }

  void print(const database::Family& family, const database::VersionedValue& got) {
    Output& output = context_.output();
    const database::Version& version = got.version;
    const auto columns = options_.json || options_.history ? columns_of(family, version) : Columns();
    if (options_.json) {
      const auto value = options_.history ? std::nullopt : std::optional(got.value.bytes);
      return reader_.write_json({.key = key(),
                                 .family = family,
                                 .version = version,
                                 .value = value,
                                 .columns = &columns,
                                 .ends_with_columns = true});
    }
    if (options_.history) {
      const bool is_aligned = ::isatty(STDOUT_FILENO) == 1;
      return output.write(row_of(version, printable(reader_.file_of(version)), columns, is_aligned));
    }
    output.write(got.value.bytes);
    if (options_.null) output.write(std::string_view("\0", 1));
    if (options_.operands && !options_.null) output.write("\n");
  }

  using Columns = std::vector<database::Column>;

  // Returns none after printing why they cannot be read.
  Columns columns_of(const database::Family& family, const database::Version& version) const {
    const bool is_entity = version.operation == database::Operation::kPutEntity;
    if (options_.operands || (options_.history ? !is_entity : !may_have_columns(version.operation))) return {};
    auto columns = options_.history ? reader_.source().columns({}, family.id, key(), version.sequence)
                                    : reader_.source().value_columns({}, family.id, key(), options_.source.view.at);
    if (!columns) reader_.report_failure(key(), columns.error());
    return std::move(columns).value_or(Columns());
  }

  void report_loss(std::string_view what) {
    context_.output().flush();
    reader_.report_problems();
    reader_.report(fmt::format("key {}: {}", escaped_key(key()), what), Impact::kDamage);
  }

  const GetOptions& options_;
  const std::string key_;
  DatabaseReader& reader_;
  CommandContext& context_;
};

// Returns the keys as bytes; nullopt if one is not an escaped one.
std::optional<std::vector<std::string>> keys_of(const GetOptions& options) {
  if (!options.encoded) return options.keys;
  std::vector<std::string> keys;
  for (const std::string& word : options.keys) {
    auto key = unescaped_key(word);
    if (!key) return std::nullopt;
    keys.push_back(std::move(*key));
  }
  return keys;
}

// Returns whether something was printed for each key.
bool get(const GetOptions& options, const std::vector<std::string>& keys, CommandContext& context) {
  const auto reader = open_database(options.source.words, context);
  if (!reader) return false;
  const auto families = reader->families(options.source.view.family, false);
  if (families.empty()) return false;
  reader->report_manifest();
  bool has_all = true;
  for (const std::string& key : keys) {
    if (!context.output().good()) break;
    has_all &= Get(options, key, *reader, context).print(families.front());
  }
  return has_all;
}

int get(const GetOptions& options) {
  const auto keys = keys_of(options);
  ReadingOptions reading = options.reading;
  if (keys) reading.database.only_keys.insert(keys->begin(), keys->end());
  if (reading.index == "auto") reading.index = "no";  // nothing is indexed
  // One lookup can be repeated in a newer state if its files are gone, so they need not be open.
  const bool is_one_lookup = keys && keys->size() == 1 && !options.json && !options.history;
  if (is_one_lookup) reading.database.pinned_files = 0;
  CommandContext context(reading);
  if (!keys) {
    print_message("--encoded: not an escaped key (try recordfs get --help)");
    return kExitGrepFailed;
  }
  if (options.history && !options.json && keys->size() > 1) {
    print_message("--history of several keys requires --json (try recordfs get --help)");
    return kExitGrepFailed;
  }
  const bool were_found = get(options, *keys, context);
  const int status = context.finish();
  if (status == kExitTryAgain) return kExitTryAgain;
  if (status != kExitGood) return kExitGrepFailed;
  return were_found ? kExitGood : kExitNotFound;
}

}  // namespace

RunCommand declare_get(CLI::App& app) {
  const auto options = std::make_shared<GetOptions>();
  options->source.declare(app, &options->keys);
  app.add_flag("--encoded", options->encoded, "each KEY is escaped, as recordfs keys prints it");
  auto* const history = app.add_flag(
      "--history", options->history,
      "list all versions of the key that are still stored, newest first\n"
      "Prints the sequence number, the operation, the size of the value in bytes, the file, and whether "
      "damage may have cost a newer one, and the user-defined timestamp if it has one. The size of a deletion of a "
      "range is that of the range's end. Of a wide-column entity, the columns with the sizes of their values follow; "
      "the "
      "default column has no name.");
  app.add_flag(
         "--operands", options->operands,
         "print what a merge operator would merge, oldest first\n"
         "Prints the value before the merge operands, if there is one, and the operands, each with a newline after "
         "it. recordfs itself merges with RocksDB's own operators stringappend, uint64add, max and put. Values that "
         "another one merges can only be read so.")
      ->excludes(history);
  auto* null = app.add_flag("--null", options->null, "write a NUL byte after each value");
  app.add_flag(
         "--json", options->json,
         "print each value, or with --history or --operands each version, as a line of JSON with its key\n"
         "A value that is not UTF-8 is in `value_base64` instead of `value`. A wide-column entity has its columns "
         "in `columns`, and its default column as the value.")
      ->excludes(null);
  options->reading.declare_database(app);
  options->reading.declare(app);
  app.footer(
      "Writes the bytes of the keys' values to standard output, in the order given, without separators. With --at, the "
      "values at that time. Of several keys, those without a value are named on standard error.\n"
      "Exit status: 0 success, 1 a key has no value, 2 an error or damage, 75 the database is in use and changes too "
      "fast: try again.");
  return [options] { return get(*options); };
}

}  // namespace recordfs
