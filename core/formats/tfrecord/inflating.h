// The decoded bytes of a compressed file, read forwards from some place in them. FORMAT.md, "Compressed files".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/codec/inflater.h"

namespace recordfs::tfrecord {

// How decoded bytes end.
enum class Ending : std::uint8_t {
  kNone,    // they go on
  kWhole,   // with the stream, and the stream with the file
  kCut,     // the file ends inside the stream
  kBroken,  // something is no stream
};

// A place in the decoded bytes from which they can be read. Shared by threads.
struct Checkpoint {
  Position stored = 0;                         // bytes of the file that what was decoded took
  std::uint64_t decoded = 0;                   // bytes that were decoded
  std::shared_ptr<const Inflater> inflater{};  // null at the begin
  Ending ending = Ending::kNone;
  std::string reason{};  // of kBroken
  Position member = 0;   // where the gzip member begins
};

// Not thread-safe; the source has to outlive it.
class Inflating {
 public:
  // Fails as Inflater::open() does.
  static Result<Inflating> from(const Source& source, CodecId codec, const Checkpoint& checkpoint);

  // Fills `out` and returns how much came: all of it, or less where the decoded bytes end. Fails as Source does, and
  // with kOutOfMemory.
  Result<std::size_t> read(MutableBytes out);
  // The same for bytes that nobody wants.
  Result<std::uint64_t> skip(std::uint64_t size);

  // Behind something broken, goes on with the next gzip member of the file, if there is one: false otherwise. The place
  // between the two counts as a decoded byte, so that no decoded byte stands in both. Fails as read() does.
  Result<bool> resume();

  // Where it stands. The stored bytes are a function of the decoded ones, wherever the reading began.
  Position stored() const { return at_.stored; }
  std::uint64_t decoded() const { return at_.decoded; }
  Ending ending() const { return at_.ending; }
  const std::string& reason() const { return at_.reason; }
  // Fails with kOutOfMemory.
  Result<Checkpoint> here() const;

 private:
  Inflating(const Source& source, CodecId codec, Checkpoint at, std::unique_ptr<Inflater> inflater)
      : source_(&source), codec_(codec), at_(std::move(at)), inflater_(std::move(inflater)) {}

  // The file's bytes from where it stands: kLookahead of them, fewer only where the file ends.
  Result<Bytes> stored_bytes();
  // How many there are.
  std::uint64_t stored_left() const;
  // Those of them that were read.
  Bytes held() const;
  // Whether these may be too few for all that belongs to the bytes decoded last.
  bool is_starved() const;
  Result<void> end_member();
  Result<bool> begins_member(Position at) const;

  const Source* source_;
  CodecId codec_;
  Checkpoint at_;  // but for the inflater
  std::unique_ptr<Inflater> inflater_;
  Slice window_{};
  Position window_begin_ = 0;  // never behind where it stands
};

}  // namespace recordfs::tfrecord
