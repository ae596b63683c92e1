#include "core/store/key_index.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/formats/value.h"
#include "core/store/record_store.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kMostRecord = UINT32_MAX;  // bytes; positions in a record have 32 bits

Error too_much_prepared() { return {.code = Code::kLimit, .detail = "prepared transactions exceed the memory limit"}; }

Error no_such_key() { return {.code = Code::kNotFound, .detail = "no such key"}; }

// --- transactions

// Holds the changes of transactions until they commit. Not thread-safe.
class TransactedChanges {
 public:
  // `most`: bytes of changes that may be held.
  TransactedChanges(KeyTable& table, std::size_t most) : table_(table), most_(most) {}

  // Takes the next change of a record, whose address is `record`. Fails with kLimit; the object is unusable then.
  Result<void> take(const KeyChange& change, std::uint64_t record);
  // Ends the record, and drops a section that it left open.
  void end_record();

 private:
  // A change with its own copy of the key.
  struct PendingChange {
    KeyChange change;
    std::string key;
    std::string end;
    std::uint64_t record = 0;
    std::size_t memory() const { return sizeof(PendingChange) + key.size() + end.size(); }
  };
  using Section = std::vector<PendingChange>;

  Result<void> hold(const KeyChange& change, std::uint64_t record);
  Result<void> prepare(const std::string& transaction);
  Section end_transaction(const std::string& transaction);
  Result<void> commit(const std::string& transaction);

  KeyTable& table_;
  const std::size_t most_;
  std::size_t held_bytes_ = 0;
  bool in_section_ = false;
  Section section_;
  std::map<std::string, Section> prepared_;
};

Result<void> TransactedChanges::take(const KeyChange& change, std::uint64_t record) {
  switch (change.kind) {
    case KeyChangeKind::kBegin:
      end_record();
      in_section_ = true;
      return {};
    case KeyChangeKind::kPrepare: return prepare(std::string(as_text(change.key)));
    case KeyChangeKind::kCommit: return commit(std::string(as_text(change.key)));
    case KeyChangeKind::kRollback: end_transaction(std::string(as_text(change.key))); return {};
    default: return in_section_ ? hold(change, record) : table_.apply(change, record);
  }
}

Result<void> TransactedChanges::hold(const KeyChange& change, std::uint64_t record) {
  PendingChange pending{change, std::string(as_text(change.key)), std::string(as_text(change.end)), record};
  held_bytes_ += pending.memory();
  if (held_bytes_ > most_) return too_much_prepared();
  section_.push_back(std::move(pending));
  return {};
}

Result<void> TransactedChanges::prepare(const std::string& transaction) {
  if (!in_section_) return {};
  in_section_ = false;
  const auto [found, is_new] = prepared_.try_emplace(transaction);
  if (is_new) held_bytes_ += sizeof(PendingChange) + transaction.size();
  if (held_bytes_ > most_) return too_much_prepared();
  for (PendingChange& pending : section_) found->second.push_back(std::move(pending));
  section_.clear();
  return {};
}

// Returns what the transaction has prepared, and frees its share of the bound.
TransactedChanges::Section TransactedChanges::end_transaction(const std::string& transaction) {
  auto prepared = prepared_.extract(transaction);
  if (prepared.empty()) return {};
  held_bytes_ -= sizeof(PendingChange) + transaction.size();
  for (const PendingChange& pending : prepared.mapped()) held_bytes_ -= pending.memory();
  return std::move(prepared.mapped());
}

Result<void> TransactedChanges::commit(const std::string& transaction) {
  for (PendingChange& pending : end_transaction(transaction)) {
    pending.change.key = as_bytes(pending.key);
    pending.change.end = as_bytes(pending.end);
    TRY(table_.apply(pending.change, pending.record));
  }
  return {};
}

void TransactedChanges::end_record() {
  in_section_ = false;
  for (const PendingChange& pending : section_) held_bytes_ -= pending.memory();
  section_.clear();
}

// --- all changes

// Reads the changes of one chunk's records.
class ChunkChanges {
 public:
  ChunkChanges(const RecordStore& store, TransactedChanges& changes) : store_(store), changes_(changes) {}

  Result<void> read(const RequestContext& context, const ChunkInfo& info, const Chunk& chunk) {
    const Layout& layout = chunk.layout();
    for (std::uint64_t index = 0; index < layout.records(); ++index) {
      auto record = store_.records().read(context, chunk, index, 0, kEverything);
      if (!record && !is_permanent(record.error().code)) return std::move(record).error();
      if (!record) continue;  // logged by the store
      TRY(take(context, info, index, record->bytes));
      changes_.end_record();
    }
    return {};
  }

 private:
  Result<void> take(const RequestContext& context, const ChunkInfo& info, std::uint64_t index, Bytes record) {
    if (record.size() > kMostRecord)
      return report(context, info, index, {.code = Code::kLimit, .detail = "larger than 4 GiB"});
    const auto address = store_.records().address(info, index);
    if (!address) return report(context, info, index, address.error());
    Result<void> taken;
    const auto handed = store_.schema().key_changes(record, [&](const KeyChange& change) {
      taken = changes_.take(change, *address);
      return taken.has_value();
    });
    if (!handed) return report(context, info, index, handed.error());
    return taken;
  }

