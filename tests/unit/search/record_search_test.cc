#include "core/search/record_search.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/store/toy_store.h"

namespace recordfs {
namespace {

using testing::ToyStore;
using Indices = std::vector<std::uint64_t>;

// A store with one chunk, and what a search of it finds.
class Searched {
 public:
  explicit Searched(toy::Shape shape = {.chunks = 1, .records_per_chunk = 5}) : toy_(shape) {
    chunk_ = toy_.store->chunks().get({}, toy_.chunk(0)).value();
  }

  const std::string& record(std::size_t index) const { return toy_.file.records[index]; }

  SearchResult search(const std::string& pattern, Search wanted) const {
    const auto matcher = RecordMatcher::make({pattern}, {}).value();
    wanted.matcher = matcher.get();
    return search_chunk({}, *toy_.store, toy_.chunk(0), *chunk_, wanted);
  }
  Indices indices(const std::string& pattern, const Search& wanted) const {
    Indices found;
    for (const FoundRecord& record : search(pattern, wanted).records) found.push_back(record.index);
    return found;
  }

 private:
  ToyStore toy_;
  ChunkReader::Pointer chunk_;
};

TEST(RecordSearch, SelectsByTextAndByExpressionAlike) {
  const Searched searched{};
  const std::string word = searched.record(3).substr(0, 4);
  EXPECT_EQ(searched.indices(word, {}), searched.indices("[" + word.substr(0, 1) + "]" + word.substr(1), {}));
  EXPECT_EQ(searched.indices("nosuch", {}), Indices());
}

TEST(RecordSearch, TextAcrossTwoRecordsIsNotFound) {
  const Searched searched{};
  const std::string across = searched.record(1).substr(searched.record(1).size() - 3) + searched.record(2).substr(0, 3);
  EXPECT_EQ(searched.indices(across, {}), Indices());
}

TEST(RecordSearch, InvertedSelectsTheOthersAndEndsAtTheMost) {
  const Searched searched{};
  EXPECT_EQ(searched.indices("nosuch", {.is_inverted = true}), (Indices{0, 1, 2, 3, 4}));
  EXPECT_EQ(searched.indices("nosuch", {.is_inverted = true, .most = 2}), (Indices{0, 1}));
}

TEST(RecordSearch, SaysWhereRecordsMatch) {
  const Searched searched{};
  const auto found = searched.search(searched.record(2), {.wants_matches = true});
  ASSERT_EQ(found.records.size(), 1u);
  ASSERT_EQ(found.records[0].matches.size(), 1u);
  EXPECT_EQ(found.records[0].matches[0].begin, 0u);
  EXPECT_EQ(found.records[0].matches[0].size, searched.record(2).size());
}

TEST(RecordSearch, UnreadableRecordIsAFailureAndTheOthersAreSearched) {
  const Searched searched({.chunks = 1, .records_per_chunk = 5, .unreadable_records = {1}});
  const auto found = searched.search("nosuch", {.is_inverted = true});
  EXPECT_EQ(found.failures.size(), 1u);
  Indices indices;
  for (const FoundRecord& record : found.records) indices.push_back(record.index);
  EXPECT_EQ(indices, (Indices{0, 2, 3, 4}));
}

TEST(RecordSearch, TextsOfARecordTakeThePlaceOfItsBytes) {
  const Searched searched{};
  std::uint64_t calls = 0;
  const auto texts = [&calls](const ChunkInfo&, Bytes,
                              const std::function<void(std::string_view)>& take) -> Result<bool> {
    if (calls++ == 2) return Error{.code = Code::kDamage, .detail = "not decoded"};
    if (calls == 2) return false;
    take("first ");
    take("second");
    return true;
  };
  const auto found = searched.search("second", {.wants_matches = true, .texts_of = texts});
  ASSERT_EQ(found.records.size(), 3u);
  EXPECT_EQ(found.failures.size(), 1u);
  EXPECT_EQ(found.records[0].index, 0u);
  EXPECT_EQ(found.records[1].index, 3u);
  EXPECT_EQ(found.records[0].text, "second") << "only texts that match";
  calls = 0;
  const auto others = searched.search("third", {.is_inverted = true, .texts_of = texts});
  ASSERT_EQ(others.records.size(), 3u);
  EXPECT_EQ(others.records[1].index, 3u) << "the one that was not searched is left out too";
}

TEST(RecordSearch, SelectsAmongTheWantedRecordsOfAChunk) {
  const Searched searched{};
  const std::string second = searched.record(2);
  Indices asked;
  Search wanted{.selects = [&](const ChunkInfo&, Bytes record) -> Result<bool> {
    asked.push_back(record.size());
    if (as_text(record) == second) return Error{.code = Code::kLimit, .detail = "too large"};
    return true;
  }};
  wanted.indices = {.begin = 1, .end = 4};
  const auto found = searched.search("", wanted);
  EXPECT_EQ(asked.size(), 3u);
  ASSERT_EQ(found.records.size(), 2u);
  EXPECT_EQ(found.records[1].index, 3u);
  EXPECT_EQ(found.failures.size(), 1u);
}

}  // namespace
}  // namespace recordfs
