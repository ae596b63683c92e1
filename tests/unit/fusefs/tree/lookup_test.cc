// Every name of the tree, and names that must not exist.
#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;

toy::Shape full_shape() {
  return {.chunks = 6,
          .broken_headers = {3},
          .attributes = {{"comment", "text", "hello"}, {"a/b", "", "raw"}},
          .trailer = "the end"};
}

TEST(Lookup, FixedNamesAreFound) {
  ToyStore toy(full_shape());
  const ToyTree tree(toy);
  for (const char* directory : {"records", "metadata", ".views", ".views/chunks", ".views/thousands", ".views/index",
                                ".views/damage", ".views/streams"}) {
    EXPECT_EQ(tree.status(directory).type, FileType::kDirectory) << directory;
  }
  for (const char* file :
       {"info.json", "trailer", "metadata/comment", "metadata/a%2Fb", "metadata/names.tsv", ".views/index/chunks.tsv",
        ".views/index/damage.tsv", ".views/index/summary.json", ".views/streams/concat", ".views/streams/lines"}) {
    EXPECT_EQ(tree.status(file).type, FileType::kRegular) << file;
    EXPECT_EQ(tree.status(file).size, tree.read(file).size()) << file;
  }
  for (const char* link : {"chunks", "thousands", "index", "damage", "streams"}) {
    EXPECT_EQ(tree.status(link).type, FileType::kLink) << link;
    EXPECT_EQ(tree.target(link), std::string(".views/") + link);
    EXPECT_EQ(tree.status(link).size, tree.target(link).size());
  }
}

TEST(Lookup, ChunkDirectoryHasItsNames) {
  ToyStore toy(full_shape());
  const ToyTree tree(toy);
  const std::string chunk = ".views/chunks/" + position_name(toy.file.begins[1]);
  EXPECT_EQ(tree.status(chunk).type, FileType::kDirectory);
  EXPECT_EQ(tree.status(chunk + "/records").type, FileType::kDirectory);
  for (const char* file : {"/info.json", "/raw", "/data", "/records/000000", "/records/000002"}) {
    EXPECT_EQ(tree.status(chunk + file).type, FileType::kRegular) << file;
  }
}

TEST(Lookup, NumbersMayOmitLeadingZeros) {
  ToyStore toy({.chunks = 800});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.find("records/42").value(), tree.find("records/000000042").value());
  EXPECT_EQ(tree.find("records/0000000000000000000000000042").value(), tree.find("records/42").value());
  const std::string begin = std::to_string(toy.file.begins[3]);
  const std::string listed = position_name(toy.file.begins[3]);
  EXPECT_EQ(tree.status(".views/chunks/" + begin).type, FileType::kLink);
  EXPECT_EQ(tree.target(".views/chunks/" + begin), listed);
  EXPECT_EQ(tree.status(".views/chunks/" + begin).size, listed.size());
  EXPECT_EQ(tree.find(".views/chunks/" + listed + "/records/1").value(),
            tree.find(".views/chunks/" + listed + "/records/000001").value());
  EXPECT_EQ(tree.status(".views/thousands/2").type, FileType::kLink);
  EXPECT_EQ(tree.target(".views/thousands/2"), "000002");
  EXPECT_EQ(tree.find(".views/thousands/000002/2041").value(), tree.find("records/2041").value());
}

TEST(Lookup, UnknownNamesAreNotFound) {
  ToyStore toy(full_shape());
  const ToyTree tree(toy);
  const std::string chunk = ".views/chunks/" + position_name(toy.file.begins[1]);
  for (const std::string& path : Names{"nothing",
                                       "records/x",
                                       "records/-1",
                                       "records/+1",
                                       "records/15",
                                       "records/18446744073709551616",
                                       "records/0x1",
                                       "records/1.0",
                                       "info.json/x",
                                       "records/000000001/x",
                                       "chunks/000000000000000",
                                       ".views/x",
                                       ".views/records",
                                       ".views/chunks/0",
                                       ".views/chunks/" + std::to_string(toy.file.begins[1] + 1),
                                       ".views/chunks/" + std::to_string(toy.file.begins[3]),
                                       ".views/chunks/99999999",
                                       ".views/chunks/18446744073709551615",
                                       chunk + "/records/3",
                                       chunk + "/records/x",
                                       chunk + "/nothing",
                                       chunk + "/info.json/x",
                                       ".views/thousands/1",
                                       ".views/thousands/18446744073709551615",
                                       ".views/thousands/000000/1000",
                                       ".views/thousands/000000/x",
                                       ".views/damage/0",
                                       ".views/damage/" + std::to_string(toy.file.begins[1]),
                                       ".views/index/x",
                                       ".views/streams/x",
                                       "metadata/x",
                                       "metadata/a/b",

                                       "trailer/x"}) {
    EXPECT_FALSE(tree.exists(path)) << path;
  }
}

TEST(Lookup, MissingFeaturesOfAContainerAreNotFound) {
  ToyStore toy({.attributes = {{"plain", "", "x"}}});
  const ToyTree tree(toy);
  EXPECT_FALSE(tree.exists("trailer"));
  EXPECT_FALSE(tree.exists("metadata/names.tsv"));
  EXPECT_EQ(tree.names("metadata"), Names{"plain"});
  EXPECT_EQ(tree.names(".views/damage"), Names{});
}

TEST(Lookup, LookupOfTheRootAndOneChunkDoesNotScan) {
  ToyStore toy({.chunks = 1000});
  const ToyTree tree(toy);
  EXPECT_FALSE(tree.list(MountTree::kRootNumber).empty());
  EXPECT_FALSE(tree.read("info.json").empty());
  EXPECT_FALSE(tree.read(".views/chunks/" + position_name(toy.file.begins[700]) + "/records/000001").empty());
  EXPECT_LE(toy.watch->scans, 20u);
}

TEST(Lookup, InvalidNodeNumbersAreRefused) {
  ToyStore toy({});
  const ToyTree tree(toy);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{500}, ~std::uint64_t{0}, kNodeKinds << kValueBits,
                                     static_cast<std::uint64_t>(NodeKind::kPart) << kValueBits}) {
    EXPECT_EQ(tree->lookup({}, number, "x").error().code, Code::kNotFound) << number;
    EXPECT_EQ(tree->subtree(number).status({}, number).error().code, Code::kNotFound) << number;
    EXPECT_FALSE(tree->subtree(number).target({}, number)) << number;
  }
}

}  // namespace
}  // namespace recordfs::testing
