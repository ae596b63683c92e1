#include <gtest/gtest.h>
#include <lzma.h>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::pack_lzma;
using testing::text_of;

std::string unpacked_xz(std::string_view packed, std::uint64_t limit = 1 << 20) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress({}, CodecId::kLzma, stored.view(), 0, limit);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> 8 * i));
  return text;
}

std::string with_stated_size(std::string packed, std::uint64_t size) {
  return packed.replace(5, 8, little_endian(size, 8));
}

std::string with_dictionary(std::string packed, std::uint32_t size) {
  return packed.replace(1, 4, little_endian(size, 4));
}

// Returns a stream with a stated size and without an end marker: the raw coder's output after a handmade header.
std::string pack_without_end_mark(std::string_view text) {
  lzma_options_lzma options{};
  EXPECT_FALSE(lzma_lzma_preset(&options, 1));
  options.ext_flags = 0;
  options.ext_size_low = static_cast<std::uint32_t>(text.size());
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA1EXT, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string raw(text.size() + 1024, '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_raw_buffer_encode(filters, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                   reinterpret_cast<std::uint8_t*>(raw.data()), &size, raw.size()),
            LZMA_OK);
  return '\x5D' + little_endian(options.dict_size, 4) + little_endian(text.size(), 8) + raw.substr(0, size);
}

TEST(Lzma, StatedSizeIsDecodedWithAndWithoutAnEndMark) {
  for (const std::size_t size : {0u, 1u, 300000u}) {
    const std::string text = text_of(size);
    EXPECT_TRUE(unpacked_xz(with_stated_size(pack_lzma(text), size)) == text) << size;
    EXPECT_TRUE(unpacked_xz(pack_without_end_mark(text)) == text) << size;
  }
}

TEST(Lzma, SizeOtherThanStatedIsDamage) {
  const std::string text = text_of(1000);
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, std::uint64_t{999}, std::uint64_t{1001}, std::uint64_t{1} << 37}) {
    EXPECT_EQ(unpacked_xz(with_stated_size(pack_lzma(text), wrong)), "damage") << wrong;
    EXPECT_EQ(unpacked_xz(with_stated_size(pack_without_end_mark(text), wrong)), "damage") << wrong;
  }
}

TEST(Lzma, TruncatedStreamWithStatedSizeIsDamage) {
  const std::string packed = pack_without_end_mark(text_of(1000));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(unpacked_xz(packed.substr(0, size)), "damage") << size;
  }
}

TEST(Lzma, DictionaryUpTo128MebibytesIsAccepted) {
  EXPECT_EQ(unpacked_xz(with_dictionary(pack_lzma("text"), 0)), "text");
  EXPECT_EQ(unpacked_xz(with_dictionary(pack_lzma("text"), 128 << 20)), "text");
}

TEST(Lzma, LargerDictionaryIsRefusedByTheLimit) {
  EXPECT_EQ(unpacked_xz(with_dictionary(pack_lzma("text"), 192 << 20)), "limit");
  EXPECT_EQ(unpacked_xz(with_dictionary(pack_lzma("text"), 0xFFFFFFFF)), "limit");
}

TEST(Lzma, XzIsDamage) {
  EXPECT_EQ(unpacked_xz(std::string("\xFD"
                                    "7zXZ\0\0\4\xE6\xD6\xB4\x46\0\0\0\0\x1C\xDF\x44\x21",
                                    20)),
            "damage");
}

TEST(Lzma, SecondStreamAfterTheFirstIsDamage) { EXPECT_EQ(unpacked_xz(pack_lzma("one") + pack_lzma("two")), "damage"); }

}  // namespace
}  // namespace recordfs
