#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::pack_deflate;
using testing::pack_gzip;
using testing::pack_zlib;
using testing::text_of;

std::string unpacked(CodecId codec, std::string_view packed, std::uint64_t limit = 1 << 20) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress({}, codec, stored.view(), 0, limit);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

// Returns a member with all optional header fields: extra field, name, comment and the CRC-16 of the header.
std::string gzip_with_everything() {
  const std::string plain = pack_gzip("text");
  const std::string head("\x1F\x8B\x08\x1E\0\0\0\0\0\x03\x03\0abcname\0comment\0", 28);
  return head + "\x79\x71" + plain.substr(10);
}

TEST(Deflate, StoredBlocksAreRead) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, std::string("\0\x04\0\xFB\xFFtext\x01\0\0\xFF\xFF", 14)), "text");
}

TEST(Deflate, WrapperIsRefused) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, pack_zlib("text")), "damage");
  EXPECT_EQ(unpacked(CodecId::kDeflate, pack_gzip("text")), "damage");
}

TEST(Deflate, SecondStreamAfterTheFirstIsDamage) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, pack_deflate("one") + pack_deflate("two")), "damage");
  EXPECT_EQ(unpacked(CodecId::kZlib, pack_zlib("one") + pack_zlib("two")), "damage");
}

TEST(Deflate, DistanceBeforeTheBeginningIsDamage) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, std::string("\x4B\x04\x12\0\0", 5)), "damage");
}

TEST(Zlib, OnlyItsOwnWrapperIsAccepted) {
  EXPECT_EQ(unpacked(CodecId::kZlib, pack_zlib("text")), "text");
  EXPECT_EQ(unpacked(CodecId::kZlib, pack_gzip("text")), "damage");
  EXPECT_EQ(unpacked(CodecId::kZlib, pack_deflate("text")), "damage");
}

TEST(Zlib, WrongChecksumIsDamage) {
  std::string packed = pack_zlib(text_of(1000));
  packed.back() ^= 1;
  EXPECT_EQ(unpacked(CodecId::kZlib, packed), "damage");
}

TEST(Zlib, StreamForADictionaryIsUnsupported) {
  EXPECT_EQ(unpacked(CodecId::kZlib, std::string("\x78\xBB\0\0\0\x01\x03\0\0\0\0\x01", 12)), "unsupported");
}

TEST(Gzip, OnlyItsOwnWrapperIsAccepted) {
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip("text")), "text");
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_zlib("text")), "damage");
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_deflate("text")), "damage");
}

TEST(Gzip, ConsecutiveMembersAreConcatenated) {
  const std::string packed = pack_gzip("one ") + pack_gzip("") + pack_gzip("two");
  EXPECT_EQ(unpacked(CodecId::kGzip, packed), "one two");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    if (size == pack_gzip("one ").size() || size == (pack_gzip("one ") + pack_gzip("")).size()) continue;
    EXPECT_EQ(unpacked(CodecId::kGzip, packed.substr(0, size)), "damage") << size;
  }
}

TEST(Gzip, OptionalFieldsOfTheHeaderAreSkipped) {
  const std::string packed = gzip_with_everything();
  EXPECT_EQ(unpacked(CodecId::kGzip, packed), "text");
  std::string wrong = packed;
  wrong[13] ^= 1;
  EXPECT_EQ(unpacked(CodecId::kGzip, wrong), "damage") << "the CRC of the header";
}

TEST(Gzip, WrongChecksumOrLengthOfAnyMemberIsDamage) {
  const std::string first = pack_gzip(text_of(1000));
  const std::string packed = first + pack_gzip("two");
  for (const std::size_t end : {first.size(), packed.size()}) {
    for (std::size_t back = 1; back <= 8; ++back) {
      std::string wrong = packed;
      wrong[end - back] ^= 1;
      EXPECT_EQ(unpacked(CodecId::kGzip, wrong), "damage") << end << ' ' << back;
    }
  }
}

TEST(Gzip, ReservedFlagsAreDamage) {
  std::string packed = pack_gzip("text");
  packed[3] = '\x20';
  EXPECT_EQ(unpacked(CodecId::kGzip, packed), "damage");
}

TEST(Gzip, FrontEndsAfterTheLastMember) {
  const std::string packed = pack_gzip("one ") + pack_gzip("two");
  for (const std::string_view tail : {std::string_view("\x1F"), std::string_view("\0\0\0\0", 4)}) {
    auto front = decompress_front({}, CodecId::kGzip, as_bytes(packed + std::string(tail)), 0, 100);
    ASSERT_TRUE(front) << front.error().detail;
    EXPECT_EQ(as_text(front->content.view()), "one two");
    EXPECT_EQ(front->used, packed.size());
  }
  EXPECT_FALSE(decompress_front({}, CodecId::kGzip, as_bytes(packed + "\x1F\x8B\x08 cut off"), 0, 100));
}

