// A DecodeStream over a library that takes and gives a piece at a time, for compressed streams that may be
// several members (gzip members, LZ4 frames) one after the other. Nothing outside this folder includes it.
#pragma once

#include <string_view>

#include "core/codec/codec.h"

namespace recordfs {

class MemberStream : public DecodeStream {
 public:
  // `name` is put before the reason of each failure and has static storage.
  MemberStream(std::string_view name, Bytes stored, Tail tail) : name_(name), rest_(stored), tail_(tail) {}
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  Result<std::size_t> read(MutableBytes out) final;
  std::size_t stored_left() const final { return rest_.size(); }

 protected:
  struct Step {
    std::size_t taken;
    std::size_t given;
    bool ended;  // the member
  };

  Error broken(std::string_view why) const;
  Error no_memory() const;

 private:
  // One call of the library. `rest` begins where the step before it stopped; `out` is not empty. A step that neither
  // takes nor gives nor ends anything says that the stored bytes are too few.
  virtual Result<Step> step(Bytes rest, MutableBytes out) = 0;

  // After the end of a member: whether another one begins at the front of `rest`, which the library is then ready
  // to read.
  virtual bool next_member(Bytes rest);

  Result<std::size_t> advance(MutableBytes out);
  Result<void> end_member();

  const std::string_view name_;
  Bytes rest_;
  const Tail tail_;
  bool ended_ = false;
  bool failed_ = false;
};

}  // namespace recordfs
