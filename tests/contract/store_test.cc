// The store over each container: its additions (ordinals, addresses, streams, caches, concurrent readers) change no
// byte.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "core/store/record_store.h"
#include "tests/contract/sample_test.h"
#include "tests/unit/support/waited.h"

namespace recordfs::contract {
namespace {

constexpr std::uint64_t kRoomyCache = 64 << 20;
constexpr std::uint64_t kTinyCache = 4096;  // too small to keep anything useful
constexpr std::uint64_t kMostRecords = 600;

// The store may have more information about a chunk than its header, so only the range counts.
bool same_place(const ChunkInfo& a, const ChunkInfo& b) { return a.begin == b.begin && a.end == b.end; }

using testing::waited;

class StoreTest : public SampleTest {
 protected:
  void SetUp() override {
    auto container = open(bytes());
    if (!container) GTEST_SKIP() << "refused, as a damaged file may be";
    whole_ = read_all(**container, bytes().size());
    for (const Mark& mark : whole_.records) marks_[{mark.chunk_begin, mark.index}] = mark;
  }

  std::unique_ptr<RecordStore> make_store(StoreResources& services) const {
    return std::make_unique<RecordStore>(sample().file_name, source_of(bytes()), std::move(*open(bytes())), services,
                                         Catalog::Bounds{.anchors = 4, .chunks_per_anchor = 2, .cached_chunks = 8});
  }

  // Returns the ordinals of some records in order, or of all if they are few.
  static std::vector<std::uint64_t> some_ordinals(std::uint64_t records) {
    std::vector<std::uint64_t> some;
    for (std::uint64_t i = 0; i < std::min(records, kMostRecords); ++i) some.push_back(i);
    std::mt19937_64 random(records);
    for (std::uint64_t& ordinal : some) {
      if (records > kMostRecords) ordinal = random() % records;
    }
    std::ranges::sort(some);
    return some;
  }

  static Result<RecordRef> find(RecordStore& store, std::uint64_t ordinal) {
    ASSIGN_OR_RETURN(const auto indexed, waited([&] { return store.index().find({}, SearchKey::kRecords, ordinal); }));
    return RecordRef{indexed.chunk, ordinal - indexed.before.records};
  }

  // Expects the record that the sequential pass found at this address, or a failure if it was unreadable there.
  void expect_right(const RecordStore& store, const RecordRef& ref) const {
    const auto size = store.records().size({}, ref);
    ASSERT_TRUE(size) << to_string(size.error());
    const auto due = marks_.find({ref.chunk.begin, ref.index});
    const auto slice = store.records().read({}, ref, 0, *size);
    ASSERT_EQ(slice.has_value(), due != marks_.end()) << to_string(ref.chunk) << ", record " << ref.index;
    if (!slice) {
      EXPECT_GE(*size, 1u) << "an empty file is never read, so its damage is never seen";
      return;
    }
    EXPECT_EQ(*size, due->second.size);
    EXPECT_EQ(std::hash<std::string_view>()(as_text(slice->bytes)), due->second.hash);
  }

