// The decoded bytes of a compressed file. FORMAT.md, "Compressed files".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/codec/codec.h"
#include "core/codec/inflater.h"

namespace recordfs::tfrecord {

// How the decoded bytes end.
enum class Ending : std::uint8_t {
  kNone,    // not yet
  kWhole,   // the stream ends, and the file ends with it
  kCut,     // the file ends inside the stream
  kBroken,  // the bytes are not a valid stream, or cannot be read
};

// A restart position in the decoded bytes. Shared by threads.
struct Checkpoint {
  Position stored = 0;                         // bytes of the file consumed
  std::uint64_t decoded = 0;                   // bytes decoded
  std::shared_ptr<const Inflater> inflater{};  // null at the beginning
  Ending ending = Ending::kNone;
  std::string reason{};  // of kBroken
  Position member = 0;   // where the gzip member begins
};

// Reads the decoded bytes of a compressed file forwards from a checkpoint. Not thread-safe. The source must outlive it.
class Inflating {
 public:
  // Fails as Inflater::open() does.
  static Result<Inflating> from(const Source& source, CodecId codec, const Checkpoint& checkpoint);

  // Fills `out` and returns how many bytes were decoded: fewer than asked only if the decoded bytes end, as they do at
  // stored bytes that cannot be read. Fails as Source does for other reasons, and with kOutOfMemory.
  Result<std::size_t> read(const RequestContext& context, MutableBytes out);
  // The same, discarding the bytes.
  Result<std::uint64_t> skip(const RequestContext& context, std::uint64_t size);

  // After a broken part, continues with the next gzip member; returns false if there is none. The gap counts as one
  // decoded byte, so that each decoded byte belongs to one member. Fails as read() does.
  Result<bool> resume(const RequestContext& context);

  // Current position. Stored bytes are a function of decoded bytes, wherever reading began.
  Position stored() const { return at_.stored; }
  std::uint64_t decoded() const { return at_.decoded; }
  Ending ending() const { return at_.ending; }
  const std::string& reason() const { return at_.reason; }
  // Returns why the stored byte at the current position cannot be read; nullopt if it can, as far as is known.
  std::optional<Error> unreadable() const;
  // Returns a checkpoint at the current position. Fails with kOutOfMemory.
  Result<Checkpoint> here() const;

 private:
  static constexpr std::uint64_t kStoredWindow = 32u << 10;

  Inflating(const Source& source, CodecId codec, Checkpoint at, std::unique_ptr<Inflater> inflater)
      : source_(&source), codec_(codec), at_(std::move(at)), inflater_(std::move(inflater)) {}

  // Returns kLookahead bytes of the file from the current position, fewer only at the end of the file and before bytes
  // that cannot be read.
  Result<Bytes> stored_bytes(const RequestContext& context);
  // Returns whether the window may end inside the input of the bytes decoded last.
  bool is_starved() const;
  // Sets how the bytes end that are not a whole stream.
  void end_early();
  Result<void> end_member(const RequestContext& context);
  Result<bool> begins_member(const RequestContext& context, Position at) const;

  const Source* source_;
  CodecId codec_;
  Checkpoint at_;  // without its inflater
  std::unique_ptr<Inflater> inflater_;
  WindowedReader window_{*source_, kStoredWindow};
};

}  // namespace recordfs::tfrecord
