#include "fusefs/commands/cat.h"

#include <unistd.h>

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "fusefs/commands/output.h"
#include "fusefs/commands/scan.h"
#include "fusefs/commands/workspace.h"

namespace recordfs {
namespace {

struct CatOptions {
  ReadingOptions reading;
  std::string file;
};

// Writes the records of a chunk. Ends at the first that can't be read.
bool write_records(const RecordStore& store, const Result<std::shared_ptr<const Chunk>>& chunk, Workspace& workspace,
                   Output& output) {
  if (!chunk) {
    workspace.note(chunk.error());
    return false;
  }
  for (std::uint64_t i = 0; i < (*chunk)->layout().records() && output.good(); ++i) {
    auto record = store.read_record(**chunk, i, 0, UINT64_MAX);
    if (!record) {
      workspace.note(record.error());
      return false;
    }
    output.write(record->bytes);
  }
  return output.good();
}

int cat(const CatOptions& options) {
  Workspace workspace(options.reading);
  const auto store = workspace.open(options.file);
  if (!store) return workspace.status();
  Output output(STDOUT_FILENO);
  const auto walked = scan(*store, {.threads = workspace.threads()}, [&](const ScannedStep& step) -> Finish {
    for (const DamageRow& row : step.damage) workspace.note(row.region);
    if (!step.place) return {};
    return
        [&, chunk = store->decode_once(step.place->chunk)] { return write_records(*store, chunk, workspace, output); };
  });
  if (!walked) workspace.say_failure(options.file, walked.error());
  workspace.note(output.finish());
  return workspace.status();
}

}  // namespace

std::function<int()> declare_cat(CLI::App& app) {
  const auto options = std::make_shared<CatOptions>();
  app.add_option("FILE", options->file, "a container")->required();
  options->reading.declare(app);
  return [options] { return cat(*options); };
}

}  // namespace recordfs
