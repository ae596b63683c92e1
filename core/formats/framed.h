// Containers of records that each have a header with a checksum, one after another.
//
// A format supplies Wire, which knows the bytes of a record, and derives its container from FramedContainer, which
// finds records, passes over damage, and verifies.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/resync.h"

namespace recordfs {

template <class Header>
concept HeaderSaysSize = requires(const Header& header) {
  { header.shown_size() } -> std::same_as<std::uint64_t>;
};
template <class Wire>
concept WireReadsSize = requires(const Wire& wire, const RequestContext& context, WindowedReader& headers, Position at,
                                 const typename Wire::Header& header) {
  { wire.shown_size(context, headers, at, header) } -> std::same_as<Result<std::uint64_t>>;
};

// What a format supplies. Functions read nothing unless they take a source. A Wire is const, and may be called on any
// thread.
// - kHeaderSize: bytes of a header. kLeastSize: bytes of the smallest record.
// - Header: what a header says. size() is the size of the whole record, and fits(room) tells whether that is at most
//   `room`, without an overflow.
// - may_be_header(bytes, most): a cheap test whether kHeaderSize bytes can be the header of a record in a file of
//   `most` bytes.
// - parse(bytes): nullopt if the checksum does not match, or if there are fewer bytes than kHeaderSize.
// - corrected(bytes, room): the header with another byte in it, with which it matches its checksum and fits `room`;
//   nullopt if there is none. REQUIRES: kHeaderSize bytes.
// - kConfirmsByContent: a record that a search finds must match the checksum of its content, too.
// - is_sound(context, source, at, header): whether the content of the record at `at` matches its checksum; reads in
//   pieces. False if the source ends first.
// - Header::shown_size(): the size of the record as it is shown. If a header does not say it, there is
//   shown_size(context, headers, at, header) instead.
// - wrong_content(begin, end): the error for a record that is not sound.
template <class Wire>
concept FramesRecords = requires(Bytes bytes, const std::byte* pointer, std::uint64_t size,
                                 const RequestContext& context, const Source& source,
                                 const typename Wire::Header& header) {
  { Wire::kHeaderSize } -> std::convertible_to<std::uint64_t>;
  { Wire::kLeastSize } -> std::convertible_to<std::uint64_t>;
  { Wire::kConfirmsByContent } -> std::convertible_to<bool>;
  { header.size() } -> std::same_as<std::uint64_t>;
  { header.fits(size) } -> std::same_as<bool>;
  { Wire::may_be_header(pointer, size) } -> std::same_as<bool>;
  { Wire::parse(bytes) } -> std::same_as<std::optional<typename Wire::Header>>;
  { Wire::corrected(bytes, size) } -> std::same_as<std::optional<typename Wire::Header>>;
  { Wire::is_sound(context, source, size, header) } -> std::same_as<Result<bool>>;
  { Wire::wrong_content(size, size) } -> std::same_as<Error>;
};
template <class Wire>
concept FramedWire = FramesRecords<Wire> &&(HeaderSaysSize<typename Wire::Header> || WireReadsSize<Wire>);

namespace framed {

inline constexpr std::uint64_t kRunSize = 256u << 10;      // largest run of several records, as stored and as decoded
inline constexpr std::uint64_t kMostVerified = 64u << 20;  // a longer record is accepted by its header alone
inline constexpr std::uint64_t kMostCompared = 2 * kMostVerified;  // of all candidates of one call of search()
inline constexpr std::uint64_t kFirstSearched = 1u << 10;          // bytes; most searches end within this
inline constexpr std::uint64_t kSearchWindow = 64u << 10;          // bytes

// Returns a reader of headers, from windows that suit the distances between them.
inline WindowedReader header_reader(const Source& source) { return {source, 512, 64u << 10}; }

// Returns the CRC-32C of `size` bytes from `begin` on, read in pieces; nullopt if the source ends first. Fails as
// Source does. Any thread.
Result<std::optional<std::uint32_t>> content_crc32c(const RequestContext& context, const Source& source, Position begin,
                                                    std::uint64_t size);

// Returns the error for records that the scan found and that have changed since.
Error not_as_found(Position at);
// Returns the error for a record of `size` bytes.
Error too_large(Position at, std::uint64_t size);

// Returns the header of the record at `at`; nullopt if none is valid, or if the record would end after `end`. Fails as
// Source does.
template <FramedWire Wire>
Result<std::optional<typename Wire::Header>> header_at(const RequestContext& context, WindowedReader& headers,
                                                       Position at, Position end) {
  auto bytes = headers.held(at, Wire::kHeaderSize);
  if (!bytes) {
    ASSIGN_OR_RETURN(bytes, headers.from(context, at, Wire::kHeaderSize));
  }
  const auto header = Wire::parse(*bytes);
  return header && header->fits(end - at) ? header : std::nullopt;
}

// Finds the first record at or after `from` that ends at or before `end`. Reads about `budget` bytes, and at most
// kMostCompared more to compare contents with their checksums: a file may have a false header every few bytes, and the
// search must still advance by `budget`. Fails as Source does. Any thread.
template <FramedWire Wire>
Result<ResyncResult> search(const RequestContext& context, const Source& source, Position from, Position end,
                            std::uint64_t budget) {
  WindowedReader windows(source, kFirstSearched, kSearchWindow);
  std::uint64_t compared = 0;
  const auto find = [end](Bytes window) {
    for (std::size_t offset = 0; window.size() - offset >= Wire::kHeaderSize; ++offset) {
      if (Wire::may_be_header(window.data() + offset, end) && Wire::parse(window.subspan(offset))) return offset;
    }
    return window.size();
  };
  const auto test = [&](Position at, Bytes bytes) -> Result<Position> {
    const auto header = Wire::parse(bytes);
    if (!header || at >= end || !header->fits(end - at)) return at + 1;
    if (!Wire::kConfirmsByContent || header->size() > kMostVerified) return at;
    if (header->size() > kMostCompared - compared) return at + 1;
    compared += header->size();
    ASSIGN_OR_RETURN(const auto sound, Wire::is_sound(context, source, at, *header));
    return sound ? at : at + 1;
  };
  const auto is_spent = [&](Position) { return windows.bytes_read() >= budget; };
  return resync(context, windows, from, {Wire::kLeastSize, find, test, is_spent});
}

// Returns the end of the record at `at`, whose header does not match its checksum. The end is known if one byte of the
// header is wrong, and a record, the end of the file's records at `end`, or matching content confirm it; otherwise
// nullopt. Fails as Source does. Any thread.
template <FramedWire Wire>
Result<std::optional<Position>> end_of_damaged(const RequestContext& context, const Source& source, Position at,
                                               Position end) {
  const std::optional<Position> none;
  if (end - at < Wire::kLeastSize) return none;
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, Wire::kHeaderSize));
  if (bytes.size() < Wire::kHeaderSize) return none;
  const auto header = Wire::corrected(bytes.view(), end - at);
  if (!header) return none;
  const Position next = at + header->size();
  ASSIGN_OR_RETURN(const auto following, read_up_to(context, source, next, Wire::kHeaderSize));
  if (next == end || Wire::parse(following.view())) return std::optional(next);
  if (!Wire::kConfirmsByContent || header->size() > kMostVerified) return none;
  ASSIGN_OR_RETURN(const auto sound, Wire::is_sound(context, source, at, *header));
  return sound ? std::optional(next) : none;
}

