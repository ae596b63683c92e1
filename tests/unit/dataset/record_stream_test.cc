// Records of a data set of toy files, in order and by their ordinals.
#include "core/dataset/record_stream.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/dataset/ordered_pass.h"
#include "core/dataset/picked_records.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

constexpr std::chrono::milliseconds kPatience{60000};

// A set of toy files, whose records are known.
struct Toys {
  explicit Toys(const std::vector<toy::Shape>& shapes, std::uint64_t cache_bytes = 64u << 20)
      : services(cache_bytes, 2, lines.log()) {
    for (const toy::Shape& shape : shapes) {
      const std::string path = "shard-" + std::to_string(files.size());
      toy::File file = toy::make_file(shape);
      records.insert(records.end(), file.records.begin(), file.records.end());
      files[path] = std::move(file.bytes);
      list.shards.push_back({path});
    }
  }

  DataSet& set() {
    if (!made) made = std::make_unique<DataSet>(list, opener());
    return *made;
  }

  OpenShard opener() {
    return
        [this](const RequestContext&, std::size_t, const Shard& shard) -> Result<std::shared_ptr<const RecordStore>> {
          if (shard.is_missing) return Error{.code = Code::kDamage, .detail = "missing"};
          const std::shared_ptr<const Source> source = source_of(files.at(shard.path));
          auto container = toy::open(source, Limits{}, std::make_shared<toy::Watch>());
          if (!container) return std::move(container).error();
          return std::shared_ptr<const RecordStore>(
              std::make_shared<RecordStore>(shard.path, source, std::move(*container), services));
        };
  }

  // Returns the records of a stream; "!" and the reason for each problem.
  std::vector<std::string> read(RecordStream::Options options) {
    RecordStream stream(set(), std::move(options));
    std::vector<std::string> found;
    RecordBlock block;
    while (stream.next(block, kPatience) == RecordStream::Next::kBlock) {
      std::size_t problem = 0;
      for (std::size_t i = 0; i <= block.records.size(); ++i) {
        for (; problem < block.problems.size() && block.problems[problem].before == i; ++problem) {
          found.push_back("!" + block.problems[problem].error.detail);
        }
        if (i < block.records.size()) found.emplace_back(as_text(block.records[i]));
      }
    }
    return found;
  }

