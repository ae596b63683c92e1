#include "core/store/key_changes.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/store/record_store.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kMostRecord = UINT32_MAX;  // bytes; positions in a record have 32 bits

Error too_much_prepared() { return {.code = Code::kLimit, .detail = "prepared transactions exceed the memory limit"}; }

// Reads the changes of one chunk's records.
class ChunkChanges {
 public:
  ChunkChanges(const RecordStore& store, TransactedChanges& changes) : store_(store), changes_(changes) {}

  Result<void> read(const ChunkInfo& info, const Chunk& chunk) {
    const Layout& layout = chunk.layout();
    for (std::uint64_t index = 0; index < layout.records(); ++index) {
      auto record = store_.records().read(chunk, index, 0, kEverything);
      if (!record && !is_permanent(record.error().code)) return std::move(record).error();
      if (!record) continue;  // logged by the store
      TRY(take(info, index, record->bytes));
      changes_.end_record();
    }
    return {};
  }

 private:
  Result<void> take(const ChunkInfo& info, std::uint64_t index, Bytes record) {
    if (record.size() > kMostRecord) return report(info, index, {.code = Code::kLimit, .detail = "larger than 4 GiB"});
    const auto address = store_.records().address(info, index);
    if (!address) return report(info, index, address.error());
    Result<void> taken;
    const auto handed = store_.schema().key_changes(record, [&](const KeyChange& change) {
      taken = changes_.take(change, *address);
      return taken.has_value();
    });
    if (!handed) return report(info, index, handed.error());
    return taken;
  }

  Result<void> report(const ChunkInfo& info, std::uint64_t index, const Error& error) {
    if (!is_permanent(error.code)) return error;
    store_.log().report(
        {.code = error.code,
         .position = info.begin,
         .detail = fmt::format("record {} of the chunk: cannot read its key changes: {}", index, error.detail)},
        index + 1);
    return {};
  }

  const RecordStore& store_;
  TransactedChanges& changes_;
};

}  // namespace

// --- transactions

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

Result<void> read_key_changes(const RecordStore& store, KeyTable& table, std::size_t prepared_bytes) {
  const ReadWindow window(store.source());
  TransactedChanges changes(table, prepared_bytes);
  ChunkChanges records(store, changes);
  for (Scanner scanner = store.index().scanner(ScanDetail::kHeaders); !scanner.at_end();) {
    TRY(RequestContext::spend(0));
    TRY(scanner.step());
    for (const DamageRow& row : scanner.damage()) store.log().report(row.region);
    if (!scanner.chunk()) continue;
    const ChunkInfo& info = scanner.chunk()->chunk;
    auto chunk = store.chunks().decode_uncached(info);
    if (!chunk && !is_permanent(chunk.error().code)) return std::move(chunk).error();
    if (!chunk) continue;  // logged by the store
    if (auto read = records.read(info, **chunk); !read) return read;
  }
  table.finish();
  return {};
}

}  // namespace recordfs
