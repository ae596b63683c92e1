#include "core/database/entry_source.h"

#include <algorithm>
#include <utility>

namespace recordfs::database {
namespace {

class LogSource final : public EntrySource {
 public:
  LogSource(const State& state, const FamilyView& family)
      : logged_(state.logged()), family_(family), writes_(logged_.of_family(family.state.family.id)) {}

  Result<void> seek(const RequestContext&, std::optional<Bytes> key) override {
    next_ = key ? logged_.find(family_.state.family.id, family_.order, *key, UINT64_MAX) : 0;
    return {};
  }
  Result<void> next(const RequestContext&) override {
    ++next_;
    return {};
  }
  bool is_valid() const override { return next_ < writes_.size(); }

  Bytes key() const override { return logged_.key(writes_[next_]); }
  std::uint64_t tag() const override { return writes_[next_].tag; }
  StoredWrite write() const override { return write_of(logged_, writes_[next_], family_.order); }
  Result<DeletionsOver> deletions_over(const RequestContext&, Bytes key, const Snapshot& at) override {
    const RangeDeletions& deletions = logged_.range_deletions(family_.state.family.id);
    if (deletions.empty()) return DeletionsOver{};
    return DeletionsOver{.newest = deletions.newest_over(key, at), .until = key};
  }
  std::uint64_t newest_ineffective() const override {
    return logged_.range_deletions(family_.state.family.id).newest_ineffective();
  }

 private:
  const LoggedWrites& logged_;
  const FamilyView& family_;
  const std::span<const LoggedWrite> writes_;
  std::size_t next_ = 0;
};

class RunSource final : public EntrySource {
 public:
  RunSource(const State& state, const FamilyView& family, const Run& run, TakeTableLoss take_loss,
            std::shared_ptr<MemoryBudget> memory)
      : state_(state),
        family_(family),
        user_order_(family.order.of_user_keys()),
        run_(run),
        take_loss_(std::move(take_loss)),
        memory_(std::move(memory)) {}

  Result<void> seek(const RequestContext& context, std::optional<Bytes> key) override {
    entries_.reset();
    drop_over_table();
    table_ = over_ = key ? run_.first_from(family_.order, *key) : 0;
    TRY(open_table(context));
    if (entries_) TRY(key ? entries_->seek(context, *key, UINT64_MAX) : entries_->to_first(context));
    return settle(context);
  }
  Result<void> next(const RequestContext& context) override {
    TRY(entries_->next(context));
    return settle(context);
  }
  bool is_valid() const override { return entries_ && entries_->is_valid(); }

  Bytes key() const override { return entries_->entry().user_key; }
  std::uint64_t tag() const override { return entries_->entry().tag; }
  StoredWrite write() const override {
    const TableEntry entry = entries_->entry();
    StoredWrite write{.sequence = entry.sequence(),
                      .type = entry.type(),
                      .age = state_.age_of(*run_.tables[table_]),
                      .file = name_,
                      .stored_size = entry.value.size(),
                      .value = {entry.value, entries_->memory()},
                      .timestamp = entries_->has_timestamps() ? family_.order.timestamp(entry.user_key) : std::nullopt};
    if (is_operand(write)) write.merge_operator = merge_operator_;
    return write;
  }

  // The deletions of a table are effective only within its range of keys.
  Result<DeletionsOver> deletions_over(const RequestContext& context, Bytes key, const Snapshot& at) override {
    DeletionsOver over;
    if (!state_.files().is_rocksdb) return over;
    const auto& tables = run_.tables;
    for (; over_ < tables.size() && ends_before(*tables[over_], key); ++over_) drop_over_table();
    for (std::size_t i = over_; i < tables.size(); ++i) {
      const Bytes smallest = family_.order.user_key(user_key_of(as_bytes(tables[i]->smallest)));
      if (user_order_.is_before(key, smallest)) {
        if (!over.until) over.until = smallest;
        break;
      }
      ASSIGN_OR_RETURN(const auto table, table_over(context, i));
      const bool may_delete = table && !table->range_deletions().empty();
      if (may_delete) over.newest = std::max(over.newest, table->range_deletions().newest_over(key, at));
      if (may_delete) over.until = key;
    }
    return over;
  }
  std::uint64_t newest_ineffective() const override { return newest_ineffective_; }