  std::vector<std::string> between(std::size_t begin, std::size_t end) const {
    return {records.begin() + static_cast<std::ptrdiff_t>(begin), records.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  Lines lines;
  StoreResources services;
  std::function<std::shared_ptr<const Source>(const std::string& bytes)> source_of = [](const std::string& bytes) {
    return std::make_shared<ChangeableSource>(bytes);
  };
  std::map<std::string, std::string> files;
  ShardList list;
  std::vector<std::string> records;
  std::unique_ptr<DataSet> made;
};

const std::vector<toy::Shape> kThreeShards{{.chunks = 20, .records_per_chunk = 7},
                                           {.chunks = 1, .records_per_chunk = 1},
                                           {.chunks = 9, .records_per_chunk = 3}};

TEST(RecordStreamTest, TextsAreSearchedInsteadOfRecords) {
  Toys toys(kThreeShards);
  auto matcher = RecordMatcher::make({"text of shard 1"}, {});
  ASSERT_TRUE(matcher);
  RecordStream::Options options{.matcher = std::move(*matcher)};
  options.texts_of = [](std::size_t shard, const std::shared_ptr<const RecordStore>& store) -> TextsOfRecord {
    EXPECT_NE(store, nullptr);
    return [shard](const ChunkInfo&, Bytes, const std::function<void(std::string_view)>& take) -> Result<bool> {
      if (shard == 0) return true;
      take("another text");
      take("the text of shard " + std::to_string(shard));
      return true;
    };
  };
  EXPECT_EQ(toys.read(options), toys.between(140, 141));
  options.is_inverted = true;
  std::vector<std::string> others = toys.between(0, 140);
  const auto rest = toys.between(141, toys.records.size());
  others.insert(others.end(), rest.begin(), rest.end());
  EXPECT_EQ(toys.read(options), others);
  options.ordinals = {.begin = 139, .end = 143};
  EXPECT_EQ(toys.read(options), (std::vector{toys.records[139], toys.records[141], toys.records[142]}));
}

TEST(RecordStreamTest, DamageAtTheEndIsAProblemOfRangesThatGoBeyondTheLastRecord) {
  Toys toys(kThreeShards);
  toys.files["shard-2"].resize(toys.files["shard-2"].size() - 1);
  const std::uint64_t records = toys.records.size() - 3;  // the last chunk is incomplete
  for (const OrdinalInterval span : {OrdinalInterval{records - 1, UINT64_MAX}, OrdinalInterval{records, UINT64_MAX},
                                     OrdinalInterval{records, records + 1}, OrdinalInterval{records + 2, records + 9},
                                     OrdinalInterval{records + 100, UINT64_MAX}}) {
    const auto found = toys.read({.ordinals = span});
    ASSERT_EQ(found.size(), span.begin < records ? 2 : 1) << span.begin;
    EXPECT_TRUE(found.back().starts_with('!')) << span.begin;
  }
  for (const OrdinalInterval span : {OrdinalInterval{records - 1, records}, OrdinalInterval{records, records},
                                     OrdinalInterval{records + 9, records + 9}}) {
    EXPECT_EQ(toys.read({.ordinals = span}), toys.between(std::min(span.begin, records), std::min(span.end, records)));
  }
}

TEST(RecordStreamTest, DamagedShardCostsRecordsOfItsOwnOnly) {
  const std::vector<toy::Shape> shapes{{.chunks = 2}, {.chunks = 4}, {.chunks = 3}};
  const Toys intact(shapes);
  const std::string& whole = intact.files.at("shard-1");
  const std::size_t before = 2 * 3;
  const std::size_t after = 3 * 3;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Toys toys(shapes);
    toys.files["shard-1"][at] = static_cast<char>(whole[at] ^ 0x10);
    const auto found = toys.read({});
    ASSERT_GE(found.size(), before + after) << at;
    for (std::size_t i = 0; i < before; ++i) ASSERT_EQ(found[i], intact.records[i]) << at;
    for (std::size_t i = 1; i <= after; ++i) {
      ASSERT_EQ(found[found.size() - i], intact.records[intact.records.size() - i]) << at;
    }
    const bool is_reported = std::ranges::any_of(found, [](const std::string& one) { return one.starts_with('!'); });
    EXPECT_TRUE(found.size() >= intact.records.size() || is_reported) << at;
  }
}

TEST(RecordStreamTest, SearchNamesTheOrdinals) {
  Toys toys(kThreeShards);
  const std::string wanted = toys.records[150];
  auto matcher = RecordMatcher::make({wanted}, {.is_literal = true});
  ASSERT_TRUE(matcher);
  RecordStream stream(toys.set(), {.matcher = std::shared_ptr<const RecordMatcher>(std::move(*matcher))});
  RecordBlock block;
  std::vector<std::uint64_t> ordinals;
  while (stream.next(block, kPatience) == RecordStream::Next::kBlock) {
    ordinals.insert(ordinals.end(), block.ordinals.begin(), block.ordinals.end());
  }
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < toys.records.size(); ++i) {
    if (toys.records[i].find(wanted) != std::string::npos) expected.push_back(i);
  }
  EXPECT_EQ(ordinals, expected);
}

TEST(RecordStreamTest, FailuresOfASearchAreAtTheirPlaces) {
  Toys toys({{.chunks = 3, .records_per_chunk = 4, .unreadable_records = {2, 5}}});
  RecordStream::Options options;
  options.selects = [](std::size_t, const std::shared_ptr<const RecordStore>&) -> SelectRecord {
    return [](const ChunkInfo&, Bytes) -> Result<bool> { return true; };
  };
  EXPECT_EQ(toys.read(options), toys.read({}));
  options.ordinals = {.begin = 1, .end = 7};
  EXPECT_EQ(toys.read(options), toys.read({.ordinals = options.ordinals}));
}

