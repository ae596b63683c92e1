// A container in a RecordStore, as in a mount, completely scanned.
#pragma once

#include <cstdint>

#include "core/store/record_store.h"
#include "tests/bench/inprocess/subject.h"

namespace recordfs::bench {

// Ends the program with a message on any failure. One thread.
class OpenStore {
 public:
  // `cache`: bound of the cache of decoded chunks, in bytes.
  OpenStore(Subject& subject, std::uint64_t cache);

  std::uint64_t records() const { return records_; }
  // Returns all bytes of a record.
  Slice record(std::uint64_t ordinal) const;
  // Returns the total size of all records.
  std::uint64_t stream_size() const;
  Slice stream(std::uint64_t offset, std::uint64_t length) const;

 private:
  template <class T>
  T must(Result<T> outcome) const {
    if (!outcome) give_up(store_.name(), outcome.error());
    return std::move(*outcome);
  }
  // Repeats the call until the scan has reached the position that it needs.
  template <class Call>
  auto waited_for(Call call) const;

  mutable StoreResources services_;
  const RecordStore store_;
  std::uint64_t records_ = 0;
};

}  // namespace recordfs::bench
