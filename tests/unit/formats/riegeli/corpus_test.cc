// What the expectations of the corpus have besides the content of records, which the contract tests compare.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/formats/riegeli/format.h"
#include "tests/contract/stream.h"
#include "tests/unit/formats/riegeli/walk.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::riegeli {
namespace {

using contract::sha256;
using Json = nlohmann::json;

std::filesystem::path corpus_folder() {
  const char* other = std::getenv("RECORDFS_RIEGELI_CORPUS");
  return other ? other : "tests/corpus/riegeli";
}

// Files of which recordfs reads more records than the reference (FORMAT.md, "Differences"), with their number.
const std::map<std::string, std::uint64_t> kMoreThanReference = {
    {"dmg_flip_block_header.riegeli", 580},         // only the block header is broken
    {"dmg_flip_first_block_header.riegeli", 1250},  // the same
    {"dmg_flip_first_signature.riegeli", 1250},     // the block header at 0 gives the end of the signature
    {"dmg_flip_header.riegeli", 1199},              // all except those of the chunk with that header
    {"dmg_three_places.riegeli", 834},              // the same
};

class Corpus : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    want_ = Json::parse(testing::read_file(corpus_folder() / (GetParam() + ".expect.json")));
    bytes_ = testing::read_file(corpus_folder() / GetParam());
    ASSERT_EQ(bytes_.size(), want_["file_size"].get<std::uint64_t>());
    container_ = open_bytes(bytes_);
    ASSERT_TRUE(container_);
    walk_ = walk(*container_, bytes_.size());
    reading_ = read_all(*container_, walk_.chunks);
  }
  bool damaged() const { return want_.contains("damage"); }

  Json want_;
  std::string bytes_;
  std::unique_ptr<Container> container_;
  Walk walk_;
  Reading reading_;
};

TEST_P(Corpus, DamageCostsNoMoreThanItsChunks) {
  const auto more = kMoreThanReference.find(GetParam());
  const auto expected = more != kMoreThanReference.end() ? more->second : want_["num_records"].get<std::uint64_t>();
  EXPECT_EQ(reading_.records.size(), expected);
}

TEST_P(Corpus, ChunksMatchTheExpectation) {
  std::map<Position, const ChunkInfo*> found;
  for (const ChunkInfo& chunk : walk_.chunks) found[chunk.begin] = &chunk;
  for (const Json& chunk : want_["chunks"]) {
    const auto it = found.find(chunk["begin"].get<Position>());
    ASSERT_NE(it, found.end()) << chunk;
    EXPECT_EQ(it->second->end, chunk["end"].get<Position>());
    EXPECT_EQ(it->second->records, chunk["num_records"].get<std::uint64_t>());
    EXPECT_EQ(it->second->stored_size, chunk["data_size"].get<std::uint64_t>());
    const std::map<std::string, std::string> kinds = {
        {"s", "signature"}, {"m", "metadata"}, {"p", "padding"}, {"r", "simple"}, {"t", "transposed"}};
    const auto kind = kinds.find(chunk["type"].get<std::string>());
    EXPECT_EQ(it->second->kind.word(), kind == kinds.end() ? "unknown" : kind->second);
    if (it->second->kind.word() == "simple" || it->second->kind.word() == "transposed") {
      EXPECT_EQ(it->second->decoded_size, chunk["decoded_data_size"].get<std::uint64_t>());
    }
  }
  if (!damaged() && want_["chunks"].size() == want_["num_chunks"]) {
    EXPECT_EQ(walk_.chunks.size(), want_["chunks"].size());
  }
}

TEST_P(Corpus, DamagedFilesReportDamage) {
  const bool skipped = damaged() && !want_["skipped"].empty();
  EXPECT_EQ(skipped, !walk_.damage.empty() || !reading_.errors.empty());
}

TEST_P(Corpus, MetadataMatchesTheExpectation) {
  auto attributes = container_->metadata()->attributes({}, nullptr);
  const Json metadata = want_.value("metadata", Json());
  const std::uint64_t size = metadata.is_object() ? metadata.value("serialized_size", std::uint64_t{0}) : 0;
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->empty(), size == 0);
  if (size == 0) return;
  std::map<std::string, std::string> values;
  for (const Attribute& attribute : *attributes) values[attribute.key] = attribute.value;
  EXPECT_EQ(sha256(as_bytes(values["records_metadata"])), metadata["serialized_sha256"].get<std::string>());
  const Json message = metadata.value("message", Json::object());
  for (const char* key : {"file_comment", "record_type_name", "record_writer_options", "num_records"}) {
    EXPECT_EQ(values.contains(key), message.contains(key)) << key;
    if (message.contains(key)) {
      EXPECT_EQ(values[key], message[key].get<std::string>());
    }
  }
  EXPECT_EQ(values.contains("file_descriptor_set"), message.contains("file_descriptor"));
}

std::vector<std::string> corpus_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(corpus_folder())) {
    if (entry.path().extension() == ".riegeli") names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, Corpus, ::testing::ValuesIn(corpus_names()),
                         [](const auto& file) { return file.param.substr(0, file.param.find('.')); });

}  // namespace
}  // namespace recordfs::riegeli
