// HighwayHash-64 for processors of any byte order, as its authors' paper (arXiv 1612.06257, section 3) and test vectors
// define it. The authors' library takes the bytes of its input in the processor's order, and is wrong where the highest
// byte is first.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <span>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/hash/highway_engine.h"

namespace recordfs {
namespace {

constexpr std::size_t kPacket = 32;
constexpr std::size_t kLanes = 4;

using Lanes = std::array<std::uint64_t, kLanes>;

constexpr Lanes kFirstFactors = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3};
constexpr Lanes kSecondFactors = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377};

// The bytes of two lanes, low ones first, that each byte of two sums comes from.
constexpr std::array<unsigned, 16> kZipper = {3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7};

std::uint64_t low(std::uint64_t number) { return number & 0xffffffff; }

class Hash {
 public:
  explicit Hash(const std::uint64_t (&key)[kLanes]) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      v0_[i] = kFirstFactors[i] ^ key[i];
      v1_[i] = kSecondFactors[i] ^ std::rotl(key[i], 32);
    }
  }

  void append(Bytes bytes) {
    while (!bytes.empty()) {
      const std::size_t taken = std::min(kPacket - filled_, bytes.size());
      std::memcpy(packet_.data() + filled_, bytes.data(), taken);
      bytes = bytes.subspan(taken);
      if ((filled_ += taken) < kPacket) return;
      add_packet(packet_);
      filled_ = 0;
    }
  }

  std::uint64_t finish() {
    if (filled_ > 0) add_incomplete_packet();
    for (int i = 0; i < 4; ++i) {
      mix(Lanes{std::rotl(v0_[2], 32), std::rotl(v0_[3], 32), std::rotl(v0_[0], 32), std::rotl(v0_[1], 32)});
    }
    return v0_[0] + v1_[0] + first_[0] + second_[0];
  }

 private:
  using Packet = std::array<std::byte, kPacket>;

  void add_packet(const Packet& packet) {
    Lanes lanes{};
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = load_le<std::uint64_t>(packet.data() + 8 * i);
    mix(lanes);
  }

  void mix(const Lanes& lanes) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      v1_[i] += first_[i] + lanes[i];
      first_[i] ^= low(v1_[i]) * (v0_[i] >> 32);
      v0_[i] += second_[i];
      second_[i] ^= low(v0_[i]) * (v1_[i] >> 32);
    }
    for (std::size_t i = 0; i < kLanes; i += 2) add_zipped(v1_, v0_, i);
    for (std::size_t i = 0; i < kLanes; i += 2) add_zipped(v0_, v1_, i);
  }

  static void add_zipped(const Lanes& from, Lanes& to, std::size_t lane) {
    std::array<std::uint64_t, 2> sums = {};
    for (std::size_t i = 0; i < kZipper.size(); ++i) {
      const unsigned source = kZipper[i];
      const std::uint64_t byte = from[lane + source / 8] >> (source % 8 * 8) & 0xff;
      sums[i / 8] |= byte << (i % 8 * 8);
    }
    to[lane] += sums[0];
    to[lane + 1] += sums[1];
  }

  void add_incomplete_packet() {
    const std::size_t size = filled_;
    const std::size_t last = size % 4;
    const std::size_t whole = size - last;
    for (std::size_t i = 0; i < kLanes; ++i) {
      v0_[i] += (std::uint64_t{size} << 32) + size;
      const auto high = static_cast<std::uint32_t>(v1_[i] >> 32);
      const auto low_half = static_cast<std::uint32_t>(v1_[i]);
      const auto turned = std::uint64_t{std::rotl(high, static_cast<int>(size))} << 32;
      v1_[i] = turned | std::rotl(low_half, static_cast<int>(size));
    }
    Packet padded = {};
    std::memcpy(padded.data(), packet_.data(), whole);
    if (size >= kPacket / 2) {
      std::memcpy(padded.data() + kPacket - 4, packet_.data() + size - 4, 4);
    } else if (last > 0) {
      padded[16] = packet_[whole];
      padded[17] = packet_[whole + last / 2];
      padded[18] = packet_[size - 1];
    }
    add_packet(padded);
  }

  Lanes v0_{};
  Lanes v1_{};
  Lanes first_ = kFirstFactors;
  Lanes second_ = kSecondFactors;
  Packet packet_{};
  std::size_t filled_ = 0;
};
static_assert(sizeof(Hash) <= kHashStateBytes && alignof(Hash) <= kHashStateAlignment);

}  // namespace

const HashEngine kAnyOrderEngine = {
    [](void* state, const std::uint64_t (&key)[kLanes]) { new (state) Hash(key); },
    [](void* state, const char* bytes, std::size_t size) {
      static_cast<Hash*>(state)->append(std::as_bytes(std::span(bytes, size)));
    },
    [](void* state) { return static_cast<Hash*>(state)->finish(); },
    [](const std::uint64_t (&key)[kLanes], const char* bytes, std::size_t size) {
      Hash whole(key);
      whole.append(std::as_bytes(std::span(bytes, size)));
      return whole.finish();
    },
};

}  // namespace recordfs