// Detects deleted bytes in the record at `at`, whose header is valid, but at whose end `next` there is no header.
// Returns the first record inside it from which records continue past `next`. Returns nullopt if its size appears to be
// right. `end`: of the file's records. Fails as Source does. Any thread.
template <FramedWire Wire>
Result<std::optional<Position>> cut_short_at(const RequestContext& context, const Source& source, Position at,
                                             Position next, Position end) {
  const std::optional<Position> none;
  if (next - at > kMostVerified) return none;
  ASSIGN_OR_RETURN(const auto known_end, end_of_damaged<Wire>(context, source, next, end));
  if (known_end) return none;
  WindowedReader headers = header_reader(source);
  ASSIGN_OR_RETURN(const auto header, header_at<Wire>(context, headers, at, end));
  if (!header) return none;
  ASSIGN_OR_RETURN(const auto is_sound, Wire::is_sound(context, source, at, *header));
  if (is_sound) return none;
  std::uint64_t verified = 0;
  for (Position from = at + 1; from < next && verified < kMostVerified;) {
    ASSIGN_OR_RETURN(const auto found, search<Wire>(context, source, from, end, 2 * kMostVerified));
    if (found.kind != ResyncResult::Kind::kFound || found.at >= next) return none;
    // The records that follow one another from there on; `last` crosses `next`, or ends before it.
    Position last = found.at;
    Position last_end = found.at;
    typename Wire::Header last_header{};
    while (last_end < next) {
      ASSIGN_OR_RETURN(const auto following, header_at<Wire>(context, headers, last_end, end));
      if (!following) break;
      last = std::exchange(last_end, last_end + following->size());
      last_header = *following;
    }
    from = std::max(last_end, found.at + 1);
    if (last_end <= next) continue;
    // Only the record that crosses `next` must match, so that no record is searched more than once.
    if (last_end - last > kMostVerified) return std::optional(found.at);
    ASSIGN_OR_RETURN(const auto crosses, Wire::is_sound(context, source, last, last_header));
    if (crosses) return std::optional(found.at);
    verified += last_end - last;
    from = last + 1;
  }
  return none;
}

}  // namespace framed

