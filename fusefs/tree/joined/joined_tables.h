// JoinedTables: the generated files that describe a data set: JSON and tab-separated tables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/cancellable_mutex.h"
#include "fusefs/tree/joined/joined_shards.h"
#include "fusefs/tree/view.h"

namespace recordfs {

// Thread-safe. Functions block only as far as RequestContext permits.
class JoinedTables final : public View {
 public:
  // All must outlive this.
  JoinedTables(const NodeTree& nodes, JoinedShards& shards, TreeContext& cache)
      : View(nodes), shards_(shards), cache_(cache) {}

  // info.json has what is known without opening a shard, and the counts as far as they are known at the first call.
  // Opens no shard. The text is the same from then on, until renew().
  //
  // index/summary.json, shards.tsv and damage.tsv are kPending until all shards are counted. damage.tsv has a row for
  // each range of missing shards and each shard that cannot be opened, and the rows of the others; the first 65,536.
  // Scans the damaged shards again.
  Result<Slice> contents(const RequestContext& context, Node file) const override;

  // Announces that shards were appended. Texts that are returned from then on include them.
  void renew() { ++edition_; }

 private:
  using Text = std::shared_ptr<const std::string>;

  Result<std::string> make_info() const;
  Result<std::string> make_summary() const;
  Result<std::string> make_shard_rows() const;
  Result<Text> damage_rows(const RequestContext& context) const;
  // Append the rows of the next shards, of which one that is not missing, to unfinished_.
  Result<void> add_missing(std::size_t shards) const;
  Result<void> add_damage(const RequestContext& context) const;

  JoinedShards& shards_;
  TreeContext& cache_;
  std::atomic<std::uint64_t> edition_{1};  // how often the data set has changed
  const LazyMap<std::string> infos_{};     // by edition
  mutable std::mutex mutex_;               // guards the next two
  mutable Text damage_;
  mutable std::size_t damage_shards_ = 0;  // that damage_ includes
  mutable CancellableMutex adding_;        // held while a shard is scanned; guards the following
  mutable Text finished_;                  // damage_
  mutable std::string unfinished_;  // the first line and the rows of the shards before next_; empty: as in finished_
  mutable std::size_t next_ = 0;
  mutable std::size_t rows_ = 0;
};

}  // namespace recordfs
