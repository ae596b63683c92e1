// Keys with the last change to each, and a table with more keys than it can hold.
#include "core/store/key_table.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

using Kind = KeyChangeKind;
using State = FoundKey::State;

struct Changed {
  explicit Changed(KeyTable::Bounds bounds = {}) : table(bounds) {}
  Changed(KeyTable::Bounds bounds, std::set<std::uint64_t> wanted) : table(bounds, std::move(wanted)) {}

  // A value is identified by its size.
  Changed& set(std::string_view key, std::uint64_t size, std::uint32_t family = 0,
               std::optional<std::uint64_t> sequence = {}) {
    return take({.kind = Kind::kSet, .family = family, .key = as_bytes(key), .value = {7, size}, .sequence = sequence});
  }
  Changed& change(Kind kind, std::string_view key, std::string_view end = {},
                  std::optional<std::uint64_t> sequence = {}) {
    return take({.kind = kind, .key = as_bytes(key), .end = as_bytes(end), .sequence = sequence});
  }
  Changed& take(const KeyChange& change) {
    outcome = table.apply(change, 100 + changes++);
    return *this;
  }

  // Returns "key=size" in order, preceded by "family:" except for the first family; "?" is an unknown value.
  std::string listed() {
    table.finish();
    std::string text;
    for (const std::uint32_t family : table.families()) {
      for (std::size_t place = table.places(family).begin; place < table.places(family).end; ++place) {
        const auto key = table.at(place);
        EXPECT_EQ(key.number, key_number(family, key.key));
        const std::string size = key.state == State::kValue ? std::to_string(key.value_size) : "?";
        text += (family == 0 ? "" : std::to_string(family) + ":") + std::string(key.key) + "=" + size + " ";
      }
    }
    return text;
  }

  KeyTable table;
  Result<void> outcome;
  std::uint64_t changes = 0;
};

