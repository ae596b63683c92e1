// Out of memory at each allocation of what reads a database directory or a data set, as in out_of_memory_kept_test.cc.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/database/database.h"
#include "core/dataset/data_set.h"
#include "core/dataset/picked_records.h"
#include "tests/contract/each_allocation.h"
#include "tests/toy/toy_format.h"

namespace recordfs::contract {
namespace {

// A database, all of which is read: keys, values and versions.
class AskedDatabase {
 public:
  explicit AskedDatabase(const std::string& folder) {
    auto opened = answered([&] { return database::Database::open({}, folder); });
    if (!opened) throw NotEnough();
    database_ = std::move(*opened);
  }

  std::string ask() {
    Told told;
    for (const database::Family& family : database_->families()) {
      const auto keys = database_->keys(family.id, {});
      for (;;) {
        const auto next = answered([&] { return keys->next({}); });
        if (!next) told.add(next, [](bool) { return ""; });
        if (!next || !*next) break;
        told.add(as_text(keys->key()));
        told.add(answered([&] { return keys->value({}); }), text_of);
        told.add(answered([&] { return database_->get({}, family.id, keys->key()); }),
                 [](const database::VersionedValue& found) { return text_of(found.value); });
        told.add(answered([&] { return database_->history({}, family.id, keys->key()); }),
                 [](const auto& versions) { return std::to_string(versions.size()); });
      }
    }
    const FailingAllocations::Pause pause;
    told.add(std::to_string(database_->problems().size()));
    return told.take();
  }

 private:
  static std::string text_of(const Slice& slice) { return std::string(as_text(slice.bytes)); }

  std::unique_ptr<const database::Database> database_;
};

class OutOfMemoryDatabase : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Samples, OutOfMemoryDatabase,
                         ::testing::Values("leveldb-log-only", "rocksdb7-range-deletions", "rocksdb7-blobs"),
                         [](const auto& sample) {
                           std::string name = sample.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

TEST_P(OutOfMemoryDatabase, FailedRequestIsFollowedByACorrectOne) {
  const std::string folder = "tests/corpus/database/" + GetParam();
  EachAllocation<AskedDatabase>::fails([&] { return std::make_unique<AskedDatabase>(folder); }, [] {});
}

// A data set of toy files, of which the second one is damaged and the third one is missing.
class AskedSet {
 public:
  AskedSet() : services_(1 << 20, 1, [](Severity, const std::string&) {}) {
    ShardList list;
    for (const char* name : {"one", "two", "three", "four"}) list.shards.push_back({name});
    list.shards[2].is_missing = true;
    const auto open = [this](const RequestContext&, std::size_t number,
                             const Shard& shard) -> Result<std::shared_ptr<const RecordStore>> {
      const auto& source = number == 1 ? damaged() : intact();
      ASSIGN_OR_RETURN(auto container, toy::open(source, Limits{}));
      return std::shared_ptr<const RecordStore>(
          std::make_shared<RecordStore>(shard.path, source, std::move(container), services_));
    };
    set_ = std::make_unique<DataSet>(std::move(list), open, DataSet::Bounds{.open_shards = 2, .threads = 2});
  }

  std::string ask() {
    Told told;
    told.add(answered([&] { return set_->totals(); }), [](const DataSetTotals& totals) {
      return std::to_string(totals.records) + " " + std::to_string(totals.damaged_regions) + " " +
             std::to_string(totals.unopened);
    });
    for (const std::uint64_t ordinal : {0u, 9u, 13u, 25u, 1000u}) {
      told.add(answered([&] { return place_record({}, *set_, ordinal); }), [](const PlacedRecord& placed) {
        return std::to_string(placed.shard) + " " + std::to_string(placed.index);
      });
    }
    return told.take();
  }

 private:
  static const std::shared_ptr<const Source>& intact() {
    static const auto source = toy::source_of(toy::make_file({.chunks = 4, .counts_in_header = false}).bytes);
    return source;
  }
  static const std::shared_ptr<const Source>& damaged() {
    static const auto source =
        toy::source_of(toy::make_file({.chunks = 4, .counts_in_header = false, .broken_headers = {2}}).bytes);
    return source;
  }

  StoreResources services_;
  std::unique_ptr<DataSet> set_;
};

TEST(OutOfMemoryDataSet, FailedRequestIsFollowedByACorrectOne) {
  EachAllocation<AskedSet>::fails([] { return std::make_unique<AskedSet>(); }, [] {});
}

}  // namespace
}  // namespace recordfs::contract
