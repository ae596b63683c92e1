// A DecodeStream over a library that works incrementally, for streams of one or more members (gzip members, LZ4 frames)
// back to back. Internal to this folder.
#pragma once

#include <string_view>

#include "core/codec/codec.h"

namespace recordfs {

class MemberStream : public DecodeStream {
 public:
  // `name` prefixes the reason of each error and has static storage.
  MemberStream(std::string_view name, Bytes stored, Tail tail) : name_(name), rest_(stored), tail_(tail) {}
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  Result<std::size_t> read(const RequestContext& context, MutableBytes out) final;
  std::size_t stored_left() const final { return rest_.size(); }

 protected:
  struct Step {
    std::size_t taken;
    std::size_t given;
    bool ended;  // whether the member ended
  };

  Error broken(std::string_view why) const;
  Error no_memory() const;

 private:
  // Calls the library once. `rest` begins where the previous step stopped; `out` is not empty. A step that takes, gives
  // and ends nothing means that the stored bytes are truncated.
  virtual Result<Step> step(Bytes rest, MutableBytes out) = 0;

  // Called after the end of a member. Returns whether another member begins at the front of `rest`, and if so prepares
  // the library to read it.
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
