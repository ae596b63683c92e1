#include "core/codec/codec.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::packers;
using testing::text_of;

constexpr std::uint64_t kPlenty = 1 << 30;

std::string unpacked(CodecId codec, std::string_view packed, std::uint64_t expected, std::uint64_t limit) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress({}, codec, stored.view(), expected, limit);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

// Returns the result of decompress_into as a word.
std::string into(CodecId codec, std::string_view packed, std::string_view text, std::size_t size) {
  const Guarded stored(as_bytes(packed));
  Guarded out(size);
  auto done = decompress_into({}, codec, stored.view(), out.span());
  if (!done) return std::string(to_string(done.error().code));
  return as_text(out.view()) == text ? "equal" : "different";
}

TEST(Codec, NamesAreStable) {
  EXPECT_EQ(to_string(CodecId::kNone), "none");
  EXPECT_EQ(to_string(CodecId::kZstd), "zstd");
  EXPECT_EQ(to_string(CodecId::kBrotli), "brotli");
  EXPECT_EQ(to_string(CodecId::kSnappy), "snappy");
  EXPECT_EQ(to_string(CodecId::kDeflate), "flate");
  EXPECT_EQ(to_string(CodecId::kZlib), "zlib");
  EXPECT_EQ(to_string(CodecId::kGzip), "gzip");
  EXPECT_EQ(to_string(CodecId::kLz4Frame), "lz4");
  EXPECT_EQ(to_string(CodecId::kLzma), "lzma");
  EXPECT_EQ(to_string(CodecId::kXz), "xz");
  EXPECT_EQ(to_string(CodecId::kBzip2), "bzip2");
}

TEST(Codec, CodecWithoutItsLibraryIsUnsupportedEverywhere) {
  const auto unknown = static_cast<CodecId>(200);
  EXPECT_FALSE(is_available(unknown));
  for (const CodecId codec :
       {CodecId::kZstd, CodecId::kBrotli, CodecId::kSnappy, CodecId::kDeflate, CodecId::kZlib, CodecId::kGzip,
        CodecId::kLz4Frame, CodecId::kLzma, CodecId::kXz, CodecId::kBzip2, unknown}) {
    if (is_available(codec)) continue;
    std::byte out{};
    EXPECT_EQ(decompress_into({}, codec, as_bytes("x"), {&out, 1}).error().code, Code::kUnsupported);
    EXPECT_EQ(decompress({}, codec, as_bytes("x"), 0, kPlenty).error().code, Code::kUnsupported);
    EXPECT_EQ(open_stream(codec, as_bytes("x")).error().code, Code::kUnsupported);
  }
}

TEST(Codec, SizeIsKnownWithoutDecodingTheBytes) {
  for (const auto& [codec, pack] : packers()) {
    for (const std::size_t size : {0u, 1u, 131071u, 131072u, 131073u, 1000000u}) {
      const std::string packed = pack(std::string(size, 'x'));
      EXPECT_EQ(decompressed_size({}, codec, as_bytes(packed), size).value_or(kPlenty), size) << to_string(codec);
      if (size == 0) continue;
      EXPECT_EQ(decompressed_size({}, codec, as_bytes(packed), size - 1).error().code, Code::kLimit)
          << to_string(codec);
    }
  }
}

TEST(Codec, SizeOtherThanTheExactOneIsDamage) {
  for (const auto& [codec, pack] : packers()) {
    for (const std::size_t size : {1u, 1000u, 3000000u}) {  // the last size is too large to be trusted in advance
      const std::string text(size, 'x');
      const std::string packed = pack(text);
      for (const Tail tail : {Tail::kDamage, Tail::kIgnored}) {
        EXPECT_EQ(as_text(decompress_exactly({}, codec, as_bytes(packed), size, tail)->view()), text)
            << to_string(codec);
        for (const std::size_t other : {size - 1, size + 1}) {
          EXPECT_EQ(decompress_exactly({}, codec, as_bytes(packed), other, tail).error().code, Code::kDamage)
              << to_string(codec) << ' ' << other;
        }
      }
    }
  }
}

TEST(Codec, EachPackerBelongsToAnAvailableCodec) {
  for (const auto& packer : packers()) EXPECT_TRUE(is_available(packer.codec));
  EXPECT_TRUE(is_available(CodecId::kNone));
}

