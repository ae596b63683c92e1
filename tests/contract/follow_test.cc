// A growing file: each store continues from the previous one, and shows a prefix of the whole file's content.
#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "core/store/record_store.h"
#include "tests/contract/sample_test.h"
#include "tests/unit/support/signal.h"

namespace recordfs::contract {
namespace {

constexpr std::uint64_t kCache = 1 << 20;

class FollowTest : public SampleTest {
 protected:
  void SetUp() override {
    const auto container = open_sample();
    ASSERT_TRUE(container);
    const Reading whole = read_all(*container, bytes().size());
    for (const Mark& mark : whole.records) {
      due_.push_back(mark.hash);
      record_bytes_ += mark.size;
    }
    places_ = places(whole.walk, rounds(kCostOfASize * std::max<std::uint64_t>(bytes().size(), record_bytes_), 40));
  }

  // The sizes at which the file is opened: around the borders of its chunks, and the first ones. Of a packed file with
  // many records, each of which is decoded again, it is one in 60 of these. The whole file is last.
  std::vector<std::size_t> sizes() const {
    constexpr std::size_t kSmall = 600;
    const std::size_t step = record_bytes_ > kMuch ? 60 : 1;
    std::set<std::size_t> some(places_.begin(), places_.end());
    for (std::size_t size = 0; size <= std::min(bytes().size(), kSmall); size += step) some.insert(size);
    some.insert(bytes().size());
    return {some.begin(), some.end()};
  }

  // Opens the file as it was with `size` bytes; returns null if that is too little to recognize it.
  std::unique_ptr<RecordStore> at_size(std::size_t size, const RecordStore* shorter) {
    const std::string_view head = bytes().substr(0, size);
    auto container = open(head);
    if (!container) return nullptr;
    return std::make_unique<RecordStore>(sample().file_name, source_of(head), std::move(*container), services_,
                                         Catalog::Bounds{.anchors = 4, .chunks_per_anchor = 2, .cached_chunks = 8},
                                         FollowOptions{.is_followed = true, .shorter = shorter});
  }

  // Expects the record of the whole file, at the address that it had when it first appeared.
  void expect_right(const RecordStore& store, std::uint64_t ordinal) {
    const auto indexed = wait_for([&] { return store.index().find({}, SearchKey::kRecords, ordinal); });
    ASSERT_TRUE(indexed);
    const RecordRef ref{indexed->chunk, ordinal - indexed->before.records};
    const auto record = store.records().read({}, ref, 0, UINT64_MAX);
    ASSERT_TRUE(record) << to_string(record.error());
    ASSERT_EQ(std::hash<std::string_view>()(as_text(record->bytes)), due_[ordinal]);
    const auto address = store.records().address(ref.chunk, ref.index);
    ASSERT_TRUE(address);
    ASSERT_LT(*address, store.records().address_limit());
    if (ordinal == addresses_.size()) addresses_.push_back(*address);
    ASSERT_EQ(*address, addresses_[ordinal]);
  }

  // Expects a prefix of the whole file: checks the new records and one older record.
  void expect_beginning(const RecordStore& store, std::uint64_t records) {
    const std::uint64_t known = addresses_.size();
    ASSERT_LE(records, due_.size());
    ASSERT_GE(records, known);
    for (std::uint64_t i = known; i < records; ++i) ASSERT_NO_FATAL_FAILURE(expect_right(store, i)) << i;
    if (known > 0) expect_right(store, random_() % known);
  }

  StoreResources services_{kCache, 1, discard_log};
  static constexpr std::uint64_t kCostOfASize = 24;  // for one byte of the file, in bytes read
  static constexpr std::uint64_t kMuch = 1 << 20;    // bytes of records, which a small packed file may have

  std::vector<std::size_t> due_;  // the hash of each record
  std::uint64_t record_bytes_ = 0;
  std::vector<std::uint64_t> addresses_;  // of the records seen so far
  std::vector<Position> places_;
  std::mt19937_64 random_{5};
};

// Files of formats that are not written by appending are not followed.
std::vector<Sample> appended_containers() {
  std::vector<Sample> samples = undamaged_containers();
  std::erase_if(samples, [](const Sample& sample) {
    const auto bytes = sample.bytes();
    const auto container = sample.format->open({}, source_of(*bytes), Limits{});
    return container && !(*container)->traits().grows_by_appending;
  });
  return samples;
}

RECORDFS_FOR_EACH(appended_containers(), FollowTest);

std::string rows_of(const RecordStore& store) {
  const auto rows = wait_for([&] { return store.streams().read({}, recordfs::Stream::kChunkRows, 0, UINT64_MAX); });
  return rows ? std::string(as_text(rows->bytes)) : to_string(rows.error());
}

TEST_P(FollowTest, GrowingFileShowsCompleteRecordsAndNoDamage) {
  std::unique_ptr<RecordStore> store;
  for (const std::size_t size : sizes()) {
    auto next = at_size(size, store.get());
    if (!next) {
      ASSERT_TRUE(!store || store->index().state().totals.chunks == 0) << "refused at " << size << " bytes";
      continue;
    }
    const auto counts = wait_for([&] { return next->index().totals(ScanDetail::kCounts); });
    ASSERT_TRUE(counts) << to_string(counts.error());
    const auto damage = wait_for([&] { return next->index().damage(); });
    ASSERT_TRUE(damage);
    ASSERT_TRUE((*damage)->empty()) << size << " bytes: " << to_string((*damage)->front().region);
    ASSERT_NO_FATAL_FAILURE(expect_beginning(*next, counts->records)) << "at " << size << " bytes";
    store = std::move(next);
  }
  ASSERT_TRUE(store);
  EXPECT_EQ(addresses_.size(), due_.size());
  const RecordStore fresh(sample().file_name, source_of(bytes()), open_sample(), services_);
  EXPECT_EQ(rows_of(*store), rows_of(fresh));
}

}  // namespace
}  // namespace recordfs::contract