  Result<void> report(const RequestContext& context, const ChunkInfo& info, std::uint64_t index, const Error& error) {
    if (!is_permanent(error.code)) return error;
    store_.log().report(
        context,
        {.code = error.code,
         .position = info.begin,
         .detail = fmt::format("record {} of the chunk: cannot read its key changes: {}", index, error.detail)},
        index + 1);
    return {};
  }

  const RecordStore& store_;
  TransactedChanges& changes_;
};

// Reads every record of the store, on the calling thread, and applies the changes to `table`. Unreadable records are
// logged and skipped. Fails with failures that may pass, and with kLimit.
Result<void> read_key_changes(const RequestContext& outer, const RecordStore& store, KeyTable& table,
                              std::size_t prepared_bytes) {
  ReadWindow window(outer, store.source());
  const RequestContext context = outer.with(window);
  TransactedChanges changes(table, prepared_bytes);
  ChunkChanges records(store, changes);
  for (Scanner scanner = store.index().scanner(ScanDetail::kHeaders); !scanner.at_end();) {
    TRY(context.spend(0));
    TRY(scanner.step(context));
    for (const DamageRow& row : scanner.damage()) store.log().report(row.region);
    if (!scanner.chunk()) continue;
    const ChunkInfo& info = scanner.chunk()->chunk;
    auto chunk = store.chunks().decode_uncached(context, info);
    if (!chunk && !is_permanent(chunk.error().code)) return std::move(chunk).error();
    if (!chunk) continue;  // logged by the store
    if (auto read = records.read(context, info, **chunk); !read) return read;
  }
  table.finish();
  return {};
}

}  // namespace

KeyIndex::KeyIndex(const RecordStore& store, Bounds bounds, Log log)
    : store_(store), bounds_(bounds), log_(std::move(log)) {}

// --- queries

Result<std::shared_ptr<const KeyTable>> KeyIndex::table() {
  const std::lock_guard lock(mutex_);
  if (!table_) return pending();
  return table_;
}

Result<FoundKey> KeyIndex::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (!table_) return pending();
  if (auto listed = table_->find(number)) return std::move(*listed);
  if (!table_->has_more()) return no_such_key();
  if (const auto answer = answers_.find(number); answer != answers_.end()) {
    if (!answer->second) return no_such_key();
    return *answer->second;
  }
  asked_.insert(number);
  return pending();
}

// --- the thread

// Reads all records: first for the listed keys, later for requested ones.
Result<void> KeyIndex::work(const RequestContext& context, Lock& lock) {
  while (!stopping_ && (!table_ || !asked_.empty())) {
    TRY(take_turn(context, lock));
    ++turns_;
    resume_waiters(lock);
  }
  return {};
}

Result<void> KeyIndex::take_turn(const RequestContext& context, Lock& lock) {
  const bool is_first = !table_;
  Numbers asked;
  for (const std::uint64_t number : asked_) {
    if (is_first || asked.size() == bounds_.asked_at_once) break;
    asked.insert(number);
  }
  lock.unlock();
  ASSIGN_OR_RETURN(auto read, read_all(context, is_first ? KeyTable(bounds_.table) : KeyTable(bounds_.table, asked)));
  if (is_first) say_what_is_left_out(read);
  lock.lock();
  if (is_first) {
    table_ = std::make_shared<const KeyTable>(std::move(read));
  } else {
    remember(asked, read);
  }
  for (const std::uint64_t number : asked) asked_.erase(number);
  return {};
}

Result<KeyTable> KeyIndex::read_all(const RequestContext& context, KeyTable table) const {
  auto read = read_key_changes(context, store_, table, bounds_.prepared_bytes);
  if (!read) {
    if (read.error().code != Code::kInterrupted) store_.log().report(context, read.error());
    return std::move(read).error();
  }
  return table;
}

void KeyIndex::remember(const Numbers& asked, const KeyTable& found) {
  for (const std::uint64_t number : asked) {
    auto answer = found.find(number);
    const std::size_t bytes = answer ? answer->key.size() : 0;
    answered_.push_back(number);
    answers_.insert_or_assign(number, std::move(answer));
    answer_bytes_ += bytes;
  }
  while (answered_.size() > asked.size() &&
         (answered_.size() > bounds_.answers || answer_bytes_ > bounds_.answer_bytes)) {
    const auto first = answers_.extract(answered_.front());
    answered_.pop_front();
    if (first && first.mapped()) answer_bytes_ -= first.mapped()->key.size();
  }
}

void KeyIndex::say_what_is_left_out(const KeyTable& table) const {
  if (!table.has_more()) return;
  log_(Severity::kWarning, fmt::format("{}: keys/ lists only the first {} (others can be opened by name)",
                                       store_.name(), counted(table.size(), "key")));
}

}  // namespace recordfs
