#include "core/formats/riegeli/simple.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/formats/riegeli/format.h"
#include "tests/unit/formats/riegeli/walk.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::riegeli {
namespace {

using riegeli_writer::ChunkSpec;
using riegeli_writer::simple_chunk;
using riegeli_writer::unit;
using riegeli_writer::varint;
using riegeli_writer::Writer;

struct Opened {
  std::unique_ptr<Container> container;
  ChunkInfo chunk;
};

Opened open_chunk(const ChunkSpec& spec, const Limits& limits = {}) {
  Writer writer;
  writer.add(spec);
  Opened opened{open_bytes(writer.file(), limits), {}};
  opened.chunk = walk(*opened.container, writer.size()).chunks.at(1);
  return opened;
}

Code failure(const ChunkSpec& spec) {
  const Opened opened = open_chunk(spec);
  auto chunk = opened.container->decode({}, opened.chunk);
  return chunk ? Code::kNotFound : chunk.error().code;
}

// Returns a zstd chunk of the records "ab" and "c" from the content of its two parts.
ChunkSpec two_records(const std::string& sizes, const std::string& values) {
  return {.num_records = 2, .decoded_data_size = 3, .data = 'z' + varint(sizes.size()) + sizes + values};
}

TEST(Simple, WrongSizeBeforeACompressedPartIsAccepted) {
  const std::string frame = unit("abc", 'z').substr(1);
  const Opened opened = open_chunk(two_records(unit("\x02\x01", 'z'), varint(77) + frame));
  EXPECT_TRUE(opened.container->decode({}, opened.chunk));
}

TEST(Simple, SecondZstdFrameInAPartIsDamage) {
  const std::string sizes = unit("\x02\x01", 'z');
  EXPECT_EQ(failure(two_records(sizes, unit("abc", 'z'))), Code::kNotFound);
  EXPECT_EQ(failure(two_records(sizes, unit("ab", 'z') + unit("c", 'z').substr(1))), Code::kDamage);
  EXPECT_EQ(failure(two_records(sizes, unit("abc", 'z') + unit("", 'z').substr(1))), Code::kDamage);
}

TEST(Simple, SizesThatContradictTheHeaderAreDamage) {
  const std::string values = unit("abc", 'z');
  EXPECT_EQ(failure(two_records(unit("\x02", 'z'), values)), Code::kDamage);
  EXPECT_EQ(failure(two_records(unit(std::string("\x02\x01\x00", 3), 'z'), values)), Code::kDamage);
  EXPECT_EQ(failure(two_records(unit("\x02\x02", 'z'), values)), Code::kDamage);
  EXPECT_EQ(failure(two_records(unit("\x01\x01", 'z'), values)), Code::kDamage);
  EXPECT_EQ(failure(two_records(unit(std::string(100, '\x80'), 'z'), values)), Code::kDamage);
}

TEST(Simple, ValuesOfUnexpectedSizeAreDamage) {
  const std::string sizes = unit("\x02\x01", 'z');
  EXPECT_EQ(failure(two_records(sizes, unit("abcd", 'z'))), Code::kDamage);
  EXPECT_EQ(failure(two_records(sizes, unit("ab", 'z'))), Code::kDamage);
  EXPECT_EQ(failure(two_records(sizes, "")), Code::kDamage);
}

TEST(Simple, PaddedVarintsAreAccepted) {
  const ChunkSpec spec{.num_records = 1, .decoded_data_size = 1, .data = std::string("\0\x82\x00\x81\x00y", 6)};
  const Opened opened = open_chunk(spec);
  EXPECT_TRUE(opened.container->decode({}, opened.chunk));
}

TEST(Simple, UnknownCompressionIsUnsupportedAndMissingDataIsDamage) {
  EXPECT_EQ(failure({.num_records = 1, .decoded_data_size = 1, .data = "\x07\x01\x01y"}), Code::kUnsupported);
  EXPECT_EQ(failure({.num_records = 1, .decoded_data_size = 1}), Code::kDamage);
}

TEST(Simple, OpeningInPlaceRefusesWhatDecodeRefusesAndCompressedChunks) {
  const Opened compressed = open_chunk(simple_chunk({"abc"}, 'z'));
  auto none = compressed.container->open_in_place({}, compressed.chunk);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const std::vector<ChunkSpec> broken = {
      {.num_records = 1, .decoded_data_size = 3, .data = std::string("\0\1\2ab", 5)},
      {.num_records = 1, .decoded_data_size = 2, .data = std::string("\0\1\2abc", 6)},
      {.num_records = 2, .decoded_data_size = 2, .data = std::string("\0\1\2ab", 5)},
      {.num_records = 1, .decoded_data_size = 2, .data = std::string("\0\1\2ab", 5), .data_hash = 3}};
  for (const ChunkSpec& spec : broken) {
    const Opened opened = open_chunk(spec);
    auto parts = opened.container->open_in_place({}, opened.chunk);
    ASSERT_FALSE(parts);
    EXPECT_EQ(parts.error().code, Code::kDamage);
    EXPECT_FALSE(opened.container->decode({}, opened.chunk));
  }
}

// Bytes that can change while they are read, like a file.
class ChangingSource final : public Source {
 public:
  explicit ChangingSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  std::uint64_t generation() const override { return generation_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    const std::string_view there = std::string_view(bytes_).substr(std::min<std::size_t>(at, bytes_.size()));
    const std::size_t length = std::min(there.size(), out.size());
    std::ranges::copy(as_bytes(there.substr(0, length)), out.begin());
    return length;
  }
  void change(std::size_t at, char byte) {
    bytes_[at] = byte;
    ++generation_;
  }

 private:
  std::string bytes_;
  std::uint64_t generation_ = 0;
};

TEST(Simple, ReadingInPlaceVerifiesAgainAfterTheSourceWasTouched) {
  Writer writer;
  writer.add(simple_chunk({"abc", "def"}));
  const auto source = std::make_shared<ChangingSource>(writer.file());
  auto container = kFormat.open({}, source, Limits{});
  ASSERT_TRUE(container);
  const ChunkInfo info = walk(**container, writer.size()).chunks.at(1);
  auto parts = (*container)->open_in_place({}, info);
  ASSERT_TRUE(parts && *parts);
  source->change(0, writer.file()[0]);
  EXPECT_TRUE((*parts)->read({}, 0, 3));
  source->change(writer.size() - 1, 'x');
  auto slice = (*parts)->read({}, 0, 3);
  ASSERT_FALSE(slice);
  EXPECT_EQ(slice.error().code, Code::kDamage);
}

}  // namespace
}  // namespace recordfs::riegeli
