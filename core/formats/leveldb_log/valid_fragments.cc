#include "core/formats/leveldb_log/valid_fragments.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/hash/crc32c.h"
#include "core/hash/crc_field.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kTypeAt = 6;
// RocksDB also ends a frame early if its control fragment does not fit, which takes six bytes more for each column
// family.
constexpr std::size_t kLongestTrailer = 64;

// With the powers of x for up to a frame.
class Field : public CrcField {
 public:
  explicit Field(const CrcField& field) : CrcField(field), powers_(kFrameSize + kRecyclableHeaderSize) {
    powers_[0] = kOne;
    for (std::size_t i = 1; i < powers_.size(); ++i) powers_[i] = times_byte(powers_[i - 1]);
  }

  // Returns x to the power of the bits in `bytes` bytes, up to a frame.
  std::uint32_t power(std::size_t bytes) const { return powers_[bytes]; }

 private:
  std::vector<std::uint32_t> powers_;
};

const Field& field_of(bool is_plain) {
  static const Field kOfCrc32(kCrc32Field);
  static const Field kOfCrc32c(kCrc32cField);
  return is_plain ? kOfCrc32 : kOfCrc32c;
}

// Multiplies many numbers by the same factor.
class Multiplier {
 public:
  Multiplier(const Field& field, std::uint32_t factor) {
    for (std::size_t nibble = products_.size(); nibble-- > 0;) {
      for (std::uint32_t bit = 8; bit > 0; bit >>= 1, factor = field.times_x(factor)) {
        bases_[nibble][bit] = factor;
      }
    }
    for (std::size_t nibble = 0; nibble < products_.size(); ++nibble) {
      for (std::uint32_t i = 1; i < products_[nibble].size(); ++i) {
        const std::uint32_t lowest = i & (~i + 1);
        products_[nibble][i] = products_[nibble][i ^ lowest] ^ bases_[nibble][lowest];
      }
    }
  }
  std::uint32_t times(std::uint32_t value) const {
    std::uint32_t product = 0;
    for (const auto& products : products_) {
      product ^= products[value & 15];
      value >>= 4;
    }
    return product;
  }

 private:
  std::array<std::array<std::uint32_t, 16>, 8> products_{};
  std::array<std::array<std::uint32_t, 9>, 8> bases_{};
};

constexpr std::uint8_t kLastRecyclable = 8;  // largest type of data fragments with a log number
constexpr std::uint8_t kLastSync = 12;       // likewise, with an offset

// The header size of each known type, and 0 of any other.
using HeaderSizes = std::array<std::uint8_t, 256>;

constexpr HeaderSizes make_header_sizes(const Wire& wire) {
  HeaderSizes sizes{};
  for (std::size_t type = 1; type <= kLastLevelDbType; ++type) sizes[type] = kHeaderSize;
  if (!wire.has_rocksdb_types) return sizes;
  for (std::size_t type = kLastLevelDbType + 1; type <= kLastRecyclable; ++type) sizes[type] = kRecyclableHeaderSize;
  for (const std::size_t type : {9u, 10u, 130u}) sizes[type] = kHeaderSize;
  for (const std::size_t type : {11u, 131u}) sizes[type] = kRecyclableHeaderSize;
  if (!wire.has_sync_offsets) return sizes;
  for (std::size_t type = kLastRecyclable + 1; type <= kLastSync; ++type) sizes[type] = kSyncHeaderSize;
  return sizes;
}

constexpr HeaderSizes kLevelDbHeaders = make_header_sizes({.has_rocksdb_types = false});
constexpr HeaderSizes kRocksDbHeaders = make_header_sizes({});
constexpr HeaderSizes kPebbleHeaders = make_header_sizes({.has_sync_offsets = true});

const HeaderSizes& header_sizes_of(const Wire& wire) {
  if (!wire.has_rocksdb_types) return kLevelDbHeaders;
  return wire.has_sync_offsets ? kPebbleHeaders : kRocksDbHeaders;
}

// Returns the end of the fragment that a header at `at` describes; nullopt if there is no valid header. Called for each
// byte of a frame.
inline std::optional<std::size_t> claimed_end(Bytes bytes, std::size_t at, const HeaderSizes& header_sizes) {
  if (bytes.size() - at < kHeaderSize) return std::nullopt;
  const std::size_t header = header_sizes[std::to_integer<std::uint8_t>(bytes[at + kTypeAt])];
  if (header == 0) return std::nullopt;
  const std::size_t size = header + load_le<std::uint16_t>(&bytes[at + kLengthAt]);
  if (size > kFrameSize || size > bytes.size() - at) return std::nullopt;
  return at + size;
}

