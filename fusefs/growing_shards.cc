#include "fusefs/growing_shards.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/thrown.h"

namespace recordfs {

GrowingShards::GrowingShards(DataSetTree& set, std::unique_ptr<NewFiles> files, ShardOpener& opener,
                             const Options& options, const StoreResources& services)
    : set_(set),
      files_(std::move(files)),
      opener_(opener),
      options_(options),
      services_(services),
      shards_(set.progress().all) {}

bool GrowingShards::look(const RequestContext& context, FileWatch&, const Notify& notify) {
  if (is_over_) return true;
  const auto found = files_->look(context, NewFiles::Clock::now());
  const std::span<const NewFile> fitting = std::span(found).first(std::min(found.size(), set_.room()));
  for (std::size_t at = 0; at < fitting.size() && !context.cancelled() && !is_over_; at += kTogether) {
    append(context, fitting.subspan(at, std::min(kTogether, fitting.size() - at)), notify);
  }
  if (set_.room() == 0 || fitting.size() < found.size()) {
    end(fmt::format("{}, so new ones are not shown any more (a new mount shows them)", counted(shards_, "shard")));
  }
  return true;
}

void GrowingShards::append(const RequestContext& context, std::span<const NewFile> files, const Notify& notify) {
  const bool has_memory = has_memory_for([&] {
    AppendedShards more;
    for (const NewFile& file : files) {
      more.shards.push_back({.path = file.path});
      if (file.is_before_others) {
        log_moved(options_.redact ? fmt::format("shard {}", shards_ + more.shards.size() - 1) : file.path);
      }
    }
    auto examined = examine(more.shards, options_);
    more.ownerships = std::move(examined.ownerships);
    more.stored = examined.stored;
    opener_.add(std::move(examined.files));
    shards_ += files.size();
    set_.append(context, std::move(more), notify);
    services_.log(Severity::kDetail,
                  fmt::format("a data set: {}, {} now", counted(files.size(), "new shard"), shards_));
  });
  if (!has_memory) end("no memory, so new shards are not shown any more");
}

void GrowingShards::log_moved(const std::string& shown) {
  constexpr std::string_view kWhat = "at the end of the data set (a new mount has it before others)";
  if (moved_ == kMostNamed) services_.log(Severity::kInfo, fmt::format("and more new shards {}", kWhat));
  if (moved_++ < kMostNamed) services_.log(Severity::kInfo, fmt::format("{}: a new shard, {}", shown, kWhat));
}

void GrowingShards::end(const std::string& why) {
  if (!std::exchange(is_over_, true)) services_.log(Severity::kWarning, why);
}

}  // namespace recordfs