// Returns whether a run of records may get another one. `stored`, `shown`: the sizes of the run with it; `records`:
// those of it before.
inline bool run_has_room(const Limits& limits, std::uint64_t records, std::uint64_t stored, std::uint64_t shown) {
  const std::uint64_t most = std::min({framed::kRunSize, limits.stored_chunk, limits.decoded_chunk});
  return stored <= most && shown <= most && records < limits.records_per_chunk;
}

// Chunks are runs of consecutive records, of which reading one reads all.
template <FramedWire Wire>
class FramedContainer : public Container {
 public:
  // A derived class handles the positions of what the file has besides records before it calls this.
  Result<Step> scan(const RequestContext& context, ChunkKey key) const override {
    if (key.position >= source_->size()) return Step{};
    return key.state == 0 ? scan_run(context, key) : pass_damage(context, key);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    Layout layout;
    TRY(each_record(context, chunk, [&](WindowedReader& headers, Position at, const Header& header) -> Result<void> {
      std::uint64_t shown = 0;
      if constexpr (kHeadersSayAll) {
        shown = header.shown_size();
      } else {
        ASSIGN_OR_RETURN(shown, wire_.shown_size(context, headers, at, header));
      }
      if (!could_be_read(shown, header.size(), limits_)) return framed::too_large(at, shown);
      layout.add(context, shown);
      return {};
    }));
    return layout;
  }

 protected:
  using Header = typename Wire::Header;
  static constexpr bool kHeadersSayAll = HeaderSaysSize<Header>;

  // Records are between `begin` and `end`; what the file has before and after them is the derived class's.
  FramedContainer(std::shared_ptr<const Source> source, const Limits& limits, Wire wire, Position begin, Position end)
      : source_(std::move(source)), limits_(limits), wire_(std::move(wire)), begin_(begin), end_(end) {}

  // Return the region of bytes in which no record begins, and that of a record which the file's end cuts short. The
  // codec of the records as shown; static storage.
  virtual DamagedRegion region_without_record(Position begin, Position end) const = 0;
  virtual DamagedRegion torn_region(Position begin) const = 0;
  virtual std::string_view codec() const { return to_string(CodecId::kNone); }

  const std::shared_ptr<const Source>& source() const { return source_; }
  const Limits& limits() const { return limits_; }
  const Wire& wire() const { return wire_; }

  // Calls `see(headers, at, header)` for each record of a chunk. Fails like it, with kDamage if the records are not
  // those of the scan, and as Source does.
  template <class See>
  Result<void> each_record(const RequestContext& context, const ChunkInfo& chunk, const See& see) const {
    WindowedReader headers = framed::header_reader(*source_);
    for (Position at = chunk.begin; at < chunk.end;) {
      ASSIGN_OR_RETURN(const auto header, framed::header_at<Wire>(context, headers, at, chunk.end));
      if (!header) return framed::not_as_found(at);
      TRY(see(headers, at, *header));
      at += header->size();
    }
    return {};
  }

  // Verifies the content of a chunk's records without decoding it. Fails like each_record(), and with wrong_content().
  Result<Verification> verify_records(const RequestContext& context, const ChunkInfo& chunk) const {
    TRY(each_record(context, chunk, [&](WindowedReader&, Position at, const Header& header) -> Result<void> {
      ASSIGN_OR_RETURN(const auto sound, Wire::is_sound(context, *source_, at, header));
      return sound ? Result<void>() : Wire::wrong_content(at, at + header.size());
    }));
    return Verification::kVerified;
  }

  // Returns the chunk of the single record at `at`, of `shown` bytes, which `read` reads from the file. `held`: the
  // memory that `read` uses. Fails as Source does.
  Result<std::shared_ptr<const Chunk>> record_in_place(const RequestContext& context, std::uint64_t generation,
                                                       Position at, const Header& header, std::uint64_t shown,
                                                       FileChunk::Read read, std::uint64_t held = 0) const {
    const auto verify = [at, header](const RequestContext& request, const Source& from) -> Result<void> {
      ASSIGN_OR_RETURN(const auto sound, Wire::is_sound(request, from, at, header));
      return sound ? Result<void>() : Wire::wrong_content(at, at + header.size());
    };
    auto verified = verify(context, *source_);
    if (!verified && !is_permanent(verified.error().code)) return std::move(verified).error();
    Layout layout;
    if (verified) {
      layout.add(context, shown);
    } else {
      layout.add_failed(context, shown, std::move(verified).error());
    }
    return std::shared_ptr<const Chunk>(std::make_shared<FileChunk>(source_, std::move(layout), std::move(read),
                                                                    FileChunk::Verified{generation, at, verify}, held));
  }

