// JoinedRecords: the records of a data set by their ordinals in the set.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "fusefs/tree/file_status.h"
#include "fusefs/tree/joined/joined_shards.h"

namespace recordfs {

// The names in records/, inside/ and thousands/, which are made from ordinals of the set. The nodes are those of the
// containers of the shards. Thread-safe. Functions block only as far as RequestContext permits. kPending until DataSet
// has counted far enough, or as the container that they ask.
class JoinedRecords {
 public:
  // Both must outlive this.
  JoinedRecords(JoinedShards& shards, CachedFiles& cache) : shards_(shards), cache_(cache) {}

  // A range of ordinals.
  struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  // Returns the ordinals of a directory in thousands/, and the directory of an ordinal.
  static Span span_of_thousand(std::uint64_t thousand);
  static std::uint64_t thousand_of(std::uint64_t ordinal);

  struct Found {
    std::shared_ptr<const ContainerNode> container;
    Node node;
  };
  // What a directory shows of each record: the record, or the directory with its parts.
  enum class Shows : std::uint8_t { kRecords, kInsides };
  // Returns what a name in a directory of these records means.
  Result<Found> lookup(const RequestContext& context, Shows shows, std::string_view name, const Span& in);
  // Emits the records of a directory.
  Result<void> list(const RequestContext& context, Shows shows, const Span& in, std::uint64_t place,
                    const EmitEntry& emit);

  // Return numbers of the data set's own nodes, which are directories and links in thousands/.
  Result<std::uint64_t> lookup_thousand(std::string_view name);
  Result<void> list_thousands(std::uint64_t place, const EmitEntry& emit);

 private:
  Result<std::uint64_t> list_of_shard(const RequestContext& context, Shows shows, const RecordInShard& from,
                                      std::uint64_t end, const Span& in, const EmitEntry& emit, bool& is_full);

  JoinedShards& shards_;
  CachedFiles& cache_;
};

}  // namespace recordfs
