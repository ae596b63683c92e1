#include <gtest/gtest.h>
#include <sys/resource.h>

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
  auto out = decompress(codec, stored.view(), 0, limit);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

// A member with everything that a header may have: extra field, name, comment and the CRC-16 of the header.
std::string gzip_with_everything() {
  const std::string plain = pack_gzip("text");
  const std::string head("\x1F\x8B\x08\x1E\0\0\0\0\0\x03\x03\0abcname\0comment\0", 28);
  return head + "\x79\x71" + plain.substr(10);
}

TEST(Deflate, StoredBlocksAreRead) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, std::string("\0\x04\0\xFB\xFFtext\x01\0\0\xFF\xFF", 14)), "text");
}

TEST(Deflate, TakesNoWrapper) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, pack_zlib("text")), "damage");
  EXPECT_EQ(unpacked(CodecId::kDeflate, pack_gzip("text")), "damage");
}

TEST(Deflate, SecondStreamBehindTheFirstIsDamage) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, pack_deflate("one") + pack_deflate("two")), "damage");
  EXPECT_EQ(unpacked(CodecId::kZlib, pack_zlib("one") + pack_zlib("two")), "damage");
}

TEST(Deflate, CopyFromBeforeTheBeginningIsDamage) {
  EXPECT_EQ(unpacked(CodecId::kDeflate, std::string("\x4B\x04\x12\0\0", 5)), "damage");
}

TEST(Zlib, TakesItsOwnWrapperAlone) {
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

TEST(Gzip, TakesItsOwnWrapperAlone) {
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_gzip("text")), "text");
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_zlib("text")), "damage");
  EXPECT_EQ(unpacked(CodecId::kGzip, pack_deflate("text")), "damage");
}

TEST(Gzip, SeveralMembersAreOneAfterTheOther) {
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

TEST(Gzip, FrontEndsBehindTheLastMember) {
  const std::string packed = pack_gzip("one ") + pack_gzip("two");
  for (const std::string_view tail : {std::string_view("\x1F"), std::string_view("\0\0\0\0", 4)}) {
    auto front = decompress_front(CodecId::kGzip, as_bytes(packed + std::string(tail)), 0, 100);
    ASSERT_TRUE(front) << front.error().detail;
    EXPECT_EQ(as_text(front->content.view()), "one two");
    EXPECT_EQ(front->used, packed.size());
  }
  EXPECT_FALSE(decompress_front(CodecId::kGzip, as_bytes(packed + "\x1F\x8B\x08 cut off"), 0, 100));
}

TEST(Deflate, BombEndsAtTheLimitInBoundedMemory) {
  std::string packed = pack_gzip(std::string(64 << 20, '\0'));
  for (int doubled = 0; doubled < 6; ++doubled) packed += packed;
  struct rusage before {
  }, after{};
  ::getrusage(RUSAGE_SELF, &before);
  for (const std::uint64_t guess : {std::uint64_t{0}, std::uint64_t{4} << 30}) {
    auto out = decompress(CodecId::kGzip, as_bytes(packed), guess, 1 << 20);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::kLimit);
  }
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 << 10) << "KiB";
}

}  // namespace
}  // namespace recordfs