// A source of which two reads fail, by their numbers from 0.
class FailingSource final : public Source {
 public:
  FailingSource(const std::string& bytes, std::size_t first, std::size_t last)
      : bytes_(bytes), first_(first), last_(last) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    const std::size_t number = reads_++;
    if (number == first_ || number == last_) return bad_sector();
    return bytes_.read_at(context, at, out);
  }

 private:
  const ChangeableSource bytes_;
  const std::size_t first_, last_;
  mutable std::atomic<std::size_t> reads_{0};
};

// A chunk that is read in place is read several times for a search: as a whole for the block and for the search, and a
// record at a time if that fails.
TEST(RecordStreamTest, ReadsThatFailDuringASearchAreReported) {
  constexpr std::size_t kReads = 20;
  std::size_t complete = 0;
  for (std::size_t first = 0; first < kReads; ++first) {
    for (std::size_t last = first; last < kReads; ++last) {
      Toys toys({{.chunks = 1, .records_per_chunk = 4, .by_parts = true}}, 0);
      toys.source_of = [&](const std::string& bytes) { return std::make_shared<FailingSource>(bytes, first, last); };
      RecordStream::Options options;
      options.selects = [](std::size_t, const std::shared_ptr<const RecordStore>&) -> SelectRecord {
        return [](const ChunkInfo&, Bytes) -> Result<bool> { return true; };
      };
      const auto found = toys.read(options);
      const bool is_reported = std::ranges::any_of(found, [](const std::string& one) { return one.starts_with('!'); });
      EXPECT_TRUE(found == toys.records || is_reported) << first << ", " << last;
      complete += found == toys.records ? 1 : 0;
    }
  }
  EXPECT_GT(complete, 0u) << "no file has so many reads";
}

TEST(RecordStreamTest, ReadsNoFurtherAheadThanItsMemory) {
  Toys toys({{.chunks = 2000, .records_per_chunk = 7}});
  RecordStream stream(toys.set(), {.memory = 1});
  RecordBlock block;
  EXPECT_EQ(stream.next(block, kPatience), RecordStream::Next::kBlock);
  // Destroyed while its thread waits for room.
}

TEST(OrderedPassTest, EachShardHasItsOwnOrdinals) {
  Toys toys(kThreeShards);
  std::vector<std::tuple<std::size_t, std::uint64_t, std::uint64_t, std::uint64_t>> seen;
  const std::uint64_t records[] = {140, 1, 27};
  const auto read = [&](std::size_t shard, std::uint64_t base,
                        const OrdinalInterval& wanted) -> std::optional<std::uint64_t> {
    seen.emplace_back(shard, base, wanted.begin, wanted.end);
    return records[shard];
  };
  EXPECT_EQ(each_shard(toys.set(), {.begin = 130, .end = 145}, {.shard = 0, .ordinal = 130}, read), 168u);
  EXPECT_EQ(seen, (decltype(seen){{0, 0, 130, 145}, {1, 140, 0, 5}, {2, 141, 0, 4}}));
  seen.clear();
  EXPECT_EQ(each_shard(toys.set(), {.begin = 140}, {.shard = 1, .ordinal = 0}, read), 168u);
  EXPECT_EQ(seen, (decltype(seen){{1, 140, 0, UINT64_MAX}, {2, 141, 0, UINT64_MAX}}));
  const auto stop = [](std::size_t, std::uint64_t, const OrdinalInterval&) { return std::optional<std::uint64_t>(); };
  EXPECT_EQ(each_shard(toys.set(), {}, {}, stop), std::nullopt);
}

