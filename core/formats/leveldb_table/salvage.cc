#include "core/formats/leveldb_table/salvage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/hash/crc32c.h"
#include "core/hash/crc_field.h"
#include "core/hash/xxhash.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint64_t kPiece = 64 << 10;  // bytes per read

// Returns the CRC-32C after one more byte. The CRC of every prefix is needed, and a library call for each byte costs
// more.
std::uint32_t one_more(std::uint32_t crc, std::byte byte) {
  return ~kCrc32cField.times_byte(~crc ^ std::to_integer<std::uint32_t>(byte));
}

// The checksums of all prefixes of a block, as they would be stored if the block ended there.
class PrefixChecksums {
 public:
  PrefixChecksums(const Dialect& dialect, Position begin, std::uint32_t crc)
      : kind_(dialect.checksum), context_(context_of(dialect, begin)), crc_(crc) {
    if (kind_ == Checksum::kXxHash32) hasher_.emplace(XxHashKind::k32);
    if (kind_ == Checksum::kXxHash64) hasher_.emplace(XxHashKind::k64);
    if (kind_ == Checksum::kXxh3) hasher_.emplace(XxHashKind::k3);
  }

  // Adds bytes searched by an earlier call; a CRC already includes them.
  void begin_after(Bytes bytes) {
    if (hasher_) hasher_->append(bytes);
  }
  // Adds byte `at` of `piece`, after all bytes before it. Returns whether the block may end here with this byte as
  // its type, judging by its number.
  bool pass(Bytes piece, std::size_t at) {
    const bool may_end = may_be_type(piece[at]);
    if (!hasher_) {
      crc_ = one_more(crc_, piece[at]);
      return may_end;
    }
    if (!may_end) return false;
    // XXH3 does not include the type.
    const std::size_t until = kind_ == Checksum::kXxh3 ? at : at + 1;
    hasher_->append(piece.first(until).subspan(appended_));
    appended_ = until;
    type_ = piece[at];
    return true;
  }
  std::uint32_t checksum() const {
    if (!hasher_) return mask_crc(crc_) + context_;
    const auto sum = static_cast<std::uint32_t>(hasher_->value());
    return (kind_ == Checksum::kXxh3 ? with_type_apart(sum, type_) : sum) + context_;
  }
  // Adds the remaining bytes of a piece, before the next piece.
  void finish(Bytes passed) {
    if (hasher_) hasher_->append(passed.subspan(appended_));
    appended_ = 0;
  }
  std::uint32_t crc() const { return crc_; }

 private:
  const Checksum kind_;
  const std::uint32_t context_;
  std::uint32_t crc_;
  std::optional<XxHasher> hasher_;
  std::size_t appended_ = 0;  // bytes of the current piece
  std::byte type_{0};
};

// Returns whether another block, of limited length, follows this one and ends before `end`.
Result<bool> another_follows(const RequestContext& context, const Source& source, const BlockPlace& place, Position end,
                             const Dialect& dialect, const Limits& limits) {
  constexpr std::uint64_t kLongest = 64 << 10;
  const Position after = place.begin + place.size + kTrailerSize;
  if (!is_searchable(dialect) || after >= end) return false;
  ASSIGN_OR_RETURN(const auto found, find_end(context, source, after, end, {}, kLongest, dialect, limits));
  return found.place.has_value();
}

// Returns whether entries fill a block to its last byte.
bool has_only_entries(const Extents& extents) {
  EntryReader reader(extents);
  bool is_entry = true;
  while (is_entry && !reader.at_end()) is_entry = reader.next().has_value();
  return is_entry;
}

// The forms of one block of an index.
constexpr IndexForm kIndexForms[] = {
    {}, {.is_delta_encoded = true}, {.has_first_keys = true}, {.is_delta_encoded = true, .has_first_keys = true}};

