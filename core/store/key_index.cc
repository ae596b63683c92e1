#include "core/store/key_index.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/request_context.h"
#include "core/base/thread.h"
#include "core/store/key_changes.h"
#include "core/store/record_store.h"

namespace recordfs {
namespace {

Error no_such_key() { return {.code = Code::kNotFound, .detail = "no such key"}; }

}  // namespace

KeyIndex::KeyIndex(const RecordStore& store, Bounds bounds, Log log)
    : store_(store), bounds_(bounds), log_(std::move(log)) {}

KeyIndex::~KeyIndex() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

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
  if (!failure_ && !being_read_.contains(number)) asked_.insert(number);
  return pending();
}

Error KeyIndex::pending() {
  if (failure_ && !running_) return *std::exchange(failure_, std::nullopt);  // once; reading can then be retried
  return recordfs::pending("keys not read yet", {.waitable = this, .value = turns_ + 1});
}

// --- waiting

std::uint64_t KeyIndex::wait(const WaitTicket& ticket, std::function<void()> resume) {
  std::uint64_t wait_id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (ticket.value <= turns_ || failure_ || stopping_) return 0;
    wait_id = next_wait_id_++;
    waiters_.emplace(wait_id, std::move(resume));
  }
  start();
  const std::lock_guard lock(mutex_);
  const bool stands_still = failure_ && !running_;
  return stands_still && waiters_.erase(wait_id) > 0 ? 0 : wait_id;
}

bool KeyIndex::cancel(std::uint64_t wait_id) {
  const std::lock_guard lock(mutex_);
  return waiters_.erase(wait_id) > 0;
}

// --- the thread

void KeyIndex::start() {
  std::thread finished;
  {
    const std::lock_guard lock(mutex_);
    if (running_ || stopping_) return;
    failure_.reset();
    finished = std::exchange(thread_, {});
    thread_ = start_thread([this] { run(); });
    running_ = thread_.joinable();
    if (!running_) failure_ = shortage("no threads");
  }
  if (finished.joinable()) finished.join();
}

void KeyIndex::run() {
  const RequestContext context(RequestContext::Work::kAny, &cancelled_);
  std::unique_lock lock(mutex_);
  for (bool is_over = false; !is_over;) {
    if (!table_ || !asked_.empty()) take_turn(lock);
    ++turns_;
    is_over = stopping_ || failure_ || asked_.empty();
    running_ = !is_over;
    auto ready = std::exchange(waiters_, {});
    lock.unlock();
    for (const auto& [wait_id, resume] : ready) resume();
    ready.clear();
    lock.lock();
  }
}

// Reads all records: first for the listed keys, later for requested ones.
void KeyIndex::take_turn(std::unique_lock<std::mutex>& lock) {
  Result<void> taken = shortage("no memory");
  try {
    taken = try_turn(lock);
  } catch (const std::bad_alloc&) {
    if (!lock.owns_lock()) lock.lock();
    // A retry may find memory.
  }
  being_read_.clear();
  if (taken) return;
  failure_ = std::move(taken).error();
  asked_.clear();
}

// Holds the lock on return; may or may not hold it if it throws.
Result<void> KeyIndex::try_turn(std::unique_lock<std::mutex>& lock) {
  const bool is_first = !table_;
  while (!asked_.empty() && being_read_.size() < bounds_.asked_at_once) {
    being_read_.insert(asked_.extract(asked_.begin()));
  }
  const Numbers asked = being_read_;
  lock.unlock();
  auto read = read_all(is_first ? KeyTable(bounds_.table) : KeyTable(bounds_.table, asked));
  if (read && is_first) say_what_is_left_out(*read);
  lock.lock();
  if (!read) return std::move(read).error();
  if (is_first) {
    table_ = std::make_shared<const KeyTable>(std::move(*read));
  } else {
    remember(asked, *read);
  }
  return {};
}

Result<KeyTable> KeyIndex::read_all(KeyTable table) {
  const auto is_over = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  auto read = read_key_changes(store_, table, bounds_.prepared_bytes, is_over);
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
