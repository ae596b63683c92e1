// Names such as train-00017-of-00128.tfrecord.
#include "core/dataset/shard_name.h"

#include <string>

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

TEST(ShardNameTest, NameIsTakenApart) {
  const auto shard = parse_shard_name("some/dir-00001-of-00002/train-00017-of-00128.tfrecord.gz");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->family.prefix, "some/dir-00001-of-00002/train-");
  EXPECT_EQ(shard->family.total, 128u);
  EXPECT_EQ(shard->family.total_digits, "00128");
  EXPECT_EQ(shard->family.suffix, ".tfrecord");
  EXPECT_EQ(shard->family.packing, ".gz");
  EXPECT_EQ(shard->number, 17u);
  EXPECT_EQ(shard->width, 5u);
  EXPECT_EQ(shard->family.path(18, shard->width), "some/dir-00001-of-00002/train-00018-of-00128.tfrecord.gz");
}

TEST(ShardNameTest, WidthsMayDiffer) {
  const auto shard = parse_shard_name("x-7-of-12");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->width, 1u);
  EXPECT_EQ(shard->family.suffix, "");
  EXPECT_EQ(shard->family.path(11, shard->width), "x-11-of-12");
}

TEST(ShardNameTest, NumberAfterTheLastShardIsParsed) {
  const auto shard = parse_shard_name("x-00005-of-00002");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->number, 5u);
}

TEST(ShardNameTest, LastNumbersOfTheFileNameCount) {
  const auto shard = parse_shard_name("fold-1-of-3-train-00002-of-00009.rec");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->family.prefix, "fold-1-of-3-train-");
  const auto other = parse_shard_name("x-00001-of-00002-best-of-breed");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->family.suffix, "-best-of-breed");
}

TEST(ShardNameTest, OtherNamesAreNoShards) {
  for (const std::string name :
       {"", "train", "-of-", "-of-5", "1-of-5", "x-of-5", "x-1-of-", "x-1-of-y", "x-y-of-5", "x1-of-5", "x-1-of5",
        "x-1-of-0", "x-00000-of-00000", "x-1-of-5/file", "x-/1-of-5", "x--1of-5", "x-1-OF-5", "a/b/"}) {
    EXPECT_FALSE(parse_shard_name(name)) << name;
  }
}

TEST(ShardNameTest, HugeNumbersAreNoShards) {
  EXPECT_TRUE(parse_shard_name("x-1-of-999999999999999"));
  EXPECT_FALSE(parse_shard_name("x-1-of-1000000000000000"));
  EXPECT_FALSE(parse_shard_name("x-1000000000000000-of-5"));
  EXPECT_FALSE(parse_shard_name("x-1-of-" + std::string(300, '9')));
  EXPECT_FALSE(parse_shard_name("x-" + std::string(300, '9') + "-of-5"));
  EXPECT_TRUE(parse_shard_name("x-1-of-" + std::string(200, '0') + "5"));
}

TEST(ShardNameTest, SpecMeansAllShards) {
  const auto family = parse_sharded_spec("dir/train@128.tfrecord");
  ASSERT_TRUE(family);
  EXPECT_EQ(family->path(17, 5), "dir/train-00017-of-00128.tfrecord");
  EXPECT_EQ(parse_sharded_spec("x@3")->path(0, 5), "x-00000-of-00003");
  EXPECT_EQ(parse_sharded_spec("a@b@200000.x.y")->path(100000, 5), "a@b-100000-of-200000.x.y");
}

TEST(ShardNameTest, OtherWordsAreNoSpecs) {
  for (const std::string word : {"", "@", "@5", "dir/@5", "x@", "x@.ext", "x@0", "x@5y", "x@y", "x@-5", "x@5/y",
                                 "x@1000000000000000", "x@99999999999999999999", "train"}) {
    EXPECT_FALSE(parse_sharded_spec(word)) << word;
  }
}

TEST(ShardNameTest, QuestionMarksMeanAllShards) {
  const auto shard = parse_sharded_wildcard(
      "dir/train-?????"
      "-of-00128.tfrecord");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->width, 5u);
  EXPECT_EQ(shard->family.path(3, shard->width), "dir/train-00003-of-00128.tfrecord");
}

TEST(ShardNameTest, OtherPatternsAreNoSetOfQuestionMarks) {
  for (const std::string word : {"train-*-of-00128",
                                 "tr?in-?????"
                                 "-of-00128",
                                 "train-?????"
                                 "-of-*",
                                 "train-?????"
                                 "-of-00128.*",
                                 "d[ab]/train-?????"
                                 "-of-00128",
                                 "train-?????"
                                 "-of-",
                                 "train?????"
                                 "-of-00128",
                                 "?",
                                 "-?"
                                 "-of-"}) {
    EXPECT_FALSE(parse_sharded_wildcard(word)) << word;
  }
}

}  // namespace
}  // namespace recordfs::testing