TEST(Codec, AnySizeRoundTripsWithAnySizeGuess) {
  for (const std::size_t size : {0u, 1u, 2u, 100u, 65535u, 65536u, 65537u, 1000000u}) {
    const std::string text = text_of(size);
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text);
      EXPECT_EQ(into(codec, packed, text, size), "equal") << to_string(codec) << ' ' << size;
      for (const std::uint64_t guess : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{size},
                                        std::uint64_t{size + 1}, std::numeric_limits<std::uint64_t>::max()}) {
        EXPECT_TRUE(unpacked(codec, packed, guess, kPlenty) == text) << to_string(codec) << ' ' << size << ' ' << guess;
      }
    }
  }
}

TEST(Codec, IncompressibleBytesRoundTrip) {
  std::string noise;
  for (std::uint64_t state = 1; noise.size() < 300000; noise.push_back(static_cast<char>(state >> 56))) {
    state = state * 6364136223846793005u + 1442695040888963407u;
  }
  for (const auto& [codec, pack] : packers()) {
    EXPECT_EQ(into(codec, pack(noise), noise, noise.size()), "equal");
    EXPECT_TRUE(unpacked(codec, pack(noise), 0, kPlenty) == noise);
  }
}

TEST(Codec, IdenticalBytesRoundTrip) {
  const std::string zeros(5000000, '\0');
  for (const auto& [codec, pack] : packers()) {
    EXPECT_EQ(into(codec, pack(zeros), zeros, zeros.size()), "equal");
    EXPECT_TRUE(unpacked(codec, pack(zeros), zeros.size(), kPlenty) == zeros);
    EXPECT_TRUE(unpacked(codec, pack(zeros), 0, kPlenty) == zeros);
  }
}

TEST(Codec, UnexpectedSizeIsDamage) {
  for (const std::size_t size : {1u, 100u, 100000u}) {
    const std::string text = text_of(size);
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text);
      for (const std::size_t wrong : {std::size_t{0}, size - 1, size + 1, 2 * size + 1}) {
        if (wrong == size) continue;
        EXPECT_EQ(into(codec, packed, text, wrong), "damage") << to_string(codec) << ' ' << size << ' ' << wrong;
      }
    }
  }
}

TEST(Codec, OutputMayReachTheLimitButNotExceedIt) {
  for (const std::size_t size : {1u, 100u, 70000u, 300000u}) {
    const std::string text = text_of(size);
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text);
      for (const std::uint64_t guess : {std::uint64_t{0}, std::uint64_t{size}, std::uint64_t{10 * size}}) {
        EXPECT_TRUE(unpacked(codec, packed, guess, size) == text) << to_string(codec) << ' ' << size;
        EXPECT_EQ(unpacked(codec, packed, guess, size - 1), "limit") << to_string(codec) << ' ' << size;
        EXPECT_EQ(unpacked(codec, packed, guess, 0), "limit") << to_string(codec) << ' ' << size;
      }
    }
  }
}

TEST(Codec, BombStopsAtTheLimitInBoundedMemory) {
  const std::string zeros(64 << 20, '\0');
  for (const auto& [codec, pack] : packers()) {
    if (codec == CodecId::kSnappy) continue;  // its size is known before it is decoded
    std::string packed = pack(zeros);
    const bool has_several_streams = codec == CodecId::kGzip || codec == CodecId::kLz4Frame;
    for (int doubled = 0; has_several_streams && doubled < 4; ++doubled) packed += packed;
    struct rusage before {
    }, after{};
    ::getrusage(RUSAGE_SELF, &before);
    for (const std::uint64_t guess : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
      EXPECT_EQ(unpacked(codec, packed, guess, 1 << 20), "limit") << to_string(codec);
    }
    ::getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 << 10) << to_string(codec) << ", KiB";
  }
}

TEST(Codec, LimitOfZeroAdmitsNoByte) {
  for (const auto& [codec, pack] : packers()) EXPECT_EQ(unpacked(codec, pack(""), 0, 0), "");
}

TEST(Codec, StoredBytesWithoutACodecAreReturnedUnchanged) {
  EXPECT_EQ(unpacked(CodecId::kNone, "text", 0, 4), "text");
  EXPECT_EQ(unpacked(CodecId::kNone, "", 0, 0), "");
  EXPECT_EQ(unpacked(CodecId::kNone, "text", 0, 3), "limit");
  EXPECT_EQ(into(CodecId::kNone, "text", "text", 4), "equal");
  EXPECT_EQ(into(CodecId::kNone, "text", "text", 3), "damage");
  EXPECT_EQ(into(CodecId::kNone, "text", "text", 5), "damage");
}

}  // namespace
}  // namespace recordfs
