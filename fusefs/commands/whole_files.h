// What `cp --raw` does.
#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"

namespace recordfs {

// Copies the files that the words name, as they are, to the open directory DIR, several at a time. Prints failures, and
// returns the exit status.
int copy_whole_files(const RecordWords& words, Result<Descriptor> directory, bool replaces, CommandContext& context);

}  // namespace recordfs
