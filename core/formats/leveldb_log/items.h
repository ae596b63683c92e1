// Cuts a frame into items: valid fragments, slack, and flaws. An item depends only on its frame, on the adjacent
// frames if it is damaged, and on the file's log number, never on what was read before. So a scan may begin at any
// item, and locate() finds what a scan from the beginning finds. FORMAT.md, "Items".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/valid_fragments.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::leveldb_log {

// Properties shared by all of a file's fragments, taken from the first of them at open.
struct Session {
  Wire wire;
  // Whether the first data fragment has a recyclable header. If so, all fragments must have one with `log_number`;
  // otherwise none may.
  bool recycled = false;
  std::optional<std::uint32_t> log_number;
  // Checks how the file's records begin; null if they may begin with anything.
  MayBegin may_begin = nullptr;

  // Returns whether a valid fragment was written by another use of the file.
  bool is_stale(const Fragment& fragment) const {
    if (fragment.log_number && fragment.log_number != log_number) return true;
    return fragment.is_data() && recycled != fragment.log_number.has_value();
  }
};

struct Flaw {
  DamageClass damage_class = DamageClass::kDamage;
  std::string reason;
  std::optional<std::uint64_t> records_lost;
};

// One item. The next one begins at `end`.
struct Item {
  enum class Kind : std::uint8_t {
    kData,     // a valid fragment of this log, with a record or a piece of one
    kSkipped,  // bytes without meaning for a reader: a control fragment, the trailer of a frame
    kFilling,  // zeros longer than any trailer
    kIgnored,  // a fragment of an unknown type that may be skipped; has a flaw
    kFlawed,   // unusable bytes; has a flaw
  };
  Kind kind = Kind::kSkipped;
  Position begin = 0;
  Position end = 0;  // > begin; at most the end of the file, and of the frame unless a fragment crosses it
  Fragment fragment{};
  Bytes payload{};
  Flaw flaw{};
};

// Reads frames of a source. The first read covers `first_frames` frames.
class FrameReader {
 public:
  FrameReader(const Source& source, const Wire& wire, std::uint64_t first_frames = 2)
      : window_(source, first_frames * kFrameSize, 16 * kFrameSize), wire_(wire) {}

  // Returns the bytes from `at` to the end of its frame or of the source; valid until the next call. Fails as
  // Source::read_at does, and with kOutOfMemory. REQUIRES: at < size().
  Result<Bytes> rest_of_frame(const RequestContext& context, Position at);
  // Returns the bytes of a fragment at `at` that may be longer than its frame: up to kFrameSize, fewer at the end of
  // the source. Valid until the next call. Fails and requires the same.
  Result<Bytes> largest_fragment(const RequestContext& context, Position at);

  std::uint64_t size() const { return window_.source().size(); }

 private:
  WindowedReader window_;
  Wire wire_;
  Buffer crossing_;
};

// Reads items forwards from a source. One thread.
class ItemReader {
 public:
  ItemReader(const Source& source, Session session)
      : source_(&source), frames_(source, session.wire), session_(session) {}

  // Returns the item that begins at `at`; its payload is valid until the next call. Fails as FrameReader does.
  // REQUIRES: at < size().
  Result<Item> next(const RequestContext& context, Position at);

  // Returns where the first item of a frame begins that does not continue one in the previous frame. Fails as next()
  // does. REQUIRES: frame < size(), and a frame begins there.
  Result<Position> first_in(const RequestContext& context, Position frame);

  // Returns the begin of the first frame at or after `at` that is not part of a hole; `at` if that is where one
  // begins, or if there is none. Fails as next().
  Result<Position> data_after_hole(const RequestContext& context, Position at);

  std::uint64_t size() const { return frames_.size(); }
  const Wire& wire() const { return session_.wire; }

 private:
  // Like next(), without examining the previous frame.
  Result<Item> read(const RequestContext& context, Position at);
  Result<bool> is_led(const RequestContext& context, Position frame);
  // Returns where the last item of a frame ends, according to that frame alone.
  Result<Position> exit_of(const RequestContext& context, Position frame);
  Result<std::optional<Item>> read_crossing(const RequestContext& context, Position at);
  // Returns the valid places in the frame of `at`.
  Result<const ValidFragments*> places(const RequestContext& context, Position at);
  Result<std::optional<Position>> search(const RequestContext& context, Position from);
  // `number`: the log number in the mark at `at` that ends a log.
  Item read_end_mark(Position at, std::uint32_t number) const;
  Item read_sound(const Parsed& parsed) const;
  Result<Item> read_filling(const RequestContext& context, const Parsed& parsed, Bytes rest);
  Result<Item> read_bad(const RequestContext& context, const Parsed& parsed, Bytes rest);
  Result<Item> read_until(const RequestContext& context, const Parsed& parsed, Bytes rest, std::size_t size, Flaw flaw);
  Item read_unfinished(const Parsed& parsed, Bytes rest) const;
  Result<bool> is_stale(const RequestContext& context, Bytes bytes, Bytes after, Position end);
  bool is_slack(Bytes bytes) const;

  // Cached results for a damaged frame.
  struct Exit {
    Position frame = 0;
    Position end = 0;
  };
  struct Searched {
    Position frame = 0;
    ValidFragments places;
  };

  const Source* source_;
  FrameReader frames_;
  Session session_;
  std::optional<Exit> exit_;
  std::optional<Searched> searched_;
  std::unique_ptr<ItemReader> looking_;  // reads frames out of sequence
};

}  // namespace recordfs::leveldb_log
