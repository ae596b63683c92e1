#include "fusefs/commands/head_tail.h"

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "fusefs/commands/copying.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/selection.h"
#include "fusefs/commands/workspace.h"

namespace recordfs {
namespace {

struct EndOptions {
  ReadingOptions reading;
  FormOptions form;
  std::string file;
  std::int64_t records = 10;
};

// Copies a range of the file; on a terminal as lines.
int copy_range(const EndOptions& options, const OrdinalRange& range) {
  Workspace workspace(options.reading);
  const auto store = workspace.open(options.file);
  if (!store) return workspace.status();
  FormOptions form = options.form;
  if (form.form == Form::kBytes && ::isatty(STDOUT_FILENO) == 1) form.form = Form::kShown;
  Output output(STDOUT_FILENO);
  const auto selection = select(range, *store);
  if (selection) {
    Copying(options.file, *store, form, workspace, output).copy(*selection);
  } else {
    workspace.say_failure(options.file, selection.error());
  }
  workspace.note(output.finish());
  return workspace.status();
}

std::shared_ptr<EndOptions> declare(CLI::App& app) {
  auto options = std::make_shared<EndOptions>();
  app.add_option("FILE", options->file, "a container")->required()->type_name("");
  app.add_option("-n,--records", options->records, "how many records (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, INT64_MAX));
  options->form.declare(app);
  options->reading.declare(app);
  app.footer(
      "On a terminal each record is a line in which what does not print is escaped. In a pipe or a file the bytes "
      "are\nwritten one record directly behind the other, as recordfs cat does; --lines, --json and the others say "
      "otherwise.");
  return options;
}

}  // namespace

std::function<int()> declare_head(CLI::App& app) {
  const auto options = declare(app);
  return [options] { return copy_range(*options, {.begin = 0, .end = options->records}); };
}

std::function<int()> declare_tail(CLI::App& app) {
  const auto options = declare(app);
  return [options] {
    // No slice counts zero records from the end.
    if (options->records == 0) return copy_range(*options, {.begin = 0, .end = 0});
    return copy_range(*options, {.begin = -options->records});
  };
}

}  // namespace recordfs
