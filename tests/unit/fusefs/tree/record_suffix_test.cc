// Record names with a suffix: listed with it, and found with and without it.
#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

TEST(RecordSuffix, FollowsEachListedName) {
  ToyStore toy({.chunks = 2});
  const ToyTree tree(toy, ".pb");
  EXPECT_EQ(tree.names("records").front(), "000000000.pb");
  EXPECT_EQ(tree.names("records").back(), "000000005.pb");
  EXPECT_EQ(tree.names(".views/thousands/000000").back(), "000000005.pb");
  const std::string chunk = ".views/chunks/" + position_name(toy.file.begins[1]);
  EXPECT_EQ(tree.names(chunk + "/records").back(), "000002.pb");
  EXPECT_EQ(tree.names(chunk), (std::vector<std::string>{"info.json", "raw", "data", "records", "records.jsonl"}));
}

TEST(RecordSuffix, NameWithoutSuffixIsTheSameNode) {
  ToyStore toy({.chunks = 20});
  const ToyTree tree(toy, ".pb");
  const auto number = tree.find("records/000000042.pb").value();
  EXPECT_EQ(tree.read(number), toy.file.records[42]);
  for (const char* name : {"records/000000042", "records/42", "records/42.pb", ".views/thousands/000000/42",
                           ".views/thousands/000000/000000042.pb"}) {
    EXPECT_EQ(tree.find(name).value(), number) << name;
  }
  const std::string records = ".views/chunks/" + position_name(toy.file.begins[14]) + "/records/";
  for (const char* name : {"0", "000000", "000000.pb", "0.pb"}) EXPECT_EQ(tree.find(records + name).value(), number);
}

TEST(RecordSuffix, OtherNamesAreNotFound) {
  ToyStore toy({.chunks = 2});
  const ToyTree tree(toy, ".pb");
  for (const char* name : {"records/1.pbx", "records/1.pb.pb", "records/.pb", "records/1.p", "records/1.",
                           "records/99.pb", "info.json.pb", ".views/chunks/1.pb", ".views/thousands/0.pb"}) {
    EXPECT_FALSE(tree.exists(name)) << name;
  }
}

TEST(RecordSuffix, DefaultIsNoSuffix) {
  ToyStore toy({.chunks = 2});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.names("records").front(), "000000000");
  EXPECT_FALSE(tree.exists("records/1.pb"));
}

}  // namespace
}  // namespace recordfs::testing
