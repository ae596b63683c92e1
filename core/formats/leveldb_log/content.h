// What the records of a log are, guessed from one of them. Only words for info.json come of it.
#pragma once

#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::leveldb_log {

// "write-ahead log" when `record` is a write batch to its last byte, "manifest" when it is a version edit,
// "opaque" otherwise. Static storage. FORMAT.md, "Content". Any thread.
std::string_view content_of(Bytes record);

}  // namespace recordfs::leveldb_log