 private:
  bool ends_before(const TableFile& table, Bytes key) const {
    return user_order_.is_before(family_.order.user_key(user_key_of(as_bytes(table.largest))), key) ||
           ends_short_of(table, family_.order, key);
  }

  void drop_over_table() {
    over_table_.reset();
    over_share_ = {};
  }

  Result<std::shared_ptr<const Table>> table_over(const RequestContext& context, std::size_t index) {
    if (index != over_) return state_.table(context, *run_.tables[index]);
    if (index == table_ && current_) return current_;
    if (!over_table_) {
      ASSIGN_OR_RETURN(auto table, state_.table(context, *run_.tables[index]));
      if (table) {
        ASSIGN_OR_RETURN(over_share_, MemoryBudget::take(memory_, table->memory(), table->usual_memory()));
      }
      over_table_ = std::move(table);
    }
    return over_table_;
  }

  // Opens the current table, or the next one that is readable.
  Result<void> open_table(const RequestContext& context) {
    current_.reset();
    for (; table_ < run_.tables.size(); ++table_) {
      const TableFile& file = *run_.tables[table_];
      ASSIGN_OR_RETURN(auto table, state_.table(context, file));
      table = with_share(std::move(table), file);
      if (!table || table->damage()) take_loss_(state_.loss_of(file));
      if (!table) continue;
      current_ = table;
      name_ = state_.name_of(file);
      merge_operator_ = table->properties().merge_operator;
      newest_ineffective_ = std::max(newest_ineffective_, table->range_deletions().newest_ineffective());
      const auto open = [&files = state_.open_files(), name = name_] { return files.open(name); };
      entries_ = std::make_unique<TableIterator>(
          std::move(table), open,
          [this, &file](Loss part, const Error& why) {
            state_.report({.file = state_.name_of(file), .error = why});
            part.cause = cause_of(why.code);
            take_loss_(state_.loss_of(file, std::move(part)));
          },
          memory_);
      return {};
    }
    return {};
  }

  // Returns the table with its share of the memory; null, which is reported, if there is no room.
  std::shared_ptr<const Table> with_share(std::shared_ptr<const Table> table, const TableFile& file) {
    share_ = {};
    if (!table) return table;
    auto share = MemoryBudget::take(memory_, table->memory(), table->usual_memory());
    if (share) {
      share_ = *std::move(share);
      return table;
    }
    state_.report({.file = state_.name_of(file), .error = std::move(share).error()});
    return nullptr;
  }

  // Moves into the next table at the end of one.
  Result<void> settle(const RequestContext& context) {
    while (entries_ && !entries_->is_valid()) {
      entries_.reset();
      ++table_;
      TRY(open_table(context));
      if (entries_) TRY(entries_->to_first(context));
    }
    return {};
  }

  const State& state_;
  const FamilyView& family_;
  const KeyOrder user_order_;
  const Run& run_;
  const TakeTableLoss take_loss_;
  const std::shared_ptr<MemoryBudget> memory_;
  std::size_t table_ = 0;
  std::string name_;
  std::shared_ptr<const Table> current_;  // null: there is none
  MemoryBudget::Share share_;             // of it
  std::string merge_operator_;
  std::uint64_t newest_ineffective_ = 0;
  std::unique_ptr<TableIterator> entries_;
  std::size_t over_ = 0;  // the first table that may have deletions over the next keys
  std::shared_ptr<const Table> over_table_;
  MemoryBudget::Share over_share_;
};

}  // namespace

std::unique_ptr<EntrySource> source_of_logs(const State& state, const FamilyView& family) {
  return std::make_unique<LogSource>(state, family);
}

std::unique_ptr<EntrySource> source_of_run(const State& state, const FamilyView& family, const Run& run,
                                           TakeTableLoss take_loss, std::shared_ptr<MemoryBudget> memory) {
  return std::make_unique<RunSource>(state, family, run, std::move(take_loss), std::move(memory));
}

}  // namespace recordfs::database
