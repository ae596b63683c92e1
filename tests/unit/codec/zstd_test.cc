#include <algorithm>

#include <gtest/gtest.h>
#include <zstd.h>

#include <sys/resource.h>

#include "core/base/request_context.h"
#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::pack_zstd;
using testing::text_of;

constexpr std::uint64_t kAmple = 1 << 30;
constexpr std::string_view kMagic("\x28\xB5\x2F\xFD", 4);
constexpr std::string_view kEmptySkippable("\x50\x2A\x4D\x18\0\0\0\0", 8);

std::string skippable(std::string_view content) {
  return "\x5F\x2A\x4D\x18" + std::string(1, static_cast<char>(content.size())) + std::string(3, '\0') +
         std::string(content);
}

// Returns the header of a frame without content size and checksum, with a window of 2^window_log bytes.
std::string frame_head(int window_log) {
  return std::string(kMagic) + '\0' + static_cast<char>((window_log - 10) << 3);
}

enum BlockKind { kRaw = 0, kRepeated = 1 };

std::string block(BlockKind kind, std::uint32_t size, bool last, std::string_view content) {
  const std::uint32_t head = (last ? 1u : 0u) | static_cast<std::uint32_t>(kind) << 1 | size << 3;
  std::string bytes;
  for (int shift = 0; shift < 24; shift += 8) bytes.push_back(static_cast<char>(head >> shift));
  return bytes.append(content);
}

// Returns `size` zeros, compressed to 4 bytes per 128 KiB.
std::string bomb(std::uint64_t size) {
  std::string packed = frame_head(17);
  for (std::uint64_t done = 0; done < size; done += 128 << 10) packed += block(kRepeated, 128 << 10, false, {"\0", 1});
  return packed + block(kRaw, 0, true, "");
}

std::string unpacked(std::string_view packed, std::uint64_t expected = 0, std::uint64_t limit = kAmple) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress({}, CodecId::kZstd, stored.view(), expected, limit);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

// Returns the result of a one-shot decompression into `size` bytes.
std::string filled(std::string_view packed, std::size_t size) {
  const Guarded stored(as_bytes(packed));
  Guarded out(size);
  auto done = decompress_into({}, CodecId::kZstd, stored.view(), out.span());
  return done ? std::string(as_text(out.view())) : std::string(to_string(done.error().code));
}

TEST(Zstd, ConsecutiveFramesAreConcatenated) {
  const std::string packed = pack_zstd("one ") + pack_zstd("") + pack_zstd("two");
  EXPECT_EQ(unpacked(packed), "one two");
  EXPECT_EQ(filled(packed, 7), "one two");
}

TEST(Zstd, SkippableFramesYieldNoBytes) {
  const std::string packed = skippable("abc") + pack_zstd("one ") + std::string(kEmptySkippable) + pack_zstd("two") +
                             skippable(std::string(100, 'x'));
  EXPECT_EQ(unpacked(packed), "one two");
  EXPECT_EQ(filled(packed, 7), "one two");
  EXPECT_EQ(unpacked(skippable("abc")), "");
  EXPECT_EQ(filled(skippable("abc"), 0), "");
}

TEST(Zstd, InputWithoutAFrameIsDamage) {
  EXPECT_EQ(unpacked(""), "damage");
  EXPECT_EQ(filled("", 0), "damage");
}

TEST(Zstd, TruncatedFramesAreDamage) {
  const std::string packed = skippable("abc") + pack_zstd("one ") + pack_zstd(text_of(1000));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const std::string cut = packed.substr(0, size);
    if (size == skippable("abc").size() || size == (skippable("abc") + pack_zstd("one ")).size()) continue;
    ASSERT_EQ(unpacked(cut), "damage") << size;
    ASSERT_EQ(filled(cut, 1004), "damage") << size;
  }
}

// Returns the content of a stream that may use `memory` bytes for its window.
std::string streamed(std::string_view packed, std::uint64_t memory) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress({}, CodecId::kZstd, stored.view(), 0, kAmple, memory);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

TEST(Zstd, TwoGibibyteWindowIsAcceptedIfNoneIsNeeded) {
  const std::string packed = frame_head(31) + block(kRaw, 4, true, "text");
  EXPECT_EQ(filled(packed, 4), "text");
  EXPECT_EQ(as_text(decompress_exactly({}, CodecId::kZstd, as_bytes(packed), 4)->view()), "text");
  EXPECT_EQ(streamed(packed, std::uint64_t{2} << 30), "text");
}