// Returns whether an entry is one that only an index has: LevelDB gives a shortened key the largest sequence number,
// which no write has. The value is the place of a block.
bool has_shortened_key(const Extents& extents) {
  constexpr std::size_t kNumberSize = 7;  // bytes of a sequence number, after the type
  std::string key;
  for (EntryReader reader(extents); !reader.at_end();) {
    const auto entry = reader.next();
    if (!entry) return false;
    key.resize(entry->shared);
    key += as_text(entry->suffix);
    const bool is_shortened = key.size() > kNumberSize && key.ends_with(std::string(kNumberSize, '\xff'));
    Cursor place(entry->value);
    place.varint64();
    place.varint64();
    if (is_shortened && place.ok() && place.remaining() == 0) return true;
  }
  return false;
}

// Returns whether the entries name blocks before `begin`: one of the first must be valid, or end where a valid one
// begins.
Result<bool> is_index(const RequestContext& context, const Source& source, const Extents& extents, Position begin,
                      const Dialect& dialect, const Limits& limits) {
  constexpr std::size_t kTried = 16;
  if (has_shortened_key(extents)) return true;
  for (const IndexForm& form : kIndexForms) {
    if (has_contiguous_blocks(extents, form)) return true;
    for (const BlockPlace& place : first_places(extents, form, kTried)) {
      if (!fits(place, begin)) break;
      auto is_there = block_unpacks(context, source, place, dialect, limits);
      if (is_there && !*is_there) is_there = another_follows(context, source, place, begin, dialect, limits);
      if (!is_there || *is_there) return is_there;
    }
  }
  return false;
}

// A CRC is the remainder of a polynomial, here with the coefficient of x^0 in the highest bit. So the CRC of any
// range follows from those of two prefixes of the window. The range [q, e) has the CRC stored after it exactly if
// start_key(q) == end_key(e). Both keys are the prefixes' remainders, divided by x^8 for each of their bytes. One
// pass computes all keys, and blocks are where they are equal.
constexpr std::uint32_t kInitial = 0xffffffff;
constexpr std::uint32_t kOne = CrcField::kOne;
constexpr std::uint32_t kX24 = std::uint32_t{1} << 7;

constexpr std::uint32_t over_x(std::uint32_t value) {
  return (value & kOne) != 0 ? ((value ^ kCrc32cPolynomial) << 1) | 1 : value << 1;
}

using EachByte = std::array<std::uint32_t, 256>;

constexpr EachByte make_over_x8() {
  EachByte all{};
  for (std::uint32_t byte = 0; byte < all.size(); ++byte) {
    all[byte] = byte << 24;
    for (int i = 0; i < 8; ++i) all[byte] = over_x(all[byte]);
  }
  return all;
}

// For each value of the byte at the lowest powers of x.
constexpr EachByte kOverX8 = make_over_x8();

std::uint32_t over_x8(std::uint32_t value) { return (value << 8) ^ kOverX8[value >> 24]; }

// Computes both keys at each position while scanning a window.
class Keys {
 public:
  // Returns the key of a range that begins here.
  std::uint32_t start_key() const { return bytes_ ^ initial_; }
  // Returns the key of a range that ends here, if its CRC is `crc`.
  std::uint32_t end_key(std::uint32_t crc) const { return bytes_ ^ kCrc32cField.product(~crc, power_); }
  void pass(std::byte byte) {
    bytes_ ^= kCrc32cField.product(std::to_integer<std::uint32_t>(byte) << 24, power_x24_);
    initial_ = over_x8(initial_);
    power_ = over_x8(power_);
    power_x24_ = over_x8(power_x24_);
  }

 private:
  std::uint32_t bytes_ = 0;           // contribution of the bytes before this position
  std::uint32_t initial_ = kInitial;  // contribution of the CRC's initial value
  std::uint32_t power_ = kOne;        // 1 / x^8 for each byte before this position
  std::uint32_t power_x24_ = kX24;    // the same for a byte 24 places from the highest bit
};

struct End {
  std::uint32_t key = 0;
  std::uint32_t type_at = 0;  // offset of the type in the window, directly after the block
};

// The positions where a block may end, by their keys.
class Ends {
 public:
  explicit Ends(Bytes window) {
    Keys keys;
    for (std::size_t i = 0; i + kTrailerSize <= window.size(); ++i) {
      const std::byte type = window[i];
      keys.pass(type);
      if (!may_be_type(type) || (type == kPlain && !has_restarts(window.first(i)))) continue;
      const std::uint32_t crc = unmask_crc(load_le<std::uint32_t>(&window[i + 1]));
      ends_.push_back({keys.end_key(crc), static_cast<std::uint32_t>(i)});
    }
    std::ranges::stable_sort(ends_, {}, &End::key);
    is_there_.resize(std::bit_ceil(kSlotsPerEnd * (ends_.size() + 1)));
    for (const End& end : ends_) is_there_[slot(end.key)] = true;
  }

