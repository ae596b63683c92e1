// Cuts a frame into items: sound fragments, slack, and flaws. What stands at a place in a frame depends on
// nothing but the frame, its neighbours where it is damaged (and the file's log number), never on what was read before:
// so a walk may begin at any item, and locate() finds what a walk from the beginning finds. FORMAT.md, "Items".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/sound_places.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::leveldb_log {

// What all of a file's fragments have in common, learned at open from the first of them.
struct Session {
  Wire wire;
  // Whether the first data fragment has a recyclable header: then all of them must, and must bear
  // `log_number`; otherwise none may.
  bool recycled = false;
  std::optional<std::uint32_t> log_number;
  // How the file's records begin; null where they may begin anyhow.
  MayBegin may_begin = nullptr;

  // Whether a sound fragment was written by another use of the file.
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
    kData,     // a sound fragment of this log, with (a piece of) a record
    kSkipped,  // bytes that mean nothing to a reader: a control fragment, the trailer of a frame
    kFilling,  // zeros longer than any trailer
    kIgnored,  // a fragment of an unknown type that says it may be skipped; has a flaw
    kFlawed,   // bytes that can't be used; has a flaw
  };
  Kind kind = Kind::kSkipped;
  Position begin = 0;
  Position end = 0;  // > begin; at most the end of the file, and of the frame but for a fragment that crosses it
  Fragment fragment{};
  Bytes payload{};
  Flaw flaw{};
};

// Hands out frames of a source through a window, which grows while they are read one after the other.
class FrameReader {
 public:
  explicit FrameReader(const Source& source, const Wire& wire = {}) : source_(&source), wire_(wire) {}

  // The bytes from `at` to the end of its frame or of the source; valid until the next call. Fails as
  // Source::read_at does, and with kOutOfMemory. REQUIRES: at < size().
  Result<Bytes> rest_of_frame(Position at);
  // The bytes of a fragment at `at`, which may be longer than its frame: up to kFrameSize, fewer where the source ends.
  // Valid until the next call. Fails and requires the same.
  Result<Bytes> largest_fragment(Position at);

  // Reads no more than one frame first.
  void read_one_at_once() { next_frames_ = 1; }

  std::uint64_t size() const { return source_->size(); }

 private:
  Result<void> fill(Position begin);

  const Source* source_;
  Wire wire_;
  Slice window_;
  Position begin_ = 0;
  std::uint64_t next_frames_ = 2;
  Buffer crossing_;
};

// Reads items forwards from a source. One object, one thread.
class ItemReader {
 public:
  ItemReader(const Source& source, Session session)
      : source_(&source), frames_(source, session.wire), session_(session) {}

  // The item that begins at `at`; its payload is valid until the next call. Fails as FrameReader does.
  // REQUIRES: at < size().
  Result<Item> next(Position at);

  // Where the first item of a frame begins that is not the rest of one in the frame before it. Fails as next() does.
  // REQUIRES: frame < size(), and a frame begins there.
  Result<Position> first_in(Position frame);

  // Where the first frame from `at` on begins that is no piece of a hole; `at` where one begins there, and where none
  // begins at all. Fails as next().
  Result<Position> behind_hole(Position at);

  std::uint64_t size() const { return frames_.size(); }
  const Wire& wire() const { return session_.wire; }

 private:
  // As next(), but for what a look at the frame before this one tells.
  Result<Item> read(Position at);
  Result<bool> is_led(Position frame);
  // Where the last item of a frame ends, as far as that frame tells.
  Result<Position> exit_of(Position frame);
  Result<std::optional<Item>> read_crossing(Position at);
  // Of the frame in which `at` is.
  Result<const SoundPlaces*> places(Position at);
  Result<std::optional<Position>> search(Position from);
  Item read_sound(const Parsed& parsed) const;
  Result<Item> read_filling(const Parsed& parsed, Bytes rest);
  Result<Item> read_bad(const Parsed& parsed, Bytes rest);
  Result<Item> read_until(const Parsed& parsed, Bytes rest, std::size_t size, Flaw flaw);
  Item read_unfinished(const Parsed& parsed, Bytes rest) const;
  Result<bool> stale_follows(Bytes behind, Position end);
  bool is_slack(Bytes bytes) const;

  // What was found out about a frame that is damaged.
  struct Exit {
    Position frame = 0;
    Position end = 0;
  };
  struct Searched {
    Position frame = 0;
    SoundPlaces places;
  };

  const Source* source_;
  FrameReader frames_;
  Session session_;
  std::optional<Exit> exit_;
  std::optional<Searched> searched_;
  std::unique_ptr<ItemReader> looking_;  // reads frames beside the walk
};

}  // namespace recordfs::leveldb_log
