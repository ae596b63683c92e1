// What a report counts, and how it escapes text.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/amounts.h"
#include "core/formats/value.h"
#include "core/report/html.h"
#include "core/report/size_histogram.h"
#include "core/store/part_counts.h"

namespace recordfs {
namespace {

using std::string_literals::operator""s;

SizeHistogram histogram_of(const std::vector<std::uint64_t>& sizes) {
  SizeHistogram histogram;
  for (const std::uint64_t size : sizes) histogram.add(size);
  return histogram;
}

TEST(SizeHistogram, EveryBarContainsItsSizes) {
  const std::vector<std::uint64_t> sizes = {0, 1, 2, 3, 15, 16, 17, 255, 256, 1ull << 40, UINT64_MAX};
  const SizeHistogram histogram = histogram_of(sizes);
  EXPECT_EQ(histogram.count(), sizes.size());
  EXPECT_EQ(histogram.smallest(), 0u);
  EXPECT_EQ(histogram.largest(), UINT64_MAX);
  const auto bars = histogram.bars();
  EXPECT_EQ(bars.size(), 65u);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    std::uint64_t count = 0;
    for (const std::uint64_t size : sizes) count += size >= bars[i].first && size <= bars[i].last ? 1 : 0;
    EXPECT_EQ(bars[i].count, count) << bars[i].first;
    if (i > 0) {
      EXPECT_EQ(bars[i].first, bars[i - 1].last + 1);
    }
  }
}

TEST(SizeHistogram, SizesThatAreCloseTogetherHaveNarrowBars) {
  const auto quarters = histogram_of({64, 80, 100, 130, 900}).bars();
  EXPECT_EQ(quarters.front().first, 64u);
  EXPECT_EQ(quarters.front().last, 79u);
  EXPECT_EQ(quarters.back().last, 1023u);
  const auto sixteenths = histogram_of({64, 70, 100}).bars();
  EXPECT_EQ(sixteenths.front().last, 67u);
  EXPECT_EQ(sixteenths.size(), 10u);
}

TEST(SizeHistogram, QuantilesAreAtMostSixPercentTooLarge) {
  SizeHistogram histogram;
  for (std::uint64_t size = 1; size <= 10000; ++size) histogram.add(size);
  for (const double share : {0.01, 0.5, 0.99}) {
    const double exact = 10000 * share;
    const auto found = static_cast<double>(histogram.quantile(share));
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * 1.0626);
  }
  EXPECT_EQ(histogram.quantile(1), 10000u);
}

TEST(SizeHistogram, SumOfTwoIsThatOfAllSizes) {
  SizeHistogram sum = histogram_of({5, 100});
  sum.add(histogram_of({7, 3000}));
  sum.add(SizeHistogram());
  const SizeHistogram whole = histogram_of({5, 100, 7, 3000});
  EXPECT_EQ(sum.count(), whole.count());
  EXPECT_EQ(sum.mean(), whole.mean());
  EXPECT_EQ(block_line(sum.bars()), block_line(whole.bars()));
}

TEST(SizeHistogram, BlocksHaveTheHeightOfTheirShare) {
  EXPECT_EQ(block_line({{.count = 8}, {.count = 4}, {.count = 0}, {.count = 1}, {.count = 7}}), "█▄ ▁▇");
  EXPECT_EQ(block_line({{.count = 1000000}, {.count = 1}}), "█▁");
  EXPECT_EQ(block_line({}), "");
}

TEST(Html, MarkupAndControlCharactersBecomeText) {
  EXPECT_EQ(html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(html("a\nb\t\0\x1b\xff"s), "a\\x0ab\\x09\\x00\\x1b\\xff");
  EXPECT_EQ(html_lines("a\n<b>\t\x1b\n"), "a\n&lt;b&gt;\t\\x1b\n");
  EXPECT_EQ(html_isolated("<i>"), "<bdi>&lt;i&gt;</bdi>");
}

TEST(Amounts, NumbersAreGroupedAndSizesHaveUnits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
  EXPECT_EQ(short_size(1), "1 byte");
  EXPECT_EQ(short_size(1023), "1023 bytes");
  EXPECT_EQ(short_size(1536), "1.5 KiB");
  EXPECT_EQ(short_size(UINT64_MAX), "16.0 EiB");
}

// Returns a schema whose records have one part, named by the record.
RecordSchema named_parts() {
  return {.value = [](Bytes record, ValueForm) -> Result<Value> {
            Value::Object members;
            add_member(members, as_text(record), record);
            return Value{std::move(members)};
          },
          .parts = RecordSchema::Parts::kOptional};
}

TEST(PartCounts, RowsBeyondTheLimitAreCountedTogether) {
  const RecordSchema schema = named_parts();
  PartCounts counts;
  for (std::size_t i = 0; i < PartCounts::kMostRows + 5; ++i) {
    EXPECT_TRUE(counts.add(schema, as_bytes(std::to_string(i % (PartCounts::kMostRows + 2)))));
  }
  EXPECT_EQ(counts.rows().size(), PartCounts::kMostRows);
  EXPECT_EQ(counts.rows().at({"0", ""}).records, 2u);
  EXPECT_EQ(counts.others().entries, 2u);
  PartCounts sum;
  sum.add(counts);
  sum.add(counts);
  EXPECT_EQ(sum.rows().at({"0", ""}).records, 4u);
  EXPECT_EQ(sum.others().entries, 4u);
}

TEST(PartCounts, LongNamesAreCut) {
  PartCounts counts;
  EXPECT_TRUE(counts.add(named_parts(), as_bytes(std::string(5000, 'n'))));
  EXPECT_EQ(counts.rows().begin()->first.first, std::string(PartCounts::kLongestName, 'n'));
}

TEST(PartCounts, EachRecordCountsOnceInARow) {
  const RecordSchema schema{.value = [](Bytes record, ValueForm) -> Result<Value> {
                              Value::List list(3);
                              for (Value& element : list) {
                                Value::Object members;
                                add_member(members, "id", std::uint64_t{1});
                                add_member(members, "", Message{"x.Type", record});
                                element.is = std::move(members);
                              }
                              Value::Object tags;
                              add_member(tags, "tag", std::move(list));
                              Value::Object members;
                              add_member(members, "tags", std::move(tags));
                              return Value{std::move(members)};
                            },
                            .parts = RecordSchema::Parts::kRequired};
  PartCounts counts;
  EXPECT_TRUE(counts.add(schema, {}));
  EXPECT_TRUE(counts.add(schema, {}));
  ASSERT_EQ(counts.rows().size(), 1u);
  const auto& [row, count] = *counts.rows().begin();
  EXPECT_EQ(row, PartCounts::Row("tags/tag", "x.Type"));
  EXPECT_EQ(count.records, 2u);
  EXPECT_EQ(count.entries, 6u);
}

}  // namespace
}  // namespace recordfs
