// The last value of each key of a container.
//
// Its own thread reads all records once, into a KeyTable of the listed keys. If the container has more keys, find() for
// another one makes that thread read all records again, for all keys requested meanwhile. Results are cached within
// Bounds. All functions may be called from any thread. They do not block; the destructor cancels and joins the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/result.h"
#include "core/store/background_work.h"
#include "core/store/key_table.h"
#include "core/store/log.h"

namespace recordfs {

class RecordStore;

class KeyIndex final : public BackgroundWork {
 public:
  struct Bounds {
    KeyTable::Bounds table{};
    std::size_t prepared_bytes = std::size_t{64} << 20;  // of prepared transactions that have not ended
    std::size_t asked_at_once = 1024;                    // keys per reading of all records
    std::size_t answers = 4096;                          // cached results; those of the last reading may exceed it
    std::size_t answer_bytes = std::size_t{8} << 20;
  };

  // `store` must outlive this. Reads nothing before the first wait(). REQUIRES: the container has keys.
  KeyIndex(const RecordStore& store, Bounds bounds, Log log);
  ~KeyIndex() override { stop(); }

  // Returns the listed keys. kPending until all records were read. Fails with kLimit if prepared
  // transactions exceed Bounds, and with failures that may pass, as of ChunkReader::decode_uncached(). Each failure is
  // returned once.
  Result<std::shared_ptr<const KeyTable>> table();

  // Returns the key with a number, listed or not. Fails with kNotFound if none has a value, and like table().
  Result<FoundKey> find(std::uint64_t number);

 private:
  using Numbers = std::set<std::uint64_t>;
  using Answer = std::optional<FoundKey>;  // nullopt: no such key has a value

  Result<void> work(const RequestContext& context, Lock& lock) override;
  bool has_reached(SearchKey, std::uint64_t value) const override { return value <= turns_; }
  Result<void> take_turn(const RequestContext& context, Lock& lock);
  Result<KeyTable> read_all(const RequestContext& context, KeyTable table) const;
  void remember(const Numbers& asked, const KeyTable& found);
  void say_what_is_left_out(const KeyTable& table) const;
  Error pending() { return failure_or_pending(SearchKey::kChunks, turns_ + 1); }

  const RecordStore& store_;
  const Bounds bounds_;
  const Log log_;

  // Guarded by mutex_:
  std::uint64_t turns_ = 0;  // completed ones
  std::shared_ptr<const KeyTable> table_;
  Numbers asked_;
  std::map<std::uint64_t, Answer> answers_;
  std::deque<std::uint64_t> answered_;  // keys of answers_, oldest first; also keys whose answer found no memory
  std::size_t answer_bytes_ = 0;
};

}  // namespace recordfs