// Returns whether `fragment` does not begin a record, or may begin a valid one.
bool begins_well(Bytes fragment, MayBegin may_begin, const HeaderSizes& header_sizes) {
  constexpr std::size_t kMostLookedAt = 512;  // bounded because fragments may be nested
  const auto type = std::to_integer<std::uint8_t>(fragment[kTypeAt]);
  const std::size_t header = header_sizes[type];
  const auto before = header == kSyncHeaderSize ? kLastRecyclable : type > kLastLevelDbType ? kLastLevelDbType : 0;
  const int narrow = type - before;
  constexpr int kFull = 1;
  constexpr int kFirst = 2;
  if (narrow != kFull && narrow != kFirst) return true;
  const Bytes payload = fragment.subspan(header);
  const Bytes beginning = payload.first(std::min(payload.size(), kMostLookedAt));
  return may_begin(beginning, narrow == kFull && beginning.size() == payload.size());
}

}  // namespace

// A CRC is linear: the state of a range is the state at its end minus the state at its begin, advanced by the range's
// length.
std::uint32_t ValidFragments::sum(std::size_t begin, std::size_t end) const {
  const Field& field = field_of(is_plain_);
  const std::uint32_t crc = ~(field.product(~states_[begin], field.power(end - begin)) ^ states_[end]);
  return is_plain_ ? crc : mask_crc(crc);
}

ValidFragments::ValidFragments(Bytes bytes, std::size_t frame, bool may_cross, const Wire& wire, MayBegin may_begin)
    : is_plain_(wire.checksum == Wire::Checksum::kCrc32), frame_(frame), zeros_from_(frame), states_(bytes.size() + 1) {
  const Field& field = field_of(is_plain_);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    states_[i + 1] = field.times_byte(states_[i] ^ std::to_integer<std::uint32_t>(bytes[i]));
  }
  while (zeros_from_ > 0 && bytes[zeros_from_ - 1] == std::byte{0}) --zeros_from_;
  stored_.resize(frame);
  for (std::size_t at = 0; at < frame && bytes.size() - at >= 4; ++at) stored_[at] = load_le<std::uint32_t>(&bytes[at]);

  const HeaderSizes& header_sizes = header_sizes_of(wire);
  const std::uint8_t last_data = wire.has_sync_offsets ? kLastSync : kLastRecyclable;
  std::vector<bool> leads(frame + 1);
  // Returns whether the log continues from `end` to the frame's end.
  const auto goes_on = [&](std::size_t end) {
    if (end >= zeros_from_ || frame - end < kHeaderSize) return true;
    if (leads[end] || is_end_mark(bytes.subspan(end, frame - end), wire)) return true;
    // A trailer of a frame at an irregular position.
    for (std::size_t at = end; at < std::min(end + kLongestTrailer, frame) && bytes[at] == std::byte{0}; ++at) {
      if (leads[at + 1]) return true;
    }
    const auto claimed = claimed_end(bytes, end, header_sizes);  // a fragment with only a wrong payload
    return claimed && *claimed < frame && leads[*claimed];
  };
  for (std::size_t at = frame; at-- > 0;) {
    const auto end = claimed_end(bytes, at, header_sizes);
    if (!end || (*end > frame && !may_cross) || stored_[at] != sum(at + kTypeAt, *end)) continue;
    sound_.push_back(static_cast<std::uint32_t>(at));
    leads[at] = *end >= frame || goes_on(*end);
    const bool is_data = std::to_integer<std::uint8_t>(bytes[at + kTypeAt]) <= last_data;
    const Bytes found = bytes.subspan(at, *end - at);
    if (!leads[at] || !is_data || (may_begin != nullptr && !begins_well(found, may_begin, header_sizes))) continue;
    leading_.push_back(static_cast<std::uint32_t>(at));
  }
  std::ranges::reverse(sound_);
  std::ranges::reverse(leading_);
}

std::optional<std::size_t> ValidFragments::next(std::size_t from) const {
  const auto place = std::ranges::lower_bound(leading_, from);
  return place == leading_.end() ? std::nullopt : std::optional<std::size_t>(*place);
}

std::optional<std::size_t> ValidFragments::size_by_checksum(std::size_t at, std::size_t frame_size) const {
  const std::size_t begin = at + kTypeAt;
  if (begin >= frame_) return std::nullopt;
  const Field& field = field_of(is_plain_);
  const Multiplier moved(field, ~states_[begin]);
  const std::uint32_t wanted = ~(is_plain_ ? stored_[at] : unmask_crc(stored_[at]));
  const auto ends_at = [&](std::size_t end) {
    return (moved.times(field.power(end - begin)) ^ states_[end]) == wanted;
  };
  // Bytes too few for a header are a trailer only at the end of the frame.
  const std::size_t trailer = frame_size - std::min<std::size_t>(frame_size, kHeaderSize - 1);
  const std::size_t rest = std::max(begin + 1, std::min(zeros_from_, trailer));
  for (auto place = std::ranges::upper_bound(sound_, begin); place != sound_.end() && *place < rest; ++place) {
    if (ends_at(*place)) return *place - at;
  }
  for (std::size_t end = rest; end <= frame_; ++end) {
    if (ends_at(end)) return end - at;
  }
  return std::nullopt;
}

}  // namespace recordfs::leveldb_log
