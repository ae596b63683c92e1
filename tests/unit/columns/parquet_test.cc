#include "core/columns/parquet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/columns/parquet_levels.h"
#include "core/hash/crc32.h"
#include "tests/unit/columns/tables.h"

namespace recordfs::testing {
namespace {

// A value of Thrift's compact protocol.
struct Thrift {
  std::int64_t number = 0;
  std::string text{};
  std::vector<Thrift> items{};
  std::map<int, Thrift> fields{};

  const Thrift& operator[](int field) const {
    static const Thrift kNone;
    const auto found = fields.find(field);
    return found == fields.end() ? kNone : found->second;
  }
};

std::int64_t zigzag(Cursor& cursor) {
  const std::uint64_t value = cursor.varint64();
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

Thrift read_thrift(Cursor& cursor, unsigned type) {
  Thrift value;
  switch (type) {
    case 1:
    case 2: value.number = type == 1 ? 1 : 0; break;
    case 3: value.number = cursor.u8(); break;
    case 5:
    case 6: value.number = zigzag(cursor); break;
    case 8: value.text = as_text(cursor.take(cursor.varint64())); break;
    case 9: {
      const unsigned head = cursor.u8();
      const std::uint64_t size = head >> 4 == 15 ? cursor.varint64() : head >> 4;
      for (std::uint64_t i = 0; i < size && cursor.ok(); ++i) value.items.push_back(read_thrift(cursor, head & 15));
      break;
    }
    case 12:
      for (int last = 0; cursor.ok();) {
        const unsigned head = cursor.u8();
        if (head == 0) break;
        last = head >> 4 != 0 ? last + static_cast<int>(head >> 4) : static_cast<int>(zigzag(cursor));
        value.fields[last] = read_thrift(cursor, head & 15);
      }
      break;
    default: ADD_FAILURE() << "type " << type;
  }
  return value;
}

std::vector<std::uint32_t> read_hybrid(Bytes bytes, unsigned bits, std::size_t count) {
  std::vector<std::uint32_t> numbers;
  Cursor cursor(bytes);
  while (numbers.size() < count && cursor.ok()) {
    const std::uint64_t head = cursor.varint64();
    if ((head & 1) == 0) {
      std::uint32_t number = 0;
      for (unsigned bit = 0; bit < bits; bit += 8) number |= static_cast<std::uint32_t>(cursor.u8()) << bit;
      numbers.insert(numbers.end(), head >> 1, number);
      continue;
    }
    const Bytes packed = cursor.take((head >> 1) * bits);
    for (std::size_t i = 0; i < (head >> 1) * 8; ++i) {
      std::uint32_t number = 0;
      for (std::size_t bit = i * bits; bit < (i + 1) * bits; ++bit) {
        number |= (std::to_integer<unsigned>(packed[bit / 8]) >> bit % 8 & 1u) << (bit - i * bits);
      }
      numbers.push_back(number);
    }
  }
  EXPECT_TRUE(cursor.ok());
  numbers.resize(count);
  return numbers;
}

// A slot of a column: its levels, and its value as stored.
struct Slot {
  unsigned repetition = 0;
  unsigned definition = 0;
  std::string value{};
  bool operator==(const Slot&) const = default;
};

class File {
 public:
  explicit File(const std::string& bytes) : bytes_(bytes) {
    EXPECT_TRUE(bytes.starts_with("PAR1") && bytes.ends_with("PAR1"));
    const std::uint32_t size = Cursor(as_bytes(bytes).subspan(bytes.size() - 8)).u32_le();
    Cursor cursor(as_bytes(bytes).subspan(bytes.size() - 8 - size, size));
    footer_ = read_thrift(cursor, 12);
    EXPECT_TRUE(cursor.ok() && cursor.at_end());
  }

  const Thrift& footer() const { return footer_; }
  std::size_t pages() const { return pages_; }
  const Thrift& chunk(std::size_t leaf) const { return footer_[4].items.at(0)[1].items.at(leaf)[3]; }

  // Returns the slots of an uncompressed leaf of the first row group. `width`: of a value in bytes; 0: it has a length.
  std::vector<Slot> slots(std::size_t leaf, unsigned most_repetition, unsigned most_definition,
                          std::size_t width) const {
    const Thrift& about = chunk(leaf);
    const std::int64_t dictionary = about[11].number;
    Cursor pages(as_bytes(bytes_).subspan(static_cast<std::size_t>(dictionary != 0 ? dictionary : about[9].number),
                                          static_cast<std::size_t>(about[7].number)));
    std::vector<Slot> slots;
    std::vector<std::string> known;
    for (pages_ = 0; !pages.at_end() && pages.ok(); ++pages_) {
      const Thrift header = read_thrift(pages, 12);
      const Bytes content = pages.take(static_cast<std::size_t>(header[3].number));
      EXPECT_EQ(static_cast<std::int32_t>(crc32(content)), header[4].number);
      if (header[1].number == 2) {
        Cursor cursor(content);
        while (!cursor.at_end() && cursor.ok()) known.push_back(value_of(cursor, width));
      } else {
        read_page(header[5], Cursor(content), {most_repetition, most_definition}, width, known, slots);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(slots.size()), about[5].number);
    return slots;
  }

 private:
  static std::string value_of(Cursor& cursor, std::size_t width) {
    return std::string(as_text(cursor.take(width == 0 ? cursor.u32_le() : width)));
  }
  static void read_page(const Thrift& header, Cursor cursor, std::pair<unsigned, unsigned> most, std::size_t width,
                        const std::vector<std::string>& known, std::vector<Slot>& slots) {
    const auto count = static_cast<std::size_t>(header[1].number);
    const auto levels = [&](unsigned highest) {
      if (highest == 0) return std::vector<std::uint32_t>(count);
      return read_hybrid(cursor.take(cursor.u32_le()), bits_for(highest), count);
    };
    const auto repetition = levels(most.first);
    const auto definition = levels(most.second);
    const auto values = static_cast<std::size_t>(std::ranges::count(definition, most.second));
    std::vector<std::uint32_t> indices;
    if (header[2].number == 8) {
      const unsigned bits = cursor.u8();
      indices = read_hybrid(cursor.rest(), bits, values);
    }
    for (std::size_t i = 0, value = 0; i < count; ++i) {
      Slot& slot = slots.emplace_back(Slot{repetition[i], definition[i]});
      if (definition[i] != most.second) continue;
      slot.value = indices.empty() ? value_of(cursor, width) : known.at(indices[value]);
      ++value;
    }
    EXPECT_TRUE(cursor.ok());
  }

  const std::string bytes_;
  Thrift footer_;
  mutable std::size_t pages_ = 0;  // of the last leaf
};

template <class Number>
std::string plain(Number number) {
  std::string bytes;
  append_le(bytes, std::bit_cast<std::uint64_t>(number));
  return bytes;
}

const double kNone = std::numeric_limits<double>::quiet_NaN();  // no x
constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;
const TableOptions kStored{.codec = CodecId::kNone};

TEST(Parquet, NestedColumnsHaveTheirLevelsAndValues) {
  const MessageField root = sample_root();
  std::vector<ArrowColumn> batches;
  batches.push_back(batch_of(root, {sample_row(-5, "a", {kLarge, 1}, {point(1.5), point(kNone)}), ""}));
  batches.push_back(batch_of(root, {sample_row(7, "b", {2}, {point(-0.0)})}));
  const File file(file_of(open_parquet, root, batches, kStored));
  EXPECT_EQ(file.footer()[3].number, 3);
  EXPECT_EQ(file.slots(0, 0, 1, 8),
            (std::vector<Slot>{{0, 1, plain<std::int64_t>(-5)}, {0, 0}, {0, 1, plain<std::int64_t>(7)}}));
  EXPECT_EQ(file.slots(1, 0, 1, 0), (std::vector<Slot>{{0, 1, "a"}, {0, 1, ""}, {0, 1, "b"}}));
  EXPECT_EQ(file.slots(2, 1, 2, 8),
            (std::vector<Slot>{
                {0, 2, plain(kLarge)}, {1, 2, plain<std::uint64_t>(1)}, {0, 0}, {0, 2, plain<std::uint64_t>(2)}}));
  EXPECT_EQ(file.slots(3, 1, 3, 8), (std::vector<Slot>{{0, 3, plain(1.5)}, {1, 2}, {0, 0}, {0, 3, plain(-0.0)}}));
  std::vector<std::string> names;
  for (const Thrift& element : file.footer()[2].items) names.push_back(element[4].text);
  EXPECT_EQ(names, (std::vector<std::string>{"schema", "id", "name", "counts", "list", "element", "points", "list",
                                             "element", "x"}));
}

TEST(Parquet, RepeatedValuesAreInADictionary) {
  const MessageField root = sample_root();
  std::vector<std::string> messages;
  for (std::int64_t i = 0; i < 10000; ++i)
    messages.push_back(sample_row(i % 3 * 100, i % 1000 < 500 ? "on" : "off", {}, {}));
  const std::string bytes = file_of(open_parquet, root, {batch_of(root, messages)}, kStored);
  EXPECT_LT(bytes.size(), 5000u);
  const File file(bytes);
  for (const std::size_t leaf : {0u, 1u}) EXPECT_NE(file.chunk(leaf)[11].number, 0);
  const auto ids = file.slots(0, 0, 1, 8);
  const auto names = file.slots(1, 0, 1, 0);
  for (std::size_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(ids[i].value, plain(static_cast<std::int64_t>(i % 3 * 100)));
    ASSERT_EQ(names[i].value, i % 1000 < 500 ? "on" : "off");
  }
}

TEST(Parquet, LongColumnsHaveSeveralPages) {
  const MessageField root = sample_root();
  std::vector<std::string> messages;
  for (int i = 0; i < 40; ++i) messages.push_back(sample_row(i, std::string(100'000, 'x') + std::to_string(i), {}, {}));
  const File file(file_of(open_parquet, root, {batch_of(root, messages)}, kStored));
  const auto names = file.slots(1, 0, 1, 0);
  EXPECT_EQ(file.pages(), 4u);
  ASSERT_EQ(names.size(), 40u);
  EXPECT_TRUE(names[39].value.ends_with("x39"));
}

TEST(Parquet, StatisticsAreTheBoundsOfTheValues) {
  const MessageField root = sample_root();
  const auto statistics = [&](const std::string& name, const std::vector<std::uint64_t>& counts, double x) {
    const std::string row = sample_row(3, name, counts, {point(0.0), point(kNone)});
    std::string other = sample_row(-3, "m", {}, {});
    protobuf::append_field(other, 4, "\x09" + plain(x));
    const File file(file_of(open_parquet, root, {batch_of(root, {row, other})}));
    std::vector<std::pair<std::string, std::string>> bounds;
    for (std::size_t leaf = 0; leaf < 4; ++leaf) {
      bounds.emplace_back(file.chunk(leaf)[12][6].text, file.chunk(leaf)[12][5].text);
    }
    EXPECT_EQ(file.chunk(3)[12][3].number, 1);  // nulls
    return bounds;
  };
  using Bounds = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(statistics("\xC3\xA9", {1, kLarge}, 0.0), (Bounds{{plain<std::int64_t>(-3), plain<std::int64_t>(3)},
                                                              {"m", "\xC3\xA9"},
                                                              {plain<std::uint64_t>(1), plain(kLarge)},
                                                              {plain(-0.0), plain(0.0)}}));
  const auto without = statistics(std::string(65, 'a'), {}, kNone);
  for (std::size_t leaf = 1; leaf < 4; ++leaf) EXPECT_EQ(without[leaf].first + without[leaf].second, "") << leaf;
}

TEST(Parquet, BytesDependOnTheRowsAlone) {
  const MessageField root = sample_root();
  const ArrowColumn batch = batch_of(root, {sample_row(1, "a", {2}, {}), sample_row(3, "a", {2}, {})});
  for (const CodecId codec : {CodecId::kZstd, CodecId::kSnappy, CodecId::kGzip, CodecId::kBrotli}) {
    const TableOptions options{.codec = codec};
    EXPECT_EQ(file_of(open_parquet, root, {batch}, options), file_of(open_parquet, root, {batch}, options));
  }
}

TEST(Parquet, TableWithoutRowsHasItsSchema) {
  const File file(file_of(open_parquet, sample_root(), {}));
  EXPECT_EQ(file.footer()[3].number, 0);
  EXPECT_EQ(file.footer()[2].items.size(), 10u);
}

TEST(Parquet, UnsupportedTablesAreErrors) {
  StringSink sink;
  const auto code = [&](const ArrowField& root, const TableOptions& options) {
    const auto writer = open_parquet(sink, root, options);
    return writer ? std::nullopt : std::optional(writer.error().code);
  };
  const ArrowField good = arrow_field_of(sample_root());
  EXPECT_EQ(code(good, {.codec = CodecId::kLzma}), Code::kUnsupported);
  EXPECT_EQ(code({.format = "+s"}, {}), Code::kUnsupported);
  EXPECT_EQ(code({.format = "+s", .children = {{.format = "+s", .name = "empty"}}}, {}), Code::kUnsupported);
  EXPECT_EQ(code({.format = "+s", .children = {{.format = "tdD", .name = "date"}}}, {}), Code::kUnsupported);
  EXPECT_EQ(sink.text, "");
}

TEST(ParquetLevels, RunsAndPackedNumbersAreReadBack) {
  for (const unsigned bits : {1u, 3u, 7u, 17u}) {
    std::vector<std::uint32_t> numbers;
    std::uint32_t state = bits;
    for (int i = 0; i < 300; ++i) {
      state = state * 1103515245 + 12345;
      numbers.insert(numbers.end(), state >> 16 & (i % 2 == 0 ? 3 : 31), state >> 8 & ((1u << bits) - 1));
      std::string encoded;
      append_hybrid(encoded, numbers, bits);
      ASSERT_EQ(read_hybrid(as_bytes(encoded), bits, numbers.size()), numbers);
    }
  }
}

}  // namespace
}  // namespace recordfs::testing
