// Metadata, descriptors and parts of the corpus, compared with the expectations. The contract tests check the events.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <nlohmann/json.hpp>

#include "core/base/protobuf.h"
#include "tests/contract/stream.h"
#include "tests/toy/parts.h"
#include "tests/unit/formats/proio/streams.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::proio {
namespace {

using contract::sha256;
using Json = nlohmann::json;

std::filesystem::path corpus_folder() {
  const char* other = std::getenv("RECORDFS_PROIO_CORPUS");
  return other ? other : "tests/corpus/proio";
}

// Returns nullopt for a value that is too long for the expectation.
std::optional<std::string> from_base64(const std::string& text) {
  std::string bytes(text.size(), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - static_cast<std::size_t>(std::ranges::count(text, '=')));
  return bytes;
}

// These files have metadata after the last readable event.
const std::set<std::string> kMoreThanTheLastEventSees = {"h02-meta-only-mid-end.proio", "h03-only-header.proio",
                                                         "x17-cut-first-payload.proio"};

class Corpus : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    want_ = Json::parse(testing::read_file(corpus_folder() / (GetParam() + ".expect.json")));
    bytes_ = testing::read_file(corpus_folder() / GetParam());
    container_ = open_bytes(bytes_);
    if (container_) reading_ = read_all(*container_, bytes_.size());
  }

  const ChunkInfo* bucket_at(Position begin) const {
    const auto found = std::ranges::find(reading_.buckets, begin, &ChunkInfo::begin);
    return found == reading_.buckets.end() ? nullptr : &*found;
  }

  // Compares the parts of a sampled event, in tags/ and entries/, with the expectation.
  void compare_parts(const Json& sample) const {
    const std::string& event = reading_.events.at(sample["ordinal"].get<std::size_t>());
    const auto value = container_->schema().value(as_bytes(event), ValueForm::kParts);
    ASSERT_TRUE(value);
    const Parts parts = parts_in(*value, as_bytes(event));
    std::map<std::uint64_t, std::string> entries;
    std::map<std::string, std::vector<std::uint64_t>> tags;
    for (const Part& part : parts) {
      if (!part.parent) continue;
      const Part& directory = parts[*part.parent];
      if (part.kind == PartKind::kDirectory) tags[part.key];
      if (part.kind != PartKind::kSlice) continue;
      if (directory.parent) tags[directory.key].push_back(std::stoull(part.key));
      if (directory.key == "entries" && !directory.parent) {
        entries[std::stoull(part.key)] = event.substr(part.extent.begin, part.extent.size);
      }
    }
    for (const Json& entry : sample["entries"]) {
      ASSERT_TRUE(entries.contains(entry["id"]));
      EXPECT_EQ(sha256(as_bytes(entries[entry["id"]])), entry["sha256"].get<std::string>());
    }
    for (const auto& [tag, ids] : sample["tags"].items()) {
      ASSERT_TRUE(tags.contains(tag)) << tag;
      for (const std::uint64_t id : tags[tag]) EXPECT_NE(std::ranges::find(ids, Json(id)), ids.end()) << tag;
    }
  }

  void compare_metadata(const ChunkInfo& bucket, const Json& expected) const {
    const auto attributes = container_->metadata()->attributes_at({}, bucket);
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->size(), expected.size());
    for (const Attribute& attribute : *attributes) {
      ASSERT_TRUE(expected.contains(attribute.key)) << attribute.key;
      const auto value = from_base64(expected[attribute.key]);
      if (value) {
        EXPECT_EQ(attribute.value, *value) << attribute.key;
      }
    }
  }

  Json want_;
  std::string bytes_;
  std::unique_ptr<Container> container_;
  Reading reading_;
};

TEST_P(Corpus, SampledEventsHaveTheExpectedPartsAndMetadata) {
  for (const Json& sample : want_["sample"]) {
    const ChunkInfo* bucket = bucket_at(sample["bucket_offset"]);
    if (bucket == nullptr && !reading_.damage.empty()) continue;
    ASSERT_NE(bucket, nullptr);
    if (sha256(as_bytes(reading_.events.at(sample["ordinal"]))) != sample["sha256"].get<std::string>())
      continue;  // damage has changed the ordinals
    compare_parts(sample);
    if (!sample.contains("metadata")) continue;
    compare_metadata(*bucket, sample["metadata"]);
  }
}

TEST_P(Corpus, LastMetadataAndDescriptorsMatchTheExpectation) {
  if (!container_ || reading_.buckets.empty()) return;
  const auto attributes = container_->metadata()->attributes({}, &reading_.buckets.back());
  ASSERT_TRUE(attributes);
  std::vector<std::string> keys, files;
  for (const Attribute& attribute : *attributes) {
    if (attribute.type.empty()) {
      keys.push_back(attribute.key);
      continue;
    }
    protobuf::MessageReader set(as_bytes(attribute.value), 10);
    while (set.next()) {
      protobuf::MessageReader file(set.content(), 10);
      while (file.next()) {
        if (file.field().is(1, protobuf::WireType::kLengthDelimited)) files.emplace_back(as_text(file.content()));
      }
    }
  }
  std::ranges::sort(files);
  std::vector<std::string> due_files = want_["file_descriptors"];
  std::ranges::sort(due_files);  // of several with one name, the newest one counts
  due_files.erase(std::unique(due_files.begin(), due_files.end()), due_files.end());
  EXPECT_EQ(files, due_files);
  std::vector<std::string> due_keys = want_["final_metadata_keys"];
  std::ranges::sort(due_keys);
  EXPECT_TRUE(std::ranges::includes(keys, due_keys));
  if (!kMoreThanTheLastEventSees.contains(GetParam())) {
    EXPECT_EQ(keys, due_keys);
  }
}

std::vector<std::string> sample_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(corpus_folder())) {
    if (file.path().extension() == ".proio") names.push_back(file.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Corpus, ::testing::ValuesIn(sample_names()), test_name);

}  // namespace
}  // namespace recordfs::proio