  // Returns those with this key, in file order.
  std::span<const End> with(std::uint32_t key) const {
    if (!is_there_[slot(key)]) return {};
    const auto first = std::ranges::lower_bound(ends_, key, {}, &End::key);
    const auto after = std::find_if(first, ends_.end(), [&](const End& end) { return end.key != key; });
    return {first, after};
  }

 private:
  static constexpr std::byte kPlain{0};  // the type of an uncompressed block
  static constexpr std::size_t kCountSize = 4;
  static constexpr std::size_t kSlotsPerEnd = 16;

  // Returns whether an uncompressed block may end with these bytes: every block has a restart point (split_content),
  // and ends with their number. Without this check, a block could end at every byte of a long run of zeros.
  static bool has_restarts(Bytes bytes) {
    return bytes.size() >= kCountSize && load_le<std::uint32_t>(&bytes[bytes.size() - kCountSize]) != 0;
  }

  std::size_t slot(std::uint32_t key) const { return key & (is_there_.size() - 1); }

  std::vector<End> ends_;
  std::vector<bool> is_there_;  // by slot(), whether `ends_` may have such a key; most slots have none
};

// Two keys are equal by chance now and then, but the bytes between them are then not a block of entries.
Result<bool> is_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                      const Dialect& dialect, const Limits& limits) {
  auto content = read_block(context, source, place, dialect, limits);
  if (!content && is_permanent(content.error().code)) return false;
  if (!content) return std::move(content).error();
  ASSIGN_OR_RETURN(const auto kind, kind_of_block(context, source, place, dialect, limits));
  return kind != Kind::kFilter;
}

}  // namespace

Result<bool> block_unpacks(const RequestContext& context, const Source& source, const BlockPlace& place,
                           const Dialect& dialect, const Limits& limits) {
  auto content = read_block(context, source, place, dialect, limits);
  if (content) return true;
  const Code code = content.error().code;
  if (code == Code::kLimit || code == Code::kUnsupported) return true;
  if (is_permanent(code)) return false;
  return std::move(content).error();
}

Result<Found> find_end(const RequestContext& context, const Source& source, Position begin, Position end,
                       EndSearch from, std::uint64_t bytes, const Dialect& dialect, const Limits& limits) {
  const std::uint64_t most = std::min(end - begin, limits.stored_chunk + kTrailerSize);
  const std::uint64_t until = std::min(most, from.searched + std::min(bytes, most));
  PrefixChecksums checksums_so_far(dialect, begin, from.crc);
  for (Position at = begin; dialect.checksum != Checksum::kCrc32c && at < begin + from.searched;) {
    ASSIGN_OR_RETURN(const auto piece, read_up_to(context, source, at, std::min(begin + from.searched - at, kPiece)));
    if (piece.size() == 0) break;
    checksums_so_far.begin_after(piece.view());
    at += piece.size();
  }
  while (from.searched < until) {
    // Each byte is read together with the checksum that would follow it.
    const std::uint64_t size = std::min(until - from.searched, kPiece);
    ASSIGN_OR_RETURN(const auto piece, read_up_to(context, source, begin + from.searched,
                                                  std::min(size + kChecksumSize, most - from.searched)));
    const Bytes seen = piece.view();
    if (seen.size() <= kChecksumSize) {
      from.searched = until;
      break;
    }
    const std::size_t count = std::min(static_cast<std::size_t>(size), seen.size() - kChecksumSize);
    for (std::size_t i = 0; i < count; ++i) {
      const bool may_end = checksums_so_far.pass(seen, i);
      ++from.searched;
      if (!may_end) continue;
      if (Cursor(seen.subspan(i + 1, kChecksumSize)).u32_le() != checksums_so_far.checksum()) continue;
      const BlockPlace place{begin, from.searched - 1};
      ASSIGN_OR_RETURN(const auto is_block, block_unpacks(context, source, place, dialect, limits));
      if (is_block) return Found{place, from};
    }
    checksums_so_far.finish(seen.first(count));
    from.crc = checksums_so_far.crc();
    if (count < size) from.searched = until;
  }
  return Found{std::nullopt, from};
}

