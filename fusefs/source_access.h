// Which users may read a source, besides what its permission bits say.
#pragma once

#include <string>

#include "core/base/storage.h"
#include "fusefs/options.h"
#include "fusefs/tree/file_status.h"

namespace recordfs {

// Returns the owner, the read permissions and the time of a source. If its storage does not say the owner, that is the
// user that mounts, and no other user may read it.
Ownership ownership_of(const Source& source);
Ownership ownership_of(const SourceStatus& status);

// With -o allow_other, removes the permissions of users that cannot read the local file at `path`: because they cannot
// search a directory above it, or because an access control list denies it to some of them. Users that only a list
// gives access get none. Does nothing if -o umask replaces the source's permissions, or without -o allow_other, as only
// the user that mounts then reaches the mount. May block. Thread-safe.
void keep_only_readers(Ownership& ownership, const std::string& path, const Options& options);

}  // namespace recordfs
