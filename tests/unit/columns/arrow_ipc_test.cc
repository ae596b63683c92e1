#include "core/columns/arrow_ipc.h"

#include <gtest/gtest.h>

#include "core/base/cursor.h"
#include "core/codec/codec.h"
#include "tests/unit/columns/tables.h"

namespace recordfs::testing {
namespace {

// A table of a FlatBuffer.
class Flat {
 public:
  Flat(std::string_view buffer, std::size_t begin) : buffer_(buffer), begin_(begin) {}
  explicit Flat(std::string_view buffer) : Flat(buffer, get<std::uint32_t>(buffer, 0)) {}

  template <class Number>
  Number number(std::size_t slot) const {
    const std::size_t at = place_of(slot);
    EXPECT_EQ(at % sizeof(Number), 0u);
    return at == 0 ? Number{} : get<Number>(buffer_, at);
  }
  Flat table(std::size_t slot) const { return {buffer_, target_of(slot)}; }
  std::string text(std::size_t slot) const {
    return std::string(buffer_.substr(target_of(slot) + 4, get<std::uint32_t>(buffer_, target_of(slot))));
  }
  std::vector<Flat> tables(std::size_t slot) const {
    std::vector<Flat> tables;
    for (std::size_t i = 0; i < count(slot); ++i) {
      const std::size_t at = target_of(slot) + 4 + 4 * i;
      tables.emplace_back(buffer_, at + get<std::uint32_t>(buffer_, at));
    }
    return tables;
  }
  // Returns the numbers of the structs of a vector; `size`: numbers of each.
  std::vector<std::int64_t> structs(std::size_t slot, std::size_t size) const {
    std::vector<std::int64_t> numbers;
    EXPECT_EQ((target_of(slot) + 4) % 8, 0u);
    for (std::size_t i = 0; i < count(slot) * size; ++i) {
      numbers.push_back(get<std::int64_t>(buffer_, target_of(slot) + 4 + 8 * i));
    }
    return numbers;
  }

 private:
  template <class Number>
  static Number get(std::string_view bytes, std::size_t at) {
    return load_le<Number>(as_bytes(bytes).subspan(at, sizeof(Number)).data());
  }
  std::size_t place_of(std::size_t slot) const {
    const auto vtable = begin_ - static_cast<std::size_t>(get<std::int32_t>(buffer_, begin_));
    if (4 + 2 * slot >= get<std::uint16_t>(buffer_, vtable)) return 0;
    const auto offset = get<std::uint16_t>(buffer_, vtable + 4 + 2 * slot);
    return offset == 0 ? 0 : begin_ + offset;
  }
  std::size_t target_of(std::size_t slot) const {
    const std::size_t at = place_of(slot);
    EXPECT_NE(at, 0u);
    return at + get<std::uint32_t>(buffer_, at);
  }
  std::size_t count(std::size_t slot) const { return get<std::uint32_t>(buffer_, target_of(slot)); }