  // Reports the damage at the key's position, where no valid header is. The key's state is where a search continues, or
  // 0.
  Result<Step> pass_damage(const RequestContext& context, ChunkKey key) const {
    Step step;
    const Position limit = key.position < end_ ? end_ : source_->size();
    std::optional<Position> end;
    if (key.state == 0 && key.position >= begin_) {
      ASSIGN_OR_RETURN(end, framed::end_of_damaged<Wire>(context, *source_, key.position, limit));
    }
    const bool is_one_record = end.has_value();
    if (!end) {
      const Position from = key.state == 0 ? key.position + 1 : key.state;
      ASSIGN_OR_RETURN(const auto found,
                       framed::search<Wire>(context, *source_, from, source_->size(), limits_.scan_bytes));
      if (found.kind == ResyncResult::Kind::kLater && found.at < limit) {
        step.next = ChunkKey{key.position, found.at};
        return step;
      }
      end = std::min(found.at, limit);
    }
    step.damage.push_back(region_without_record(key.position, *end));
    if (is_one_record) step.damage.back().records_lost = 1;
    if (*end < source_->size()) step.next = ChunkKey{*end, 0};
    return step;
  }

 private:
  Result<Step> scan_run(const RequestContext& context, ChunkKey key) const {
    ChunkInfo run;
    run.key = key;
    run.begin = run.end = key.position;
    run.kind = ChunkKind("run");
    run.codec = codec();
    run.records = run.decoded_size = 0;
    WindowedReader headers = framed::header_reader(*source_);
    Position last = key.position;  // where the run's last record begins
    std::uint64_t last_shown = 0;
    for (Position at = key.position; at < source_->size() && at != end_; at = run.end) {
      // What looks like the end of the records may be content, if the file is still being written.
      ASSIGN_OR_RETURN(const auto header, framed::header_at<Wire>(context, headers, at, source_->size()));
      if (!header && run.records == 0u) return without_record(context, headers, key);
      if (!header) {
        ASSIGN_OR_RETURN(const auto cut, framed::cut_short_at<Wire>(context, *source_, last, at, source_->size()));
        if (cut) return step_before(run, last, last_shown, *cut);
        break;
      }
      std::uint64_t shown = 0;
      if constexpr (kHeadersSayAll) {
        shown = header->shown_size();
      } else {
        ASSIGN_OR_RETURN(shown, wire_.shown_size(context, headers, at, *header));
      }
      const bool fits = run_has_room(limits_, *run.records, at - run.begin + header->size(), *run.decoded_size + shown);
      if (run.records != 0u && !fits) break;
      last = at;
      last_shown = shown;
      run.end = at + header->size();
      *run.records += 1;
      *run.decoded_size += shown;
    }
    run.stored_size = run.end - run.begin;
    if (!could_be_read(*run.decoded_size, run.stored_size, limits_)) run.decoded_size.reset();
    Step step;
    step.chunk = run;
    if (run.end < source_->size()) step.next = ChunkKey{run.end, 0};
    return step;
  }

  // Returns the step at a position where no record begins that is complete.
  Result<Step> without_record(const RequestContext& context, WindowedReader& headers, ChunkKey key) const {
    ASSIGN_OR_RETURN(const auto bytes, headers.from(context, key.position, Wire::kHeaderSize));
    const bool is_torn = bytes.size() < Wire::kHeaderSize || Wire::parse(bytes);
    if (!is_torn) return pass_damage(context, key);
    Step step;
    step.damage.push_back(torn_region(key.position));
    return step;
  }

  // Returns the step of the run without its last record, which is too short. The next record is at `found`.
  static Step step_before(ChunkInfo run, Position last, std::uint64_t last_shown, Position found) {
    Step step;
    *run.records -= 1;
    *run.decoded_size -= last_shown;
    run.end = last;
    run.stored_size = run.end - run.begin;
    step.damage.push_back(damaged_region(last, found, "truncated record"));
    step.damage.back().records_lost = 1;
    step.damage.back().records_before = *run.records;
    if (*run.records > 0) step.chunk = run;
    step.next = ChunkKey{found, 0};
    return step;
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Wire wire_;
  const Position begin_;
  const Position end_;
};

}  // namespace recordfs
