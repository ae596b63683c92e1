// Detects a log's variant (writer, checksum, compression) from its first fragments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_log/assembly.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/items.h"
#include "core/formats/leveldb_log/write_batch.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_log {

// What a log says of the one before it (RocksDB's track_and_verify_wals).
struct Predecessor {
  std::uint64_t log_number = 0;
  std::uint64_t size = 0;           // bytes of the file
  std::uint64_t last_sequence = 0;  // sequence number of its last batch; 0: it has none
};

// Properties of a log from its head.
struct Head {
  // Evidence for a log in bits: a checksum's 32 plus type and length, fewer if the fragment was searched for.
  int bid = 0;
  Session session;
  Compression compression;
  Writer writer = Writer::kEither;
  std::string_view content = "unknown";        // content of the first valid record, if that is cheap to find
  Numbering numbering = Numbering::kPerWrite;  // of write batches, as far as marks in the first frame tell
  // The number in the file's name, "000016.log", as a recyclable header stores it; nullopt: the name has none.
  std::optional<std::uint32_t> named_number;
  std::optional<Predecessor> predecessor{};
  bool is_in_database = false;  // opened by open_in_database()

  // Returns whether the fragments are those of the log that the file's name says.
  bool has_named_number() const { return named_number && session.log_number == named_number; }
  // Returns whether they are those of an older log, whose file was renamed to be written over.
  bool is_of_another_log() const { return named_number && session.log_number && session.log_number != named_number; }
};

// Reads the first frame and, with kSearch if that is damaged, later ones within the default of Limits::scan_bytes: a
// session must not change with the limits. If fragments of several logs are there, the session is that of the log in
// the source's name. Returns nullopt if there is no valid fragment. Fails as Source does. Any thread.
Result<std::optional<Head>> read_head(const RequestContext& context, const Source& source, ProbeDepth depth);

}  // namespace recordfs::leveldb_log
