// Reads the keys of a blob file that is given without the tables that refer to it.
#pragma once

#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/directory.h"
#include "core/database/logged_writes.h"
#include "core/database/loss.h"

namespace recordfs::database {

// What was wrong with blob files.
struct BlobReplay {
  std::vector<Problem> problems{};
  std::vector<Loss> losses{};
};

// Returns whether all of one or more files are blob files.
bool are_blob_files(const std::vector<DirectoryEntry>& files);

// Adds a write for each record of these blob files, with the sequence number 0 and the place of the value, which
// is not read. Such a file does not say which of several values of a key is the newest, so these keys are losses. Fails
// with kLimit for a key beyond Limits::stored_chunk, with kChanged, and as OpenFiles::open(). One thread.
Result<BlobReplay> replay_blob_files(const RequestContext& context, OpenFiles& files,
                                     const std::vector<DirectoryEntry>& entries, const Limits& limits,
                                     LoggedWrites& writes);

}  // namespace recordfs::database