  std::string_view buffer_;
  std::size_t begin_;
};

std::string_view metadata_at(const std::string& file, std::size_t at) {
  Cursor head(as_bytes(file).subspan(at));
  EXPECT_EQ(head.u32_le(), 0xFFFFFFFFu);
  const std::uint32_t size = head.u32_le();
  EXPECT_EQ((at + 8 + size) % 8, 0u);
  return std::string_view(file).substr(at + 8, size);
}

Flat footer_of(const std::string& file) {
  EXPECT_TRUE(file.starts_with(std::string("ARROW1\0\0", 8)) && file.ends_with("ARROW1"));
  const std::uint32_t size = Cursor(as_bytes(file).subspan(file.size() - 10)).u32_le();
  return Flat(std::string_view(file).substr(file.size() - 10 - size, size));
}

// Returns the buffers of a record batch, in order.
std::vector<std::string> buffers_of(const std::string& file, std::size_t at) {
  const std::string_view metadata = metadata_at(file, at);
  const auto places = Flat(metadata).table(2).structs(2, 2);
  std::vector<std::string> buffers;
  for (std::size_t i = 0; i < places.size(); i += 2) {
    EXPECT_EQ(places[i] % 8, 0);
    buffers.push_back(file.substr(at + 8 + metadata.size() + static_cast<std::size_t>(places[i]),
                                  static_cast<std::size_t>(places[i + 1])));
  }
  return buffers;
}

std::vector<ArrowColumn> sample_batches() {
  std::vector<ArrowColumn> batches;
  batches.push_back(batch_of(sample_root(), {sample_row(-5, "ab", {1, 9}, {point(1.5)}), ""}));
  batches.push_back(batch_of(sample_root(), {sample_row(7, "c", {}, {})}));
  return batches;
}

template <class... Numbers>
std::string words(Numbers... numbers) {
  std::string bytes;
  (append_le(bytes, static_cast<std::uint64_t>(numbers)), ...);
  return bytes;
}

TEST(ArrowFile, SchemaHasTheColumnsAndTheirTypes) {
  const std::string file = file_of(open_arrow_file, sample_root(), sample_batches());
  const auto columns = footer_of(file).table(1).tables(1);
  ASSERT_EQ(columns.size(), 4u);
  const auto is = [](const Flat& field, const char* name, bool is_nullable, int type) {
    return field.text(0) == name && (field.number<std::uint8_t>(1) != 0) == is_nullable &&
           field.number<std::uint8_t>(2) == type;
  };
  EXPECT_TRUE(is(columns[0], "id", true, 2));
  EXPECT_EQ(columns[0].table(3).number<std::int32_t>(0), 64);
  EXPECT_EQ(columns[0].table(3).number<std::uint8_t>(1), 1);  // signed
  EXPECT_TRUE(is(columns[1], "name", true, 20));
  EXPECT_TRUE(is(columns[2], "counts", false, 21));
  const auto items = columns[2].tables(5);
  EXPECT_TRUE(is(items.at(0), "item", true, 2));
  EXPECT_EQ(items[0].table(3).number<std::uint8_t>(1), 0);
  const auto points = columns[3].tables(5);
  EXPECT_TRUE(is(points.at(0), "item", true, 13));
  EXPECT_TRUE(is(points[0].tables(5).at(0), "x", true, 3));
}

TEST(ArrowFile, BatchesHaveTheBuffersOfTheColumns) {
  const std::string file = file_of(open_arrow_file, sample_root(), sample_batches());
  const auto blocks = footer_of(file).structs(3, 3);
  ASSERT_EQ(blocks.size(), 6u);
  const auto begin = static_cast<std::size_t>(blocks[0]);
  EXPECT_EQ(blocks[3], blocks[0] + blocks[1] + blocks[2]);
  EXPECT_EQ(metadata_at(file, begin).size() + 8, static_cast<std::size_t>(blocks[1]));
  const Flat batch = Flat(metadata_at(file, begin)).table(2);
  EXPECT_EQ(batch.number<std::int64_t>(0), 2);
  EXPECT_EQ(batch.structs(1, 2), (std::vector<std::int64_t>{2, 1, 2, 0, 2, 0, 2, 0, 2, 0, 1, 0, 1, 0}));
  EXPECT_EQ(buffers_of(file, begin), (std::vector<std::string>{"\x01", words(-5, 0), "", words(0, 2, 2), "ab", "",
                                                               words(0, 2, 2), "", words(1, 9), "", words(0, 1, 1), "",
                                                               "", words(std::bit_cast<std::uint64_t>(1.5))}));
  EXPECT_EQ(buffers_of(file, static_cast<std::size_t>(blocks[3]))[1], words(7));
}

TEST(ArrowFile, CompressedBuffersStateTheirSize) {
  const TableOptions options{.codec = CodecId::kZstd};
  const std::string file = file_of(open_arrow_file, sample_root(), sample_batches(), options);
  const auto buffers = buffers_of(file, static_cast<std::size_t>(footer_of(file).structs(3, 3)[0]));
  ASSERT_GT(buffers.at(1).size(), 8u);
  EXPECT_EQ(buffers[1].substr(0, 8), words(16));
  const auto content = decompress_exactly({}, CodecId::kZstd, as_bytes(buffers[1]).subspan(8), 16);
  ASSERT_TRUE(content);
  EXPECT_EQ(as_text(content->view()), words(-5, 0));
  EXPECT_EQ(buffers[2], "");
}

TEST(ArrowStream, IsTheMessagesOfTheFileAndAnEnd) {
  const std::string file = file_of(open_arrow_file, sample_root(), sample_batches());
  const std::string stream = file_of(open_arrow_stream, sample_root(), sample_batches());
  EXPECT_EQ(file.substr(8, stream.size()), stream);
  EXPECT_TRUE(stream.ends_with(std::string("\xFF\xFF\xFF\xFF\0\0\0\0", 8)));
}

TEST(ArrowFile, TableWithoutRowsHasItsSchema) {
  const std::string file = file_of(open_arrow_file, sample_root(), {});
  EXPECT_EQ(footer_of(file).table(1).tables(1).size(), 4u);
  EXPECT_TRUE(footer_of(file).structs(3, 3).empty());
}

TEST(ArrowFile, UnsupportedTablesAreErrors) {
  StringSink sink;
  EXPECT_FALSE(open_arrow_file(sink, arrow_field_of(sample_root()), {.codec = CodecId::kSnappy}));
  EXPECT_FALSE(open_arrow_file(sink, {.format = "+s", .children = {{.format = "tdD", .name = "date"}}}, {}));
  EXPECT_EQ(sink.text, "");
}

}  // namespace
}  // namespace recordfs::testing
