// KeyIndex: what the changes of a container come to, key by key.
//
// A thread reads all records once, for a KeyTable of the keys that are listed. Whoever asks for another key of a
// container that has more of them has all records read once more for it, together with whoever asks meanwhile. All
// functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "core/store/key_table.h"
#include "core/store/log.h"
#include "core/store/wait_ticket.h"

namespace recordfs {

class RecordStore;

class KeyIndex final : public Waitable {
 public:
  struct Bounds {
    KeyTable::Bounds table{};
    std::size_t prepared_bytes = std::size_t{64} << 20;  // of what transactions have prepared and not yet ended
    std::size_t asked_at_once = 1024;                    // keys for which the records are read together
    std::size_t answers = 4096;                          // to those, of which the last are remembered
    std::size_t answer_bytes = std::size_t{8} << 20;
  };

  // The store has to outlive it. Nothing is read before the first question. REQUIRES: the container has keys.
  KeyIndex(const RecordStore& store, Bounds bounds, Log log);
  ~KeyIndex() override;

  // The keys that are listed. kPending with `ticket` set until the records were read; fails with what has stopped that:
  // kLimit for more prepared transactions than it may hold, and what RecordStore::decode_uncached says of passing
  // failures.
  Result<std::shared_ptr<const KeyTable>> table(WaitTicket& ticket);

  // The key of a number, listed or not. kNotFound: none that has a value. kPending and failures as of table().
  Result<FoundKey> find(std::uint64_t number, WaitTicket& ticket);

  std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) override;
  bool cancel(std::uint64_t wait_id) override;

 private:
  using Numbers = std::set<std::uint64_t>;
  using Answer = std::optional<FoundKey>;  // none: no such key has a value

  void start();
  void run();
  void take_turn(std::unique_lock<std::mutex>& lock);
  Result<void> try_turn(std::unique_lock<std::mutex>& lock);
  Result<KeyTable> read_all(KeyTable table);
  void remember(const Numbers& asked, const KeyTable& found);
  void say_what_is_left_out(const KeyTable& table) const;
  Error pending(WaitTicket& ticket);

  const RecordStore& store_;
  const Bounds bounds_;
  const Log log_;

  mutable std::mutex mutex_;  // guards what follows
  std::thread thread_;
  bool running_ = false;
  bool stopping_ = false;
  std::atomic<bool> cancelled_{false};  // the same, for who is in the middle of a chunk
  std::uint64_t turns_ = 0;             // that are over
  std::optional<Error> failure_;        // of the last turn, until it was told
  std::shared_ptr<const KeyTable> table_;
  Numbers asked_;
  Numbers being_read_;  // those of asked_ that this turn is for
  std::map<std::uint64_t, Answer> answers_;
  std::deque<std::uint64_t> answered_;  // the same, from the first on
  std::size_t answer_bytes_ = 0;
  std::map<std::uint64_t, std::function<void()>> waiters_;
  std::uint64_t next_wait_id_ = 1;
};

}  // namespace recordfs
