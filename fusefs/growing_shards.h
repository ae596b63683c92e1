// GrowingShards: a mounted data set to which files are added (-o join,follow).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/store/record_store.h"
#include "fusefs/follow/growth_source.h"
#include "fusefs/follow/new_files.h"
#include "fusefs/options.h"
#include "fusefs/shard_files.h"
#include "fusefs/tree/data_set/data_set_tree.h"

namespace recordfs {

// Appends files that appear to the data set, in the order in which NewFiles returns them.
class GrowingShards final : public GrowthSource {
 public:
  // `opener` opens the shards of `set`. All but `files` must outlive this.
  GrowingShards(DataSetTree& set, std::unique_ptr<NewFiles> files, ShardOpener& opener, const Options& options,
                const StoreResources& services);

  std::vector<std::string> paths() const override { return files_->directories(); }
  bool look(const RequestContext& context, FileWatch& watch, const Notify& notify) override;

 private:
  // Shards that become visible together: a larger number takes longer until the first is.
  static constexpr std::size_t kTogether = 64;
  static constexpr std::size_t kMostNamed = 100;  // in the log, that a new mount would have elsewhere

  void append(const RequestContext& context, std::span<const NewFile> files, const Notify& notify);
  void log_moved(const std::string& shown);
  void end(const std::string& why);

  DataSetTree& set_;
  const std::unique_ptr<NewFiles> files_;
  ShardOpener& opener_;
  const Options& options_;
  const StoreResources& services_;
  std::size_t shards_;     // in the data set
  std::size_t moved_ = 0;  // of them that a new mount would have elsewhere
  bool is_over_ = false;   // no more shards are shown
};

}  // namespace recordfs
