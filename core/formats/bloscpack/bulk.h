// Reads intact chunks together that follow each other directly, as every released writer stores them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/bloscpack/survey.h"
#include "core/formats/bulk.h"

namespace recordfs::bloscpack {

// For the chain and the anchored order.
class BloscpackBulkReader final : public BulkReader {
 public:
  // `source` and `survey` must outlive the reader.
  BloscpackBulkReader(const Source& source, const Survey& survey, const Limits& limits)
      : source_(source), survey_(survey), limits_(limits), offsets_(source, survey.offsets_begin, survey.offsets) {}

  ChunkRun plan(ChunkKey at, Bytes window) const override;
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override;

 private:
  // Consecutive offsets.
  struct Listed {
    std::uint64_t first = 0;  // number of a chunk
    std::vector<Position> begins;

    bool says(const ChunkKey& key) const {
      return key.state >= first && key.state - first < begins.size() && begins[key.state - first] == key.position;
    }
  };
  // Returns the offsets of the chunks from number `index` on that a run may need. Reads many at once.
  std::shared_ptr<const Listed> listed_from(std::uint64_t index) const;
  bool is_usual(const BloscHeader& header) const;
  // Returns the chunk without its checksum, and removes both from `rest`; no bytes if the checksum does not match.
  Bytes take_verified(const BloscHeader& header, Bytes& rest) const;

  const Source& source_;
  const Survey& survey_;
  const Limits limits_;
  const Offsets offsets_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Listed> listed_;  // guarded by mutex_; the last ones that were read
};

}  // namespace recordfs::bloscpack
