#include <memory>

#include <CLI/CLI.hpp>

#include "core/export/key_list.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_options.h"
#include "fusefs/commands/key_range.h"

namespace recordfs {
namespace {

struct KeysOptions {
  ReadingOptions reading;
  DatabaseOptions source;
  KeyRangeOptions range;
  bool null = false;
  bool json = false;
};

int keys(const KeysOptions& options) {
  using Form = KeyListOptions::Form;
  CommandContext context(options.reading);
  const auto reader = open_database(options.source.words, context);
  if (!reader) return context.status();
  write_keys(*reader,
             {.family = options.source.view.family,
              .at = options.source.view.at,
              .range = options.range.range,
              .limit = options.range.limit,
              .form = options.json   ? Form::kJson
                      : options.null ? Form::kNull
                                     : Form::kEscaped,
              .json = {.has_record = false}},
             context.output());
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