TEST(Zstd, WindowOfMoreThanTwoGibibytesIsUnsupportedEverywhere) {
  std::string packed = pack_zstd("one ") + frame_head(31) + block(kRaw, 4, true, "text");
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] | 1);  // one eighth more
  EXPECT_EQ(streamed(packed, std::uint64_t{4} << 30), "unsupported");
  EXPECT_EQ(filled(packed, 8), "unsupported");
  EXPECT_EQ(decompress_exactly({}, CodecId::kZstd, as_bytes(packed), 8).error().code, Code::kUnsupported);
}

TEST(Zstd, WindowBeyondTheMemoryIsRefusedInEachFrame) {
  const std::string wide = frame_head(28) + block(kRaw, 4, true, "text");
  for (const std::string& packed : {wide, std::string(kEmptySkippable) + wide, pack_zstd("one ") + wide}) {
    EXPECT_EQ(unpacked(packed), "limit");
    EXPECT_EQ(decompressed_size({}, CodecId::kZstd, as_bytes(packed), kAmple).error().code, Code::kLimit);
    EXPECT_EQ(streamed(packed, (256 << 20) - 1), "limit");
    EXPECT_TRUE(streamed(packed, 256 << 20).ends_with("text"));
  }
}

// The header's other three bits count eighths of a power of two.
TEST(Zstd, WindowBetweenTwoPowersOfTwoIsComparedWithTheMemoryLimit) {
  std::string packed = frame_head(20) + block(kRaw, 4, true, "text");
  packed[5] = static_cast<char>(packed[5] | 3);
  EXPECT_EQ(streamed(packed, (11 << 17) - 1), "limit");
  EXPECT_EQ(streamed(packed, 11 << 17), "text");
}

TEST(Zstd, StreamNeedsOnlyTheContentSizeIfSmallerThanTheWindow) {
  // Two bytes of content size, which is stored minus 256. A single frame would need no stream.
  const std::string packed = std::string(kMagic) + '\x40' + static_cast<char>((28 - 10) << 3) + std::string(2, '\0') +
                             block(kRepeated, 256, true, "x") + std::string(kEmptySkippable);
  EXPECT_EQ(streamed(packed, 256), std::string(256, 'x'));
  EXPECT_EQ(streamed(packed, 255), "limit");
}

// Returns the header of a frame that states its content size, with a window of 128 MiB.
std::string frame_head_of(std::uint32_t content_size) {
  std::string head = std::string(kMagic) + '\x80' + static_cast<char>((27 - 10) << 3);
  for (int shift = 0; shift < 32; shift += 8) head.push_back(static_cast<char>(content_size >> shift));
  return head;
}

// Counts the large allocations of a request.
class CountedAllocations final : public LargeAllocations {
 public:
  int count = 0;

 private:
  void on_large_allocation(const RequestContext&) override { ++count; }
};

TEST(Zstd, RepetitiveFrameIsAllocatedOnceAndNeedsNoWindow) {
  constexpr std::uint32_t kSize = 256u << 20;
  std::string packed = frame_head_of(kSize);
  for (std::uint32_t done = 128u << 10; done < kSize; done += 128u << 10) {
    packed += block(kRepeated, 128 << 10, false, {"\0", 1});
  }
  packed += block(kRepeated, 128 << 10, true, {"\0", 1});
  ASSERT_LT(packed.size(), kSize / 16384);
  for (const bool is_size_known : {false, true}) {
    CountedAllocations allocations;
    const RequestContext context = RequestContext().with(allocations);
    const auto out = is_size_known ? decompress_exactly(context, CodecId::kZstd, as_bytes(packed), kSize)
                                   : decompress(context, CodecId::kZstd, as_bytes(packed), 0, kSize);
    ASSERT_TRUE(out);
    EXPECT_EQ(out->size(), kSize);
    EXPECT_EQ(allocations.count, 1);
  }
}

TEST(Zstd, ContentSizeThatItsBlocksCannotHaveIsNotAllocated) {
  const std::string packed = frame_head_of(256u << 20) + block(kRepeated, 128 << 10, false, {"\0", 1}) +
                             block(kRepeated, 128 << 10, true, {"\0", 1});
  CountedAllocations allocations;
  const auto out = decompress(RequestContext().with(allocations), CodecId::kZstd, as_bytes(packed), 0, kAmple);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::kDamage);
  EXPECT_EQ(allocations.count, 0);
}

TEST(Zstd, WindowBeyondTheFormatsMaximumIsUnsupported) {
  const std::string packed = frame_head(40) + block(kRaw, 4, true, "text");
  EXPECT_EQ(streamed(packed, ~std::uint64_t{0}), "unsupported");
}

