#include "core/database/lookup.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/database/entry.h"

namespace recordfs::database {
namespace {

class Search {
 public:
  Search(const RequestContext& context, const State& state, const FamilyView& family, Bytes key, const Snapshot& at,
         Wanted wanted)
      : context_(context),
        state_(state),
        view_(family),
        key_(key),
        first_(family.order.stored_key(key, at.timestamp)),
        at_(at),
        wanted_(wanted) {}

  Result<StoredWrites> run() {
    for (const Loss& loss : state_.losses()) take_loss(loss);
    TRY(search_logs());
    for (const TableFile* file : tables()) {
      if (state_.last_sequence_of(*file) < settled_) break;
      TRY(search_table(*file));
    }
    // A deletion of a range hides only writes with lower numbers. An ingested table has one number for all its writes.
    std::ranges::sort(found_.writes, [](const StoredWrite& a, const StoredWrite& b) {
      if (a.timestamp != b.timestamp) return a.timestamp > b.timestamp;
      if (a.sequence != b.sequence) return a.sequence > b.sequence;
      const bool is_range = a.type == kTypeDeleteRange;
      if (is_range != (b.type == kTypeDeleteRange)) return !is_range;
      return a.file > b.file;
    });
    // Without a MANIFEST, a write may be in an old table and in the one that replaced it.
    const auto is_same = [](const StoredWrite& a, const StoredWrite& b) {
      return a.sequence == b.sequence && a.type == b.type && a.timestamp == b.timestamp;
    };
    std::vector<StoredWrite>& writes = found_.writes;
    // Nothing tells which keys a deletion of a range hides in an unknown order.
    if (!writes.empty() && newest_ineffective_ > 0) {
      take_loss({.largest_sequence = newest_ineffective_, .cause = Code::kUnsupported});
    }
    writes.erase(std::unique(writes.begin(), writes.end(), is_same), writes.end());
    return std::move(found_);
  }

 private:
  bool is_wanted_key(Bytes stored) const { return std::ranges::equal(view_.order.user_key(stored), key_); }
  Bytes first() const { return as_bytes(first_); }

  Result<void> search_logs() {
    const LoggedWrites& logged = state_.logged();
    const auto writes = logged.of_family(view_.state.family.id);
    std::size_t next = logged.find(view_.state.family.id, view_.order, first(), first_tag_at(at_.sequence));
    for (; next < writes.size() && is_wanted_key(logged.key(writes[next])); ++next) {
      if (writes[next].tag >> 8 > at_.sequence) continue;
      TRY(add(write_of(logged, writes[next], view_.order)));
      if (!is_more_wanted_after(found_.writes.back())) break;
    }
    return add_range_deletions(logged.range_deletions(view_.state.family.id), {.level = -1}, "");
  }

  // Returns the tables that may have the key. Those with newer writes come first, since a write that is found there
  // may make the others unnecessary.
  std::vector<const TableFile*> tables() const {
    std::vector<const TableFile*> tables;
    for (const Run& run : view_.runs) {
      std::size_t at = view_.can_seek() ? run.first_from(view_.order, first()) : 0;
      for (; at < run.tables.size(); ++at) {
        const Bytes smallest = view_.order.user_key(user_key_of(as_bytes(run.tables[at]->smallest)));
        const bool is_after = view_.can_seek() && view_.order.of_user_keys().is_before(key_, smallest);
        if (is_after) break;
        tables.push_back(run.tables[at]);
      }
    }
    std::ranges::stable_sort(tables, std::greater<>(),
                             [&](const TableFile* file) { return state_.last_sequence_of(*file); });
    return tables;
  }

  Result<void> search_table(const TableFile& file) {
    ASSIGN_OR_RETURN(const auto table, state_.table(context_, file));
    if (!table || table->damage()) take_loss(state_.loss_of(file));
    if (!table) return {};
    const std::string name = state_.name_of(file);
    TRY(add_range_deletions(table->range_deletions(), state_.age_of(file), name));
    const OpenTable open = [&] { return state_.open_files().open(name); };
    TableIterator entries(
        table, open,
        [&](Loss part, const Error& why) {
          state_.report({.file = name, .error = why});
          part.cause = cause_of(why.code);
          take_loss(state_.loss_of(file, std::move(part)));
        },
        memory_);
    merge_operator_ = table->properties().merge_operator;
    return view_.can_seek() ? search_sorted(entries, file, name) : search_all(entries, file, name);
  }

  Result<void> search_sorted(TableIterator& entries, const TableFile& file, const std::string& name) {
    const MayContain may_contain = [&](const Table& table, Position block) -> Result<bool> {
      ASSIGN_OR_RETURN(const auto source, state_.open_files().open(name));
      return table.may_contain(context_, *source, key_, block);
    };
    TRY(entries.seek_key(context_, first(), first_tag_at(at_.sequence), may_contain));
    while (entries.is_valid() && is_wanted_key(entries.entry().user_key)) {
      ASSIGN_OR_RETURN(const auto goes_on, take(entries, file, name));
      if (!goes_on) break;
      TRY(entries.next(context_));
    }
    return {};
  }

