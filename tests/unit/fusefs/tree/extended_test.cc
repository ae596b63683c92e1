// Extended attributes of records and of chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

std::string value_of(const ToyTree& tree, std::string_view path, std::string_view name) {
  const auto number = tree.find(path).value();
  const auto value = waited([&] { return tree->subtree(number).extended_attribute({}, number, name); });
  return value ? *value : "error: " + std::string(to_string(value.error().code));
}

std::string of_record(const ToyTree& tree, std::string_view path, const std::string& name) {
  return value_of(tree, path, "user.recordfs." + name);
}

std::string in_chunk(const ToyStore& toy, std::size_t chunk, std::string_view name) {
  return ".views/chunks/" + position_name(toy.file.begins[chunk]) + "/records/" + std::string(name);
}

TEST(ExtendedAttributes, GiveThePositionOfARecord) {
  for (const bool counts_in_header : {true, false}) {
    ToyStore toy({.chunks = 6, .counts_in_header = counts_in_header, .broken_headers = {1}});
    const ToyTree tree(toy);
    for (const std::string& path : {std::string("records/4"), in_chunk(toy, 2, "1")}) {
      EXPECT_EQ(of_record(tree, path, "ordinal"), "4");
      EXPECT_EQ(of_record(tree, path, "chunk"), std::to_string(toy.file.begins[2]));
      EXPECT_EQ(of_record(tree, path, "index"), "1");
      const std::size_t offset = std::stoul(of_record(tree, path, "offset"));
      const std::string data = tree.read(".views/chunks/" + position_name(toy.file.begins[2]) + "/data");
      EXPECT_EQ(data.substr(offset, toy.file.records[7].size()), toy.file.records[7]);
      EXPECT_EQ(of_record(tree, path, "codec"), "none");
      EXPECT_EQ(of_record(tree, path, "checksum"), "good");
    }
  }
}

TEST(ExtendedAttributes, AreListedForRecordsAndChunks) {
  ToyStore toy({.chunks = 2});
  const ToyTree tree(toy);
  const auto names = [&](std::string_view path) {
    return tree->subtree(tree.find(path).value()).extended_names({}, tree.find(path).value());
  };
  EXPECT_EQ(std::ranges::count(names("records/0"), '\0'), 7);
  EXPECT_TRUE(names("records/0").starts_with(std::string_view("user.recordfs.ordinal\0", 22)));
  const std::string chunk = ".views/chunks/" + position_name(toy.file.begins[1]);
  EXPECT_EQ(names(chunk), std::string("user.recordfs.codec\0user.recordfs.checksum\0", 43));
  EXPECT_EQ(value_of(tree, chunk, "user.recordfs.codec"), "none");
  EXPECT_EQ(value_of(tree, chunk, "user.recordfs.checksum"), "good");
  for (const char* path : {"", "info.json", "records", ".views/streams/concat"}) EXPECT_EQ(names(path), "") << path;
}

TEST(ExtendedAttributes, OtherFilesHaveNone) {
  ToyStore toy({.chunks = 2});
  const ToyTree tree(toy);
  for (const char* name : {"security.capability", "user.recordfs", "user.recordfs.", "user.recordfs.ordinal2", ""}) {
    EXPECT_EQ(value_of(tree, "records/0", name), "error: not found") << name;
  }
  EXPECT_EQ(value_of(tree, "info.json", "user.mime_type"), "error: not found");
  EXPECT_EQ(value_of(tree, "", "user.recordfs.codec"), "error: not found");
}

TEST(ExtendedAttributes, DirectoryOfContainersHasNone) {
  ToyStore one({.chunks = 2});
  ToyStore other({.chunks = 3});
  const ToyTree tree({{"one", &one}, {"other", &other}});
  EXPECT_EQ(tree->subtree(MountTree::kRootNumber).extended_names({}, MountTree::kRootNumber), "");
  EXPECT_EQ(value_of(tree, "", "user.recordfs.codec"), "error: not found");
  EXPECT_EQ(of_record(tree, "other/records/7", "ordinal"), "7");
}

TEST(ExtendedAttributes, ChecksumEqualsTheOneInInfo) {
  ToyStore toy({.chunks = 4, .broken_payloads = {1}, .unsupported = {2}});
  const ToyTree tree(toy);
  for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    const std::string info = tree.read(".views/chunks/" + position_name(toy.file.begins[chunk]) + "/info.json");
    const std::string word = of_record(tree, in_chunk(toy, chunk, "0"), "checksum");
    EXPECT_NE(info.find("\"checksum\": \"" + word + "\""), std::string::npos) << info << word;
  }
  EXPECT_EQ(of_record(tree, in_chunk(toy, 1, "0"), "checksum"), "bad");
  EXPECT_EQ(of_record(tree, in_chunk(toy, 2, "0"), "checksum"), "unchecked");
}

TEST(ExtendedAttributes, ChunkIsVerifiedOnceForAllItsRecords) {
  ToyStore toy({.chunks = 2, .records_per_chunk = 50});
  const ToyTree tree(toy);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(of_record(tree, "records/" + std::to_string(i), "checksum"), "good");
  EXPECT_EQ(toy.watch->verifies.load(), 1u);
}

TEST(ExtendedAttributes, TypeDependsOnBytesSuffixAndMetadata) {
  ToyStore toy({.chunks = 2});
  EXPECT_EQ(value_of(ToyTree(toy), "records/1", "user.mime_type"), "text/plain; charset=utf-8");
  EXPECT_EQ(value_of(ToyTree(toy, ".json"), "records/1", "user.mime_type"), "text/plain; charset=utf-8");
  EXPECT_EQ(value_of(ToyTree(toy, ".pb"), "records/1", "user.mime_type"), "application/x-protobuf");
  ToyStore stated({.chunks = 2, .attributes = {{"media", "", "x"}}});
  EXPECT_EQ(value_of(ToyTree(stated), "records/1", "user.mime_type"), "application/x-toy");
}

TEST(ExtendedAttributes, UnreadableRecordHasNoType) {
  ToyStore toy({.chunks = 2, .unreadable_records = {1}});
  const ToyTree tree(toy);
  EXPECT_EQ(value_of(tree, "records/1", "user.mime_type"), "error: damage");
  EXPECT_EQ(of_record(tree, "records/1", "ordinal"), "1");
}

}  // namespace
}  // namespace recordfs::testing