// Reads the stream; returns its content if it has the given size, otherwise the failure.
std::string streamed(CodecId codec, Bytes stored, Tail tail, std::size_t size) {
  auto stream = open_stream(codec, stored, tail);
  std::string text(size + 1, '\0');
  auto got = (*stream)->read({}, {reinterpret_cast<std::byte*>(text.data()), text.size()});
  return got && *got == size ? text.substr(0, size) : got ? "damage" : std::string(to_string(got.error().code));
}

// A single flipped bit of this data never gives one of the inputs that the libraries judge differently (README.md).
TEST(Deflate, WholeDecodingAndStreamsAgreeForAnyDamage) {
  const std::string text = text_of(700);
  for (const auto& [codec, packed] : {std::pair{CodecId::kDeflate, pack_deflate(text)},
                                      {CodecId::kZlib, pack_zlib(text)},
                                      {CodecId::kGzip, pack_gzip(text.substr(0, 300)) + pack_gzip(text.substr(300))},
                                      {CodecId::kGzip, pack_gzip(text)}}) {
    for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
      std::string wrong = packed;
      wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ 1 << bit % 8);
      for (const Tail tail : {Tail::kDamage, Tail::kIgnored}) {
        const Guarded stored(as_bytes(wrong));
        auto whole = decompress_exactly({}, codec, stored.view(), text.size(), tail);
        EXPECT_EQ(whole ? as_text(whole->view()) : to_string(whole.error().code),
                  streamed(codec, stored.view(), tail, text.size()))
            << to_string(codec) << ' ' << bit;
      }
    }
  }
}

TEST(Gzip, StatedSizeIsUntrusted) {
  const std::string text = text_of(1000);
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip(text)), text);
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip(text) + pack_gzip("")), text);
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip(text) + pack_gzip("x")), text + "x");
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip("x") + pack_gzip(text)), "x" + text);
  // Bytes after the end are in the place of the stated size: zero, small, large, impossible.
  for (const std::string_view tail : {std::string_view("\0\0\0\0", 4), std::string_view("\xE8\x03\0\0", 4),
                                      std::string_view("\xFF\xFF\x0F\0", 4), std::string_view("\xFF\xFF\xFF\xFF")}) {
    auto front = decompress_front({}, CodecId::kGzip, as_bytes(pack_gzip(text) + std::string(tail)), 0, 1 << 20);
    ASSERT_TRUE(front) << front.error().detail;
    EXPECT_EQ(as_text(front->content.view()), text);
    EXPECT_EQ(front->used, pack_gzip(text).size());
    EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip(text) + std::string(tail)), "damage");
  }
}

// A file of 64 MiB of stored blocks, mapped repeatedly: more input than 32 bits can count, without using that much
// memory.
class Repeated {
 public:
  static constexpr std::size_t kBlock = 64 << 10;
  static constexpr std::size_t kOnce = 64 << 20;
  static constexpr std::size_t kSize = 65 * kOnce;

  Repeated() {
    const std::string block = std::string("\0\xFB\xFF\x04\0", 5) + std::string(kBlock - 5, 'x');
    std::string once;
    while (once.size() < kOnce) once += block;
    const int file = ::memfd_create("blocks", 0);
    EXPECT_EQ(::write(file, once.data(), kOnce), static_cast<ssize_t>(kOnce));
    begin_ =
        static_cast<std::byte*>(::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t at = 0; at < kSize; at += kOnce) {
      EXPECT_NE(::mmap(begin_ + at, kOnce, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0),
                MAP_FAILED);
    }
    ::close(file);
    begin_[kSize - kBlock] = std::byte{1};  // marks the last block as final
  }
  ~Repeated() { ::munmap(begin_, kSize); }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  Bytes view() const { return {begin_, kSize}; }

 private:
  std::byte* begin_;
};

TEST(Deflate, MoreThanFourGibibytesAreRead) {
  const Repeated stored;
  auto stream = open_stream(CodecId::kDeflate, stored.view());
  ASSERT_TRUE(stream);
  std::vector<std::byte> out(1 << 20);
  std::uint64_t total = 0;
  for (std::size_t got = out.size(); got == out.size(); total += got) {
    auto more = (*stream)->read({}, out);
    ASSERT_TRUE(more) << more.error().detail << " after " << total;
    got = *more;
    ASSERT_TRUE(std::all_of(out.begin(), out.begin() + 100, [](std::byte byte) { return byte == std::byte{'x'}; }));
  }
  EXPECT_EQ(total, Repeated::kSize / Repeated::kBlock * (Repeated::kBlock - 5));
}

}  // namespace
}  // namespace recordfs