TEST(Zstd, FrameForADictionaryIsUnsupported) {
  const std::string packed = std::string(kMagic) + '\x01' + '\0' + '\x07' + block(kRaw, 4, true, "text");
  EXPECT_EQ(unpacked(packed), "unsupported");
  EXPECT_EQ(filled(packed, 4), "unsupported");
}

TEST(Zstd, FramesOfLegacyFormatsAreDamage) {
  for (const char version : {'\x22', '\x23', '\x24', '\x25', '\x26', '\x27'}) {
    const std::string packed = version + std::string("\xB5\x2F\xFD", 3) + std::string(20, '\0');
    EXPECT_EQ(unpacked(packed), "damage");
    EXPECT_EQ(filled(packed, 4), "damage");
    EXPECT_EQ(zstd_content_size(as_bytes(packed)), std::nullopt);
    EXPECT_EQ(zstd_frame_size(as_bytes(packed)), std::nullopt);
  }
}

TEST(Zstd, WrongContentChecksumIsDamage) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string packed(100, '\0');
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), "text", 4));
  ZSTD_freeCCtx(context);
  EXPECT_EQ(unpacked(packed), "text");
  packed.back() ^= 1;
  EXPECT_EQ(unpacked(packed), "damage");
  EXPECT_EQ(filled(packed, 4), "damage");
}

TEST(Zstd, BombStopsAtTheLimitInBoundedMemory) {
  const std::string packed = bomb(std::uint64_t{16} << 30);
  struct rusage before {
  }, after{};
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(unpacked(packed, 0, 1 << 20), "limit");
  EXPECT_EQ(unpacked(packed, std::uint64_t{16} << 30, 1 << 20), "limit");
  EXPECT_EQ(filled(packed, 1000), "damage");
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 << 10) << "KiB";
}

// 10 bytes that claim 2^62 bytes of content: only actual output counts.
TEST(Zstd, AbsurdContentSizeAllocatesNothing) {
  const std::string packed =
      std::string(kMagic) + '\xC0' + '\0' + std::string(7, '\0') + '\x40' + block(kRaw, 4, true, "text");
  ASSERT_EQ(zstd_content_size(as_bytes(packed)), std::uint64_t{1} << 62);
  EXPECT_EQ(unpacked(packed, 0, ~std::uint64_t{0}), "damage");
  EXPECT_EQ(unpacked(packed, std::uint64_t{1} << 62, ~std::uint64_t{0}), "damage");
}

TEST(Zstd, AbsurdSizeGuessAllocatesNothing) {
  EXPECT_EQ(unpacked(pack_zstd("text"), std::uint64_t{1} << 62, ~std::uint64_t{0}), "text");
}

TEST(ZstdContentSize, IsTheSizeInTheHeader) {
  for (const std::size_t size : {0u, 1u, 255u, 256u, 100000u}) {
    const std::string packed = pack_zstd(text_of(size));
    const Guarded head(as_bytes(packed).first(std::min<std::size_t>(packed.size(), 18)));
    EXPECT_EQ(zstd_content_size(head.view()), size);
  }
}

TEST(ZstdContentSize, IsUnknownIfTheHeaderHasNoSize) {
  EXPECT_EQ(zstd_content_size(as_bytes(frame_head(17))), std::nullopt);
  EXPECT_EQ(zstd_content_size(as_bytes(skippable("abc"))), std::nullopt);
  EXPECT_EQ(zstd_content_size(as_bytes("no frame at all, but long enough")), std::nullopt);
}

TEST(ZstdContentSize, IsUnknownIfTheHeaderIsTruncated) {
  const std::string packed = pack_zstd(text_of(100000));
  for (std::size_t size = 0; size < 9; ++size) {
    const Guarded head(as_bytes(packed).first(size));
    EXPECT_EQ(zstd_content_size(head.view()), std::nullopt) << size;
  }
}

TEST(ZstdFrameSize, IsTheSizeOfTheFirstFrameOnly) {
  const std::string first = pack_zstd(text_of(1000));
  const std::string both = first + pack_zstd("two");
  EXPECT_EQ(zstd_frame_size(as_bytes(both)), first.size());
  EXPECT_EQ(zstd_frame_size(as_bytes(skippable("abc") + first)), 11u);
}

TEST(ZstdFrameSize, IsUnknownUntilTheFrameIsComplete) {
  const std::string packed = pack_zstd(text_of(1000));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const Guarded cut(as_bytes(packed).first(size));
    EXPECT_EQ(zstd_frame_size(cut.view()), std::nullopt) << size;
  }
}

}  // namespace
}  // namespace recordfs
