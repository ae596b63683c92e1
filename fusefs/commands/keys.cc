#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/key_range.h"
#include "fusefs/commands/key_text.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct KeysOptions {
  ReadingOptions reading;
  DatabaseOptions source;
  KeyRangeOptions range;
  bool null = false;
  bool json = false;
};

class KeyList {
 public:
  KeyList(const KeysOptions& options, const DatabaseReader& reader, CommandContext& context)
      : options_(options), reader_(reader), context_(context) {}

  void print(const database::Family& family, database::KeyRange range) {
    const auto keys = reader_.source().keys(family.id, std::move(range), options_.source.view.at);
    for (std::uint64_t left = options_.range.limit; left > 0 && context_.output().good(); --left) {
      const auto has_key = keys->next({});
      if (!has_key) reader_.print_failure(has_key.error());
      if (!has_key || !*has_key) break;
      uncertain_.add(keys->version());
      print(keys->key(), keys->version(), family);
    }
    context_.output().flush();
    reader_.report_problems();
    uncertain_.print(reader_);
  }

 private:
  void print(Bytes key, const database::Version& version, const database::Family& family) {
    Output& output = context_.output();
    if (options_.json) {
      std::string line;
      append_json_key_head(line, key, reader_.has_families() ? &family : nullptr);
      line += ',';
      reader_.append_json_members(line, version);
      output.write(line += "}\n");
    } else if (options_.null) {
      output.write(key);
      output.write(std::string_view("\0", 1));
    } else {
      output.write(escaped_key(key) + "\n");
    }
    // Shows the first key without delay.
    if (!std::exchange(has_written_, true)) output.flush();
  }

  const KeysOptions& options_;
  const DatabaseReader& reader_;
  CommandContext& context_;
  UncertainKeys uncertain_;
  bool has_written_ = false;
};

int keys(const KeysOptions& options) {
  CommandContext context(options.reading);
  auto range = options.range.range();
  if (!range) {
    print_message("--encoded: not an escaped key (try recordfs keys --help)");
    return kExitWrongUse;
  }
  const auto reader = DatabaseReader::open(options.source, context);
  if (!reader) return context.status();
  const auto family = reader->family(options.source.view.family);
  if (!family) {
    context.print_failure(options.source.name(), family.error());
  } else {
    KeyList(options, *reader, context).print(*family, std::move(*range));
  }
  return context.finish();
}

}  // namespace

RunCommand declare_keys(CLI::App& app) {
  const auto options = std::make_shared<KeysOptions>();
  options->source.declare(app);
  options->range.declare(app);
  auto* null = app.add_flag("--null", options->null, "print the bytes of each key, and a NUL byte after it");
  app.add_flag(
         "--json", options->json,
         "print a line of JSON for each key: key, sequence, operation, size, file\n"
         "The sequence number and the operation are those of the newest write of the key, and the size is that of its "
         "value, or null if it would have to be read. A key that is not UTF-8 is in `key_base64` instead of `key`. "
         "With several column families, the object has `column_family`. If damage may have cost a newer write of the "
         "key, it has `stale`; if one may be in a part that recordfs cannot read, `unread`. `timestamp` is "
         "user-defined.")
      ->excludes(null);
  options->reading.declare_database(app);
  options->reading.declare(app);
  app.footer(
      "Prints the keys that have a value, in the order of the database, one a line. In a key, a backslash is printed "
      "as \\\\, and each byte of a control character or of invalid UTF-8 as \\xHH. printf %b reverses that. The "
      "database may be in use. Nothing is written to it.\n"
      "Exit status: 0 success, 1 usage error, 2 cannot be opened, 4 damage, 5 something could not be read or written, "
      "75 the database is in use and changes too fast: try again.");
  return [options] { return keys(*options); };
}

}  // namespace recordfs