  Reading whole_;
  std::map<std::pair<Position, std::uint64_t>, Mark> marks_;
};

RECORDFS_FOR_EACH(containers(), StoreTest);

TEST_P(StoreTest, OrdinalsCoverAllRecordsOfTheSequentialRead) {
  StoreResources services(kRoomyCache, 1, discard_log);
  const auto store = make_store(services);
  const auto counts = waited([&] { return store->index().totals(ScanDetail::kCounts); });
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->chunks, whole_.walk.chunks().size());
  EXPECT_GE(counts->records, whole_.records.size());
  if (whole_.refused.empty()) {
    EXPECT_EQ(counts->records, whole_.records.size() + whole_.failures.size());
  }
  EXPECT_EQ(find(*store, counts->records).error().code, Code::kNotFound);
}

TEST_P(StoreTest, DamageRowsDoNotOverlap) {
  StoreResources services(kRoomyCache, 1, discard_log);
  const auto store = make_store(services);
  const auto damage = waited([&] { return store->index().damage(); });
  ASSERT_TRUE(damage);
  std::vector<DamagedRegion> regions;
  for (const DamageRow& row : **damage) regions.push_back(row.region);
  std::ranges::sort(regions, {}, &DamagedRegion::begin);
  for (std::size_t i = 1; i < regions.size(); ++i) {
    EXPECT_LE(regions[i - 1].end, regions[i].begin) << to_string(regions[i - 1]) << "; " << to_string(regions[i]);
  }
}

TEST_P(StoreTest, RecordReadByOrdinalEqualsSequentialRead) {
  for (const std::uint64_t cache : {kRoomyCache, kTinyCache}) {
    StoreResources services(cache, 1, discard_log);
    const auto store = make_store(services);
    const auto counts = waited([&] { return store->index().totals(ScanDetail::kCounts); });
    ASSERT_TRUE(counts);
    for (const std::uint64_t ordinal : some_ordinals(counts->records)) {
      const auto ref = find(*store, ordinal);
      ASSERT_TRUE(ref) << ordinal;
      expect_right(*store, *ref);
    }
  }
}

TEST_P(StoreTest, AddressOfARecordFindsTheSameRecord) {
  StoreResources services(kRoomyCache, 1, discard_log);
  const auto store = make_store(services);
  std::uint64_t before = 0;
  for (const ChunkInfo& chunk : whole_.walk.chunks()) {
    const auto records = store->chunks().records_in({}, chunk);
    if (!records || *records == 0) continue;
    for (const std::uint64_t index : {std::uint64_t{0}, *records / 2, *records - 1}) {
      const auto address = store->records().address(chunk, index);
      ASSERT_TRUE(address);
      EXPECT_LT(*address, store->records().address_limit());
      if (whole_.walk.in_file_order) {
        EXPECT_GE(*address, before);
      }
      before = *address;
      const auto ref = waited([&] { return store->records().record_at({}, *address); });
      ASSERT_TRUE(ref) << to_string(chunk) << ", record " << index;
      EXPECT_EQ(ref->chunk.begin, chunk.begin);
      EXPECT_EQ(ref->index, index);
    }
  }
}

TEST_P(StoreTest, ChunkIsFoundByItsBeginAndByAnyOfItsBytes) {
  StoreResources services(kRoomyCache, 1, discard_log);
  const auto store = make_store(services);
  for (const ChunkInfo& chunk : whole_.walk.chunks()) {
    const auto found = waited([&] { return store->index().chunk_at({}, chunk.begin); });
    ASSERT_TRUE(found);
    EXPECT_TRUE(same_place(*found, chunk)) << to_string(*found) << " for " << to_string(chunk);
    const auto covering = waited([&] { return store->index().chunk_covering({}, chunk.end - 1); });
    ASSERT_TRUE(covering);
    EXPECT_TRUE(same_place(*covering, chunk)) << to_string(*covering) << " for " << to_string(chunk);
    if (chunk.end - chunk.begin == 1) continue;
    EXPECT_FALSE(waited([&] { return store->index().chunk_at({}, chunk.begin + 1); }));
  }
}

TEST_P(StoreTest, EightConcurrentReadersReadCorrectRecords) {
  StoreResources services(kTinyCache * 64, 2, discard_log);
  const auto store = make_store(services);
  const auto read_some = [&](std::uint64_t seed) {
    const auto counts = waited([&] { return store->index().totals(ScanDetail::kCounts); });
    ASSERT_TRUE(counts);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 40 && counts->records > 0; ++i) {
      const auto ref = find(*store, random() % counts->records);
      ASSERT_TRUE(ref);
      expect_right(*store, *ref);
    }
  };
  std::vector<std::jthread> readers;
  for (std::uint64_t seed = 0; seed < 8; ++seed) readers.emplace_back(read_some, seed);
}

TEST_P(StoreTest, StreamIsTheConcatenationOfAllRecords) {
  if (sample().want.damaged) return;
  StoreResources services(kRoomyCache, 1, discard_log);
  const auto store = make_store(services);
  std::string lines;
  read_all(**open(bytes()), bytes().size(), [&](std::uint64_t, Bytes record) { (lines += as_text(record)) += '\n'; });
  const auto size = waited([&] { return store->streams().size(recordfs::Stream::kLines); });
  ASSERT_TRUE(size);
  ASSERT_EQ(*size, lines.size());
  std::mt19937_64 random(7);
  for (int i = 0; i < 30; ++i) {
    const std::uint64_t offset = random() % (lines.size() + 1);
    const auto slice = waited([&] { return store->streams().read({}, recordfs::Stream::kLines, offset, 5000); });
    ASSERT_TRUE(slice) << to_string(slice.error());
    EXPECT_EQ(as_text(slice->bytes), std::string_view(lines).substr(offset, 5000)) << "from " << offset;
  }
}

}  // namespace
}  // namespace recordfs::contract
