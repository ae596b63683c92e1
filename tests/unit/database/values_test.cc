// Values that are computed, and what is lost, on their own.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/database/loss_sweep.h"
#include "core/database/merge_operator.h"

namespace recordfs::database {
namespace {

using namespace std::string_literals;

std::string merge(std::string_view name, const std::string* existing, const std::vector<std::string>& operands,
                  bool writes_delimiters = true) {
  const auto merging = MergeOperator::of(name, writes_delimiters);
  if (!merging) return "unknown operator";
  std::vector<Bytes> bytes;
  for (const std::string& operand : operands) bytes.push_back(as_bytes(operand));
  const Bytes base = existing == nullptr ? Bytes() : as_bytes(*existing);
  const auto merged = merging->merge({}, existing == nullptr ? nullptr : &base, bytes, 1000);
  return merged ? std::string(as_text(merged->view())) : std::string(to_string(merged.error().code));
}

TEST(MergeOperatorTest, StringAppendJoinsWithTheDelimiterOfTheOptions) {
  const std::string old = "old";
  const std::string empty;
  EXPECT_EQ(merge("{id=StringAppendOperator;delimiter=,;}", nullptr, {"a", "b"}), "a,b");
  EXPECT_EQ(merge("{id=StringAppendOperator;delimiter=,;}", &old, {"a", "b"}), "old,a,b");
  EXPECT_EQ(merge("{id=StringAppendOperator;delimiter=,;}", &empty, {"a"}), ",a");
  EXPECT_EQ(merge("{id=StringAppendTESTOperator;delimiter=;;}", &old, {"a"}), "old;a");
  EXPECT_EQ(merge("{id=StringAppendOperator;delimiter= ;}", &old, {"a"}), "old a");
  EXPECT_EQ(merge("StringAppendOperator", &old, {"a"}), "olda");
}

TEST(MergeOperatorTest, WithoutTheDelimiterOnlyASingleOperandIsMerged) {
  const std::string old = "old";
  EXPECT_EQ(merge("StringAppendOperator", nullptr, {"a"}, false), "a");
  EXPECT_EQ(merge("StringAppendOperator", nullptr, {"a", "b"}, false), to_string(Code::kUnsupported));
  EXPECT_EQ(merge("StringAppendOperator", &old, {"a"}, false), to_string(Code::kUnsupported));
}

TEST(MergeOperatorTest, NumbersOfAnotherSizeCountAsZero) {
  const std::string one = "\1\0\0\0\0\0\0\0"s;
  const std::string largest(8, '\xff');
  EXPECT_EQ(merge("UInt64AddOperator", &one, {one, one}), "\3\0\0\0\0\0\0\0"s);
  EXPECT_EQ(merge("UInt64AddOperator", &largest, {one}), std::string(8, '\0'));
  EXPECT_EQ(merge("UInt64AddOperator", nullptr, {one, "short", one + one}), one);
}

TEST(MergeOperatorTest, MaxComparesBytesAndPutTakesTheLastOperand) {
  const std::string old = "m";
  EXPECT_EQ(merge("MaxOperator", &old, {"a", "\xff", "z"}), "\xff");
  EXPECT_EQ(merge("MaxOperator", &old, {"a"}), "m");
  EXPECT_EQ(merge("PutOperator", &old, {"a", "b"}), "b");
}

TEST(MergeOperatorTest, OtherOperatorsAreUnknown) {
  EXPECT_EQ(merge("append", nullptr, {"a"}), "unknown operator");
  EXPECT_EQ(merge("", nullptr, {"a"}), "unknown operator");
  EXPECT_EQ(name_of_merge_operator("{id=Own;x=1;}"), "Own");
}

TEST(MergeOperatorTest, ResultIsLimited) {
  const std::string large(600, 'x');
  EXPECT_EQ(merge("{id=StringAppendOperator;delimiter=,;}", nullptr, {large, large}), to_string(Code::kLimit));
}

// Returns "damage", "unsupported", ..., or "none".
std::string staleness_of(LossSweep& losses, std::string_view key, std::uint64_t sequence, Age age = {}) {
  const Staleness staleness = losses.staleness_of(as_bytes(key), sequence, age);
  if (staleness.unread) return std::string(to_string(*staleness.unread));
  return staleness.by_damage ? "damage" : "none";
}

std::vector<Age> levels() { return {{.level = -1}, {.level = 1}, {.level = 2}, {.level = 0, .number = 7}}; }

TEST(LossSweepTest, LossCoversItsRangeOfKeys) {
  const KeyOrder order;
  LossSweep losses(order, levels);
  losses.add({.from = "d", .to = "f"});
  losses.add({.from = {}, .to = "b"});
  EXPECT_EQ(staleness_of(losses, "a", 5), "damage");
  EXPECT_EQ(staleness_of(losses, "b", 5), "damage");
  EXPECT_EQ(staleness_of(losses, "c", 5), "none");
  EXPECT_EQ(staleness_of(losses, "d", 5), "damage");
  losses.add({.from = "e", .to = {}});
  EXPECT_EQ(staleness_of(losses, "f", 5), "damage");
  EXPECT_EQ(staleness_of(losses, "g", 5), "damage");
}

TEST(LossSweepTest, OnlyNewerWritesMatter) {
  const KeyOrder order;
  LossSweep losses(order, levels);
  losses.add({.largest_sequence = 9, .age = Age{.level = 1}});
  EXPECT_EQ(staleness_of(losses, "a", 8, {.level = 2}), "damage");
  EXPECT_EQ(staleness_of(losses, "a", 9, {.level = 2}), "none");
  EXPECT_EQ(staleness_of(losses, "a", 8, {.level = 1}), "damage");
  EXPECT_EQ(staleness_of(losses, "a", 8, {.level = 0, .number = 7}), "none");
  EXPECT_EQ(staleness_of(losses, "a", 8, {.level = -1}), "none");
  losses.add({.largest_sequence = 9, .age = Age{.level = 0, .number = 7}});
  EXPECT_EQ(staleness_of(losses, "b", 8, {.level = 0, .number = 7}), "damage");
  EXPECT_EQ(staleness_of(losses, "b", 8, {.level = 0, .number = 8}), "none");
  losses.add({.largest_sequence = 9});
  EXPECT_EQ(staleness_of(losses, "c", 8, {.level = -1}), "damage");
}

TEST(LossSweepTest, MergeWithoutAnOlderValueMayLackAnyLostWrite) {
  const KeyOrder order;
  LossSweep losses(order, levels);
  losses.add({.from = "b", .largest_sequence = 0});
  const Age oldest{.level = INT64_MAX};
  EXPECT_FALSE(losses.staleness_of(as_bytes("a"), std::nullopt, oldest).by_damage);
  EXPECT_TRUE(losses.staleness_of(as_bytes("b"), std::nullopt, oldest).by_damage);
  EXPECT_FALSE(losses.staleness_of(as_bytes("b"), 0, oldest).by_damage);
}

TEST(LossSweepTest, CauseIsReturned) {
  const KeyOrder order;
  LossSweep losses(order, levels);
  losses.add({.to = "b", .cause = Code::kLimit});
  losses.add({.from = "b", .cause = Code::kUnsupported});
  EXPECT_EQ(staleness_of(losses, "a", 1), to_string(Code::kLimit));
  EXPECT_EQ(staleness_of(losses, "c", 1), to_string(Code::kUnsupported));
}

TEST(LossSweepTest, WithoutAnOrderEachLossCoversAllKeys) {
  const KeyOrder order = KeyOrder::of("unknown");
  LossSweep losses(order, levels);
  losses.add({.from = "d", .to = "f"});
  EXPECT_EQ(staleness_of(losses, "z", 1), "damage");
  EXPECT_EQ(staleness_of(losses, "a", 1), "damage");
}

TEST(LossSweepTest, AgreesWithEachLossOnItsOwn) {
  const KeyOrder order;
  std::vector<Loss> all;
  std::uint64_t random = 1;
  const auto next = [&](std::uint64_t end) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % end;
  };
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t from = next(90);
    Loss loss{.from = std::string(1, static_cast<char>('0' + from % 60)),
              .to = std::string(1, static_cast<char>('0' + from % 60 + next(9))),
              .largest_sequence = next(50)};
    if (next(4) != 0) loss.age = levels()[next(4)];
    all.push_back(loss);
  }
  LossSweep losses(order, levels);
  for (const Loss& loss : all) losses.add(loss);
  for (char key = '0'; key < '0' + 70; ++key) {
    for (const Age& age : levels()) {
      for (const std::uint64_t sequence : {0u, 20u, 45u, 49u}) {
        bool expected = false;
        for (const Loss& loss : all) {
          expected |=
              loss.may_be_newer_than(sequence, age) && loss.covers(0, as_bytes(std::string_view(&key, 1)), order);
        }
        EXPECT_EQ(staleness_of(losses, std::string_view(&key, 1), sequence, age), expected ? "damage" : "none") << key;
      }
    }
  }
}

TEST(LossSweepTest, ManyOverlappingLossesTakeLittleTime) {
  const KeyOrder order;
  LossSweep losses(order, levels);
  constexpr int kMany = 100'000;
  const auto key = [](int number) { return std::to_string(1'000'000 + number); };
  for (int i = 0; i < kMany; ++i) losses.add({.from = key(i), .to = {}, .age = Age{.level = 2}});
  for (int i = 0; i < kMany; ++i) EXPECT_EQ(staleness_of(losses, key(i), 1, {.level = 1}), "none");
}

}  // namespace
}  // namespace recordfs::database
