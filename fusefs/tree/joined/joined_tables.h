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
class JoinedTables {
 public:
  // Both must outlive this.
  JoinedTables(JoinedShards& shards, CachedFiles& cache) : shards_(shards), cache_(cache) {}

  // Returns info.json: what is known without opening a shard, and the counts as far as they are known at the first
  // call. Opens no shard. The text is the same from then on, until renew().
  Slice info();
  // Returns index/summary.json and index/shards.tsv. kPending until all shards are counted.
  Result<Slice> summary();
  Result<Slice> shard_rows(const RequestContext& context);
  // Returns index/damage.tsv: a row for each range of missing shards and each shard that cannot be opened, and the rows
  // of the others; the first 65,536. Scans the damaged shards again. kPending.
  Result<Slice> damage_rows(const RequestContext& context);

  // Announces that shards were appended. Texts that are returned from then on include them.
  void renew() { ++edition_; }

 private:
  using Text = std::shared_ptr<const std::string>;

  static Slice slice_of(const Text& text) { return {as_bytes(*text), text}; }
  Result<Text> make_summary() const;
  Result<Text> make_shard_rows() const;
  Text make_info() const;
  // Append the rows of the next shards, of which one that is not missing, to unfinished_.
  Result<void> add_missing(std::size_t shards);
  Result<void> add_damage(const RequestContext& context);

  JoinedShards& shards_;
  CachedFiles& cache_;
  std::atomic<std::uint64_t> edition_{1};  // how often the data set has changed
  std::mutex mutex_;                       // guards the next four
  Text info_;
  std::uint64_t info_edition_ = 0;
  Text damage_;
  std::size_t damage_shards_ = 0;  // that damage_ includes
  CancellableMutex adding_;        // held while a shard is scanned; guards the following
  Text finished_;                  // damage_
  std::string unfinished_;         // the first line and the rows of the shards before next_; empty: as in finished_
  std::size_t next_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace recordfs