  // Without a proved order, each entry may be the key. It is looked for first where bytewise order has it. A comparator
  // keeps all versions of a key together; a table that no comparator sorted does not.
  Result<void> search_all(TableIterator& entries, const TableFile& file, const std::string& name) {
    const bool are_together = view_.state.family.comparator != kUnprovedOrder;
    bool was_found = false;
    bool is_there = false;
    if (are_together && view_.order.is_known()) {
      ASSIGN_OR_RETURN(is_there, entries.find_together(context_, key_));
    }
    if (!is_there) TRY(entries.to_first(context_));
    while (entries.is_valid()) {
      const bool is_key = is_wanted_key(entries.entry().user_key);
      if (are_together && was_found && !is_key) break;
      was_found |= is_key;
      if (is_key) {
        ASSIGN_OR_RETURN(const auto goes_on, take(entries, file, name));
        if (are_together && !goes_on) break;
      }
      TRY(entries.next(context_));
    }
    return {};
  }

  // Returns whether more writes are wanted.
  Result<bool> take(const TableIterator& entries, const TableFile& file, const std::string& name) {
    const TableEntry entry = entries.entry();
    if (entry.sequence() > at_.sequence) return true;
    StoredWrite write{.sequence = entry.sequence(),
                      .type = entry.type(),
                      .age = state_.age_of(file),
                      .file = name,
                      .stored_size = entry.value.size(),
                      .value = {}};
    if (entries.has_timestamps()) write.timestamp = view_.order.timestamp(entry.user_key);
    if (wanted_ == Wanted::kFirst || has_size_in_value(write.type)) write.value = {entry.value, entries.memory()};
    if (is_operand(write)) write.merge_operator = merge_operator_;
    const bool is_more_wanted = is_more_wanted_after(write);
    TRY(add(std::move(write)));
    return is_more_wanted;
  }

  bool is_more_wanted_after(const StoredWrite& write) const { return wanted_ == Wanted::kAll || is_operand(write); }

  Result<void> add_range_deletions(const RangeDeletions& deletions, Age age, const std::string& file) {
    Result<void> added;
    newest_ineffective_ = std::max(newest_ineffective_, deletions.newest_ineffective());
    const bool has_timestamps = view_.order.has_timestamps();
    deletions.for_each_over(key_, [&](const RangeDeletion& deletion) {
      if (deletion.sequence > at_.sequence || deletion.timestamp > at_.timestamp || !added) return;
      const auto end = std::make_shared<const std::string>(deletion.end);
      added = add({.sequence = deletion.sequence,
                   .type = kTypeDeleteRange,
                   .age = age,
                   .file = file,
                   .stored_size = end->size(),
                   .value = {as_bytes(*end), end},
                   .timestamp = has_timestamps ? std::optional(deletion.timestamp) : std::nullopt});
    });
    return added;
  }

  Result<void> add(StoredWrite write) {
    if (found_.writes.size() == state_.options().limits.parts_per_record) {
      return Error{.code = Code::kLimit, .detail = "too many versions of the key"};
    }
    // With timestamps, an older write may have a larger one.
    const bool settles = !is_more_wanted_after(write) && !view_.order.has_timestamps();
    if (settles) settled_ = std::max(settled_, write.sequence);
    found_.writes.push_back(std::move(write));
    return {};
  }

  void take_loss(Loss loss) {
    if (loss.covers(view_.state.family.id, key_, view_.order)) found_.losses.push_back(std::move(loss));
  }

  const RequestContext& context_;
  const State& state_;
  const FamilyView& view_;
  const Bytes key_;          // the user's
  const std::string first_;  // the first stored key that may be wanted
  const Snapshot at_;
  const Wanted wanted_;
  const std::shared_ptr<MemoryBudget> memory_ = MemoryBudget::of(state_.options().limits);
  std::string merge_operator_;            // of the current table
  std::uint64_t settled_ = 0;             // writes with lower sequence numbers are not wanted
  std::uint64_t newest_ineffective_ = 0;  // the sequence number of a deletion of a range without effect; 0: none
  StoredWrites found_;
};

}  // namespace

Staleness StoredWrites::staleness_of(const StoredWrite* write) const {
  Staleness staleness;
  for (const Loss& loss : losses) {
    if (write == nullptr || loss.may_be_newer_than(write->sequence, write->age)) staleness.add(loss.cause);
  }
  return staleness;
}

Result<void> check_snapshot(const FamilyView& family, const Snapshot& at) {
  if (at.timestamp == kNewest) return {};
  if (!family.order.has_timestamps()) {
    return Error{.code = Code::kUnsupported, .detail = "the column family has no user-defined timestamps"};
  }
  const std::uint64_t least = family.state.least_timestamp;
  if (at.timestamp >= least) return {};
  return Error{.code = Code::kUnsupported,
               .detail = fmt::format("the database does not keep the values of timestamps before {}", least)};
}

Result<StoredWrites> find_writes(const RequestContext& context, const State& state, std::uint32_t family, Bytes key,
                                 const Snapshot& at, Wanted wanted) {
  const FamilyView* view = state.family(family);
  if (view == nullptr) {
    return Error{.code = Code::kNotFound, .detail = fmt::format("there is no column family {}", family)};
  }
  TRY(check_snapshot(*view, at));
  return Search(context, state, *view, key, at, wanted).run();
}

}  // namespace recordfs::database
