// The records of a log in order, with the damage between them.
#pragma once

#include <functional>
#include <memory>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/container.h"

namespace recordfs::database {

// Where a record is in a log.
struct RecordPlace {
  ChunkKey chunk;
  std::uint64_t index = 0;
};

// Receives the parts of a log in their order.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  // `record` is valid during the call. An error ends the reading, and is its result.
  virtual Result<void> take_record(const RecordPlace& place, Bytes record) = 0;
  virtual Result<void> take_damage(const RequestContext& context, const DamagedRegion& region) = 0;
  // Precedes the records of a part of the log that has not only intact records: also damage, or fragments that say
  // something of the log.
  virtual Result<void> take_mixed_part(const RequestContext& /*context*/, Position /*begin*/, Position /*end*/) {
    return {};
  }
};

// Opens a log. An empty file is one. Fails with kDamage if it has no intact record, and as Source.
Result<leveldb_log::DatabaseLog> open_log(const RequestContext& context, std::shared_ptr<const Source> source,
                                          const Limits& limits);

// Passes all records to `visitor`. Unreadable ones are damage. Fails with failures that may pass, and as the visitor.
// `source`: the bytes of `log`.
Result<void> visit_log(const RequestContext& context, const Source& source, const Container& log, LogVisitor& visitor);

// Returns a record. Fails with kChanged if it is not there any more, and as Container::decode().
Result<Slice> read_record(const RequestContext& context, const Container& log, const RecordPlace& place);

}  // namespace recordfs::database
