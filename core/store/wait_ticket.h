// What a request may have to wait for: something that goes on in a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/store/indexed_chunk.h"

namespace recordfs {

class Waitable;

// What a caller who was told kPending has to wait for.
struct WaitTicket {
  Waitable* waitable = nullptr;
  SearchKey search_key = SearchKey::kChunks;  // of a catalog
  std::uint64_t value = 0;                    // of a catalog: reached when the scan has passed it, or is over
  std::shared_ptr<const void> owner{};        // who waits holds it: the waitable may go when nobody does
};

class Waitable {
 public:
  Waitable() = default;
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;
  virtual ~Waitable() = default;

  // Calls `resume` once, from a thread of its own, when `ticket` is reached or it can't go on. Returns a wait id for
  // cancel(), or 0 when the ticket is reached already and `resume` will not be called. `resume` must be short and must
  // not call it. Any thread.
  virtual std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) = 0;
  // Takes a wait back. False: `resume` was called or is being called. Any thread.
  virtual bool cancel(std::uint64_t wait_id) = 0;
};

}  // namespace recordfs