TEST(OrderedPassTest, ResultThatNeedsNoMoreStopsIt) {
  Toys toys(kThreeShards);
  const auto store = toys.set().open({}, 0);
  ASSERT_TRUE(store);
  std::uint64_t chunks = 0;
  const auto count = [&](const RequestContext&, const ScannedStep& step) -> OrderedResult {
    return [&chunks, has_chunk = step.indexed.has_value()] { return (chunks += has_chunk ? 1 : 0) < 3; };
  };
  const auto end = read_part({.store = **store}, {.threads = 2}, count);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->was_stopped);
  EXPECT_EQ(chunks, 3u);
}

TEST(OrderedPassTest, SmallFileIsReadByOneThread) {
  Toys toys(kThreeShards);
  const auto store = toys.set().open({}, 0);
  ASSERT_TRUE(store);
  const auto here = [own = std::this_thread::get_id()](const RequestContext&, const ScannedStep&) -> OrderedResult {
    EXPECT_EQ(std::this_thread::get_id(), own);
    return {};
  };
  EXPECT_TRUE(read_part({.store = **store}, {.threads = 8}, here));
}

TEST(PickedRecordsTest, AreInTheGivenOrder) {
  Toys toys(kThreeShards);
  Executor executor(2);
  std::vector<std::uint64_t> ordinals{167, 0, 140, 139, 3, 3, 20};
  const auto picked = pick_records({}, toys.set(), executor, ordinals, 1u << 20);
  ASSERT_FALSE(picked.stop);
  ASSERT_EQ(picked.records.size(), ordinals.size());
  EXPECT_TRUE(picked.failures.empty());
  for (std::size_t i = 0; i < ordinals.size(); ++i) {
    EXPECT_EQ(as_text(picked.records[i]), toys.records[static_cast<std::size_t>(ordinals[i])]);
  }
}

TEST(PickedRecordsTest, AreFewerIfTheyAreLarge) {
  Toys toys(kThreeShards);
  Executor executor(0);
  std::vector<std::uint64_t> ordinals(100);
  for (std::size_t i = 0; i < ordinals.size(); ++i) ordinals[i] = 99 - i;
  const auto picked = pick_records({}, toys.set(), executor, ordinals, toys.records[99].size() * 10);
  ASSERT_FALSE(picked.stop);
  EXPECT_GE(picked.records.size(), 1u);
  EXPECT_LT(picked.records.size(), 50u);
  for (std::size_t i = 0; i < picked.records.size(); ++i) EXPECT_EQ(as_text(picked.records[i]), toys.records[99 - i]);
}

TEST(PickedRecordsTest, CancelledCallFailsAndTheNextOneSucceeds) {
  Toys toys(kThreeShards);
  Executor executor(2);
  const std::vector<std::uint64_t> ordinals{160, 3};
  const std::atomic<bool> cancelled{true};
  const auto refused = pick_records(RequestContext(cancelled), toys.set(), executor, ordinals, 1 << 20);
  ASSERT_TRUE(refused.stop);
  EXPECT_EQ(refused.stop->why.code, Code::kInterrupted);
  const auto picked = pick_records({}, toys.set(), executor, ordinals, 1 << 20);
  ASSERT_FALSE(picked.stop);
  EXPECT_EQ(as_text(picked.records[0]), toys.records[160]);
  EXPECT_EQ(as_text(picked.records[1]), toys.records[3]);
}

TEST(PickedRecordsTest, StopsAtARecordThatDoesNotExist) {
  Toys toys(kThreeShards);
  Executor executor(0);
  const auto picked = pick_records({}, toys.set(), executor, std::vector<std::uint64_t>{1, 168, 2}, 1u << 20);
  ASSERT_TRUE(picked.stop);
  EXPECT_EQ(picked.stop->why.code, Code::kNotFound);
  EXPECT_EQ(picked.stop->ordinal, 168u);
  ASSERT_EQ(picked.records.size(), 1u);
  EXPECT_EQ(as_text(picked.records[0]), toys.records[1]);
}

}  // namespace
}  // namespace recordfs::testing
