// What the first fragments of a log tell about all of it.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_log/assembly.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_log {

// Properties of a log from its head.
struct Head {
  // Evidence for a log in bits: a checksum's 32 plus type and length, fewer if the fragment was searched for.
  int bid = 0;
  Session session;
  Compression compression;
  Writer writer = Writer::kEither;
  bool number_in_name = false;           // the file's name has the session's log number, as RocksDB names its logs
  std::string_view content = "unknown";  // content of the first valid record, if that is cheap to find
};

// Reads the first frame and, with kSearch if that is damaged, later ones within the default of Limits::scan_bytes: a
// session must not change with the limits. Returns nullopt if there is no valid fragment. Fails as Source does. Any
// thread.
Result<std::optional<Head>> read_head(const RequestContext& context, const Source& source, ProbeDepth depth);

}  // namespace recordfs::leveldb_log
