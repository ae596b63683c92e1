// One pass over the visible keys of one state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/entry_source.h"
#include "core/database/key_value.h"
#include "core/database/loss_sweep.h"
#include "core/database/state.h"

namespace recordfs::database {

// The sources of one state.
struct Sources {
  std::shared_ptr<const State> state;
  const FamilyView* family = nullptr;
  std::vector<std::unique_ptr<EntrySource>> all;
  std::optional<LossSweep> losses{};
};

// One pass over the keys of one state. One thread.
class Pass {
 public:
  Pass(std::unique_ptr<Sources> sources, const KeyRange& range, const Snapshot& at)
      : sources_(std::move(sources)), range_(range), at_(at) {}
  virtual ~Pass() = default;

  // Moves to the first key, or to the first one after `after`, a user's key.
  virtual Result<void> start(const RequestContext& context, std::optional<Bytes> after) = 0;
  // Moves to the next key; the first call to the one that start() found. Returns false at the end.
  virtual Result<bool> next(const RequestContext& context) = 0;

  // Of the current key. It is a user's key.
  const std::string& key() const { return key_; }
  const ValueWrites& writes() const { return writes_; }
  // Returns why writes() lacks writes that make the value; nullopt: it has all.
  const std::optional<Error>& missing_writes() const { return missing_writes_; }
  const std::shared_ptr<const State>& state() const { return sources_->state; }
  const FamilyView& family() const { return *sources_->family; }
  Staleness staleness() {
    const StoredWrite* const oldest = oldest_needed(writes_);
    const Age any{.level = INT64_MAX};
    return sources_->losses->staleness_of(as_bytes(key_),
                                          oldest == nullptr ? std::nullopt : std::optional(oldest->sequence),
                                          oldest == nullptr ? any : oldest->age);
  }

 protected:
  const KeyOrder& order() const { return sources_->family->order; }
  EntrySource& source(std::size_t index) const { return *sources_->all[index]; }
  std::size_t sources() const { return sources_->all.size(); }
  const KeyRange& range() const { return range_; }
  const Snapshot& at() const { return at_; }
  // Returns whether the snapshot sees a write.
  bool is_seen(Bytes stored_key, std::uint64_t tag) const {
    return tag >> 8 <= at_.sequence && order().timestamp(stored_key).value_or(0) <= at_.timestamp;
  }
  void add_loss(Loss loss) { sources_->losses->add(std::move(loss)); }
  void set_key(Bytes key) { key_ = as_text(key); }
  void set_write(StoredWrite write) {
    writes_.clear();
    missing_writes_.reset();
    writes_.push_back(std::move(write));
  }
  void add_write(StoredWrite write) { writes_.push_back(std::move(write)); }
  void drop_merged() { drop_merged_operands(writes_); }
  void set_missing_writes(Error why) { missing_writes_ = std::move(why); }
  // Frees the blocks of the current writes, before the next block is read.
  void drop_value() {
    for (StoredWrite& write : writes_) write.value = {};
  }

 private:
  const std::unique_ptr<Sources> sources_;
  const KeyRange& range_;
  const Snapshot at_;
  std::string key_;
  ValueWrites writes_;
  std::optional<Error> missing_writes_;
};

// Returns a pass in the order of keys if the family's is known, otherwise in file order. Fails with kNotFound if the
// state does not have the family. `range` must outlive the pass.
Result<std::unique_ptr<Pass>> make_pass(std::shared_ptr<const State> state, std::uint32_t family, const KeyRange& range,
                                        const Snapshot& at);

// The two kinds.
std::unique_ptr<Pass> make_merge_pass(std::unique_ptr<Sources> sources, const KeyRange& range, const Snapshot& at);
std::unique_ptr<Pass> make_file_order_pass(std::unique_ptr<Sources> sources, const KeyRange& range, const Snapshot& at);

}  // namespace recordfs::database
