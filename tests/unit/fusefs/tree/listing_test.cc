#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;

TEST(Listing, RootShowsEachRecordOnceAndHidesTheViewsAndTheirLinks) {
  ToyStore toy({.trailer = "end"});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.names(""), (Names{"info.json", "records", "metadata", "trailer"}));
  const Names views = {"chunks", "thousands", "index", "damage", "streams"};
  EXPECT_EQ(tree.names(".views"), views);
  for (const std::string& view : views) EXPECT_EQ(tree.target(view), ".views/" + view);
}

TEST(Listing, RecordsAreInOrderWithTheirSizes) {
  ToyStore toy({.chunks = 5});
  const ToyTree tree(toy);
  const Listing records = tree.list(tree.find("records").value());
  ASSERT_EQ(records.size(), 15u);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(records[i].first, record_name(i));
    EXPECT_EQ(records[i].second.size, toy.file.records[i].size());
  }
}

TEST(Listing, SizesThatRequireTheDecodeOfALargeChunkAreOmitted) {
  for (const std::uint64_t size : {100u, 40'000u}) {
    ToyStore toy({.chunks = 5, .record_size = [size](std::uint64_t) { return size; }, .small_layout = false});
    const ToyTree tree(toy);
    const bool is_small = size == 100;
    for (const auto& [name, entry] : tree.list(tree.find("records").value())) {
      EXPECT_EQ(entry.size, is_small ? std::optional(size) : std::nullopt) << name;
    }
    EXPECT_EQ(toy.watch->decodes, is_small ? 5u : 0u);
  }
}

TEST(Listing, ThousandsDirectoriesHoldAThousandRecordsEach) {
  ToyStore toy({.chunks = 701, .records_per_chunk = 3});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.names(".views/thousands"), (Names{"000000", "000001", "000002"}));
  const Names second = tree.names(".views/thousands/000001");
  ASSERT_EQ(second.size(), 1000u);
  EXPECT_EQ(second.front(), "000001000");
  EXPECT_EQ(second.back(), "000001999");
  EXPECT_EQ(tree.names(".views/thousands/000002").size(), 103u);
}

TEST(Listing, WaitsOnlyUntilTheCatalogHasReachedIt) {
  Gate gate;  // outlives the scan
  ToyStore toy({.chunks = 6});
  toy.watch->on_scan = [&](Position begin) { gate.pass(begin); };
  gate.close_from(toy.file.begins[3]);
  const ToyTree tree(toy);
  const std::uint64_t records = tree.find("records").value();
  EXPECT_EQ(tree.list(records, 0, 9).size(), 9u);
  gate.wait_until_held();
  const auto emit = [](const MountEntry&) { return true; };
  EXPECT_TRUE(tree->subtree(records).list({}, records, 5, emit));
  const auto listed = tree->subtree(records).list({}, records, 9, emit);
  ASSERT_EQ(listed.error().code, Code::kPending);
  EXPECT_EQ(listed.error().wait->value, 9u);
  gate.open();
  EXPECT_EQ(tree.list(records).size(), 18u);
}

TEST(Listing, FailureEndsTheListingAndIsReturnedByTheNextCall) {
  ToyStore toy({.chunks = 6}, {.anchors = 4, .chunks_per_anchor = 2, .cached_chunks = 1});
  const ToyTree tree(toy);
  ASSERT_TRUE(waited([&] { return toy.store->index().totals(ScanDetail::kCounts); }));
  const std::uint64_t chunks = tree.find(".views/chunks").value();
  std::size_t seen = 0;
  const auto failing_after_first = [&](const MountEntry&) {
    toy.source->fail(1000, bad_sector());
    ++seen;
    return true;
  };
  EXPECT_TRUE(tree->subtree(chunks).list({}, chunks, 0, failing_after_first));
  ASSERT_EQ(seen, 2u);
  EXPECT_EQ(tree->subtree(chunks).list({}, chunks, seen, failing_after_first).error().code, Code::kIo);
  toy.source->fail(0, {});
  EXPECT_EQ(tree.list(chunks).size(), 6u);
}

// Whether the listing of records/ includes the size of the record at each place.
std::vector<bool> sizes_given(std::uint64_t chunks, const std::vector<std::uint64_t>& places) {
  ToyStore toy({.chunks = chunks, .records_per_chunk = 1000, .record_size = [](std::uint64_t) { return 1u; }});
  const ToyTree tree(toy);
  EXPECT_TRUE(tree.exists("records/" + std::to_string(chunks * 1000 - 1)));  // so that all are known
  std::vector<bool> given;
  for (const std::uint64_t place : places) {
    given.push_back(tree.list(tree.find("records").value(), place, 1).front().second.size.has_value());
  }
  return given;
}

TEST(Listing, ListingOfAMillionRecordsHasAllSizes) {
  EXPECT_EQ(sizes_given(1000, {0, 250'000, 999'999}), (std::vector<bool>{true, true, true}));
}

TEST(Listing, ListingOfMoreRecordsHasSizesOfTheFirstOnesOnly) {
  EXPECT_EQ(sizes_given(1001, {0, 249'999, 250'000, 1'000'999}), (std::vector<bool>{true, true, false, false}));
}

}  // namespace
}  // namespace recordfs::testing
