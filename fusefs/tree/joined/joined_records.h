// JoinedRecords: the records of a data set by their ordinals in the set.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fusefs/tree/joined/joined_shards.h"
#include "fusefs/tree/view.h"

namespace recordfs {

// records/ and thousands/, or inside/, whose names are made from ordinals of the set. The nodes are those of the
// shards' containers. kPending until DataSet has counted far enough, or as the container that is asked.
class JoinedRecords final : public View {
 public:
  // What a directory shows of each record: the record, or the directory with its parts.
  enum class Shows : std::uint8_t { kRecords, kInsides };

  // `suffix`: of the names of records in listings. All must outlive this.
  JoinedRecords(const NodeTree& nodes, JoinedShards& shards, Shows shows, std::string_view suffix)
      : View(nodes), shards_(shards), shows_(shows), suffix_(suffix) {}

  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override;
  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override;
  // Returns whether the records of the first shard that can be opened have what this shows.
  Result<bool> is_shown(const RequestContext& context) const override;

 private:
  struct Ordinals {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  static std::optional<Ordinals> ordinals_in(const Node& directory);

  Result<Node> lookup_thousand(std::string_view name) const;
  Result<Node> link_to_inside(std::uint64_t ordinal) const;
  Result<void> list_thousands(std::uint64_t place, const Emit& emit) const;
  Result<std::uint64_t> list_shard(const RequestContext& context, const RecordInShard& from, const Ordinals& in,
                                   const Emit& emit, bool& is_full) const;
  // Returns the directory of a shard's container that shows the same of its records.
  Node directory_in_shard() const { return {NodeKind::kStatic, shows_ == Shows::kInsides ? kInside : kRecords}; }

  JoinedShards& shards_;
  const Shows shows_;
  const std::string_view suffix_;
};

}  // namespace recordfs
