// A container behind a RecordStore, as the mount has it, with the walk at its end.
#pragma once

#include <cstdint>

#include "core/store/record_store.h"
#include "tests/bench/inprocess/subject.h"

namespace recordfs::bench {

// Ends the program with a message where anything fails. One thread.
class OpenStore {
 public:
  // `cache`: bound of the decoded chunks, in bytes.
  OpenStore(Subject& subject, std::uint64_t cache);

  std::uint64_t records() const { return records_; }
  // All bytes of a record.
  Slice record(std::uint64_t ordinal) const;
  // Of all records, one behind the other.
  std::uint64_t stream_size() const;
  Slice stream(std::uint64_t offset, std::uint64_t length) const;

 private:
  template <class T>
  T must(Result<T> outcome) const {
    if (!outcome) give_up(store_.name(), outcome.error());
    return std::move(*outcome);
  }
  // Makes the call again whenever the walk has come to where it has to be.
  template <class Call>
  auto waited_for(Call call) const;

  mutable Services services_;
  const RecordStore store_;
  std::uint64_t records_ = 0;
};

}  // namespace recordfs::bench