TEST(KeyTable, LastChangeApplies) {
  Changed all;
  all.set("b", 1).set("a", 2).set("b", 3).set("c", 4).change(Kind::kDelete, "c").change(Kind::kDelete, "never");
  all.set("d", 5)
      .change(Kind::kUnknown, "d")
      .change(Kind::kUnknown, "e")
      .set("e", 6)
      .change(Kind::kDelete, "f")
      .set("f", 0);
  EXPECT_EQ(all.listed(), "a=2 b=3 d=? e=6 f=0 ");
  EXPECT_FALSE(all.table.has_more());
  const auto found = all.table.find(key_number(0, "b"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, "b");
  EXPECT_EQ(found->record, 102u);
  EXPECT_EQ(found->value.begin, 7u);
  EXPECT_EQ(found->value.size, 3u);
  EXPECT_FALSE(all.table.find(key_number(0, "c")));
  EXPECT_FALSE(all.table.find(key_number(1, "b")));
}

TEST(KeyTable, KeysAreSortedByFamilyAndBytes) {
  Changed all;
  all.set("b", 1).set("", 2).set("\xff", 3).set("aaaaaaaaab", 4).set("aaaaaaaaaa", 5).set("a", 6);
  all.set("a", 7, 256).set("z", 8, 2).set("y", 9, 0xFFFFFFFFu);
  EXPECT_EQ(all.listed(), "=2 a=6 aaaaaaaaaa=5 aaaaaaaaab=4 b=1 \xff=3 2:z=8 256:a=7 4294967295:y=9 ");
}

TEST(KeyTable, RangeIsDeletedUpToItsEnd) {
  Changed all;
  all.set("a", 1).set("b", 2).set("c", 3).set("d", 4).set("b", 5, 1);
  all.change(Kind::kDeleteRange, "b", "d").set("c", 6).change(Kind::kDeleteRange, "z", "a");
  EXPECT_EQ(all.listed(), "a=1 c=6 d=4 1:b=5 ");
}

TEST(KeyTable, OverlappingRangesApplySeparately) {
  Changed all;
  all.change(Kind::kDeleteRange, "a", "z").set("a", 1).set("m", 2).set("y", 3);
  all.change(Kind::kDeleteRange, "b", "n").set("n", 4).set("m", 5).change(Kind::kDeleteRange, "l", "mm");
  EXPECT_EQ(all.listed(), "a=1 n=4 y=3 ");
}

TEST(KeyTable, ManyRangesAreAppliedInOrder) {
  Changed all({.ranges = 3});
  for (int i = 0; i < 20; ++i) {
    all.set("k", 1).change(Kind::kDeleteRange, "k", "l").set("m", 2);
    ASSERT_TRUE(all.outcome);
  }
  EXPECT_EQ(all.listed(), "m=2 ");
}

TEST(KeyTable, SequenceNumbersDecideIfPresent) {
  Changed all;
  all.set("a", 1, 0, 9).set("a", 2, 0, 5).change(Kind::kDelete, "b", {}, 8).set("b", 3, 0, 7).set("b", 4, 0, 6);
  all.set("c", 5, 0, 4).change(Kind::kDeleteRange, "c", "e", 10).set("d", 6, 0, 11).set("c", 7, 0, 3);
  EXPECT_EQ(all.listed(), "a=1 d=6 ");
}

TEST(KeyTable, KeepsTheFirstKeysInOrderExactly) {
  Changed all({.keys = 4});
  for (const char* key : {"i", "h", "g", "f", "e", "d", "c", "b", "a"}) all.set(key, 1);
  all.change(Kind::kDelete, "b").set("c", 2).set("z", 3);
  EXPECT_EQ(all.listed(), "a=1 c=2 d=1 e=1 ");
  EXPECT_TRUE(all.table.has_more());
}

TEST(KeyTable, KeepsKeysUpToTheLimit) {
  Changed all({.keys = 4});
  for (const char* key : {"a", "b", "c", "d"}) all.set(key, 1);
  EXPECT_EQ(all.listed(), "a=1 b=1 c=1 d=1 ");
  EXPECT_FALSE(all.table.has_more());
  Changed more({.keys = 4});
  for (const char* key : {"e", "a", "b", "c", "d"}) more.set(key, 1);
  EXPECT_EQ(more.listed(), "a=1 b=1 c=1 d=1 ");
  EXPECT_TRUE(more.table.has_more());
}

TEST(KeyTable, DeletedKeysFreeTheirSpace) {
  Changed all({.keys = 4});
  for (int i = 0; i < 100; ++i) {
    const std::string key = std::to_string(i);
    all.set(key, 1).change(Kind::kDelete, key);
  }
  all.set("last", 2);
  EXPECT_EQ(all.listed(), "last=2 ");
  EXPECT_FALSE(all.table.has_more());
}

TEST(KeyTable, KeepsKeyBytesUpToTheLimit) {
  Changed all({.key_bytes = 40, .longest_key = 20});
  all.set(std::string(21, 'l'), 1);
  EXPECT_TRUE(all.table.has_more());
  for (const char* key : {"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd", "eeeeeeeeeeee"})
    all.set(key, 2);
  EXPECT_EQ(all.listed(), "aaaaaaaaaaaa=2 bbbbbbbbbbbb=2 ");
}

TEST(KeyTable, ManyKeysStayWithinTheLimits) {
  Changed all({.keys = 1000});
  for (int i = 0; i < 50000; ++i) all.set(std::to_string((i * 7919) % 50000 + 100000), 1);
  EXPECT_LT(all.table.memory(), 400000u);
  all.table.finish();
  EXPECT_EQ(all.table.size(), 1000u);
  EXPECT_EQ(all.table.at(999).key, "100999");
}

TEST(KeyTable, WantedKeysAreKeptAtAnyPosition) {
  const std::string longest(100, 'l');
  Changed some({.keys = 1, .longest_key = 20}, {key_number(0, "z"), key_number(3, longest), key_number(0, "y")});
  some.set("a", 1).set("z", 2).set(longest, 3, 3).set(longest, 4).set("y", 5).change(Kind::kDelete, "y");
  some.set("zz", 6).change(Kind::kDeleteRange, "b", "z");
  EXPECT_EQ(some.listed(), "z=2 3:" + longest + "=3 ");
}

TEST(KeyTable, RangesAndWantedKeysBeyondTheLimitAreRefused) {
  Changed ranges({.ranges = 1});
  ranges.change(Kind::kDeleteRange, "a", "b", 1);
  EXPECT_TRUE(ranges.outcome);
  ranges.change(Kind::kDeleteRange, "a", "b", 2);
  EXPECT_EQ(ranges.outcome.error().code, Code::kLimit);
  Changed wanted({.wanted_bytes = 10}, {key_number(0, "0123456789")});
  wanted.set("0123456789", 1);
  EXPECT_EQ(wanted.outcome.error().code, Code::kLimit);
}

}  // namespace
}  // namespace recordfs