Result<Kind> kind_of_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                           const Dialect& dialect, const Limits& limits) {
  auto content = read_block(context, source, place, dialect, limits);
  if (!content) {
    if (!is_permanent(content.error().code)) return std::move(content).error();
    return Kind::kData;
  }
  const auto extents = split_content(content->view(), dialect.is_rocksdb);
  if (!extents) return Kind::kFilter;
  if (extents->entries.empty() || looks_like_meta_index(content->view())) return Kind::kMetaIndex;
  ASSIGN_OR_RETURN(const auto tells_of_blocks, is_index(context, source, *extents, place.begin, dialect, limits));
  if (tells_of_blocks) return Kind::kIndex;
  EntryReader reader(*extents);
  const auto first = reader.next();
  if (first && as_text(first->suffix).starts_with("rocksdb.")) return Kind::kProperties;
  return has_only_entries(*extents) ? Kind::kData : Kind::kFilter;
}

Result<std::optional<InContext>> find_context(const RequestContext& context, const Source& source,
                                              const Dialect& dialect, const Limits& limits) {
  constexpr std::uint64_t kSearched = 256 << 10;
  constexpr std::uint64_t kMostDecoded = 1 << 20;
  constexpr std::uint64_t kMostWork = 256 << 20;  // bytes of all attempts, compressed and not
  constexpr std::uint64_t kWorkOfNext = 4 << 20;  // a search for the next block, in bytes
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, 0, std::min(source.size(), kSearched)));
  const Bytes head = bytes.view();
  const std::uint64_t decoded = Cursor(head).varint64();  // of the block if it is compressed, wherever it ends
  PrefixChecksums checksums_so_far(dialect, 0, 0);
  std::uint64_t work = 0;
  for (std::size_t i = 0; i + kTrailerSize <= head.size() && work < kMostWork; ++i) {
    if (!checksums_so_far.pass(head, i)) continue;
    InContext found{.dialect = dialect, .place = {0, i}};
    found.dialect.context = load_le<std::uint32_t>(&head[i + 1]) - checksums_so_far.checksum();
    const bool is_plain = head[i] == std::byte{0};
    const bool may_unpack =
        is_plain ? split_content(head.first(i), dialect.is_rocksdb).has_value() : decoded <= kMostDecoded;
    if (found.dialect.context == 0 || !may_unpack) continue;
    work += i + (is_plain ? 0 : decoded);
    const auto content = read_block(context, source, found.place, found.dialect, limits);
    if (!content && !is_permanent(content.error().code)) return content.error();
    const auto extents = content ? split_content(content->view(), dialect.is_rocksdb) : std::nullopt;
    if (!extents || extents->entries.empty() || !has_only_entries(*extents)) continue;
    work += kWorkOfNext;
    ASSIGN_OR_RETURN(const auto is_shared,
                     another_follows(context, source, found.place, source.size(), found.dialect, limits));
    if (is_shared) return std::optional(std::move(found));
  }
  return std::optional<InContext>{};
}

Result<std::optional<BlockPlace>> find_block(const RequestContext& context, const Source& source, Position begin,
                                             Position end, const Dialect& dialect, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, begin, std::min(kResyncWindow, end - begin)));
  const Bytes window = bytes.view();
  const Ends ends(window);
  Keys keys;
  for (std::size_t at = 0; at < window.size(); ++at) {
    for (const End& found : ends.with(keys.start_key())) {
      if (found.type_at <= at) continue;
      const BlockPlace place{begin + at, found.type_at - at};
      ASSIGN_OR_RETURN(const auto is_there, is_block(context, source, place, dialect, limits));
      if (is_there) return std::optional<BlockPlace>(place);
    }
    keys.pass(window[at]);
  }
  return std::optional<BlockPlace>{};
}

}  // namespace recordfs::leveldb_table
