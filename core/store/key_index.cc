#include "core/store/key_index.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/store/key_changes.h"
#include "core/store/record_store.h"

namespace recordfs {
namespace {

Error no_such_key() { return {.code = Code::kNotFound, .detail = "no such key"}; }

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
Result<void> KeyIndex::work(Lock& lock) {
  while (!stopping_ && (!table_ || !asked_.empty())) {
    TRY(take_turn(lock));
    ++turns_;
    resume_waiters(lock);
  }
  return {};
}

Result<void> KeyIndex::take_turn(Lock& lock) {
  const bool is_first = !table_;
  Numbers asked;
  for (const std::uint64_t number : asked_) {
    if (is_first || asked.size() == bounds_.asked_at_once) break;
    asked.insert(number);
  }
  lock.unlock();
  ASSIGN_OR_RETURN(auto read, read_all(is_first ? KeyTable(bounds_.table) : KeyTable(bounds_.table, asked)));
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

Result<KeyTable> KeyIndex::read_all(KeyTable table) const {
  auto read = read_key_changes(store_, table, bounds_.prepared_bytes);
  if (!read) {
    if (read.error().code != Code::kInterrupted) store_.log().report(read.error());
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
