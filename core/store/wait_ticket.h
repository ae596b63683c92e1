// What a request that got kPending waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/store/indexed_chunk.h"

namespace recordfs {

class Waitable;

// Set by functions that fail with kPending.
struct WaitTicket {
  Waitable* waitable = nullptr;
  SearchKey search_key = SearchKey::kChunks;  // for a Catalog
  std::uint64_t value = 0;                    // Catalog: a value of search_key; KeyIndex: a number of turns
  std::shared_ptr<const void> owner{};        // keeps the waitable alive; held by the waiter
};

class Waitable {
 public:
  Waitable() = default;
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;
  virtual ~Waitable() = default;

  // Calls `resume` once, on another thread, when `ticket` is reached or no progress is possible. Returns an id for
  // cancel(), or 0 if that is so already; then `resume` is not called. `resume` must be short, and must not call the
  // waitable. Any thread.
  virtual std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) = 0;
  // Cancels a wait. Returns false if `resume` was called or is running. Any thread.
  virtual bool cancel(std::uint64_t wait_id) = 0;
};

}  // namespace recordfs
