// Where records and chunks are, in containers whose traits are not the usual ones.
#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/store/record_store.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

// A toy container with other traits.
class WithTraits final : public ForwardingContainer {
 public:
  WithTraits(std::unique_ptr<Container> toy, const std::function<void(ContainerTraits&)>& change)
      : ForwardingContainer(std::move(toy)), traits_(below().traits()) {
    change(traits_);
  }
  const ContainerTraits& traits() const override { return traits_; }

 private:
  ContainerTraits traits_;
};

// A toy container whose seek structure has the chunks with an even number.
class WithLocatedRecords final : public ForwardingContainer {
 public:
  WithLocatedRecords(std::unique_ptr<Container> toy, std::vector<Position> begins)
      : ForwardingContainer(std::move(toy)), begins_(std::move(begins)) {}

  Result<std::optional<LocatedRecord>> locate_record(const RequestContext& context,
                                                     std::uint64_t ordinal) const override {
    const std::uint64_t number = ordinal / 3;
    if (number % 2 != 0 || number >= begins_.size()) return std::optional<LocatedRecord>{};
    ASSIGN_OR_RETURN(const auto step, below().scan(context, {begins_[static_cast<std::size_t>(number)], 0}));
    return std::optional(LocatedRecord{*step.chunk, 3 * number});
  }

 private:
  const std::vector<Position> begins_;
};

TEST(RecordStore, RecordsThatTheSeekStructureHasAreFoundWithoutAScan) {
  const toy::File file = toy::make_file({.chunks = 100});
  const auto source = std::make_shared<ChangeableSource>(file.bytes);
  Lines lines;
  StoreResources services(1 << 20, 2, lines.log());
  const auto watch = std::make_shared<toy::Watch>();
  const RecordStore store("toy", source,
                          std::make_unique<WithLocatedRecords>(toy::open(source, Limits{}, watch).value(), file.begins),
                          services, {});
  for (const std::uint64_t ordinal : {0u, 2u, 120u, 296u}) {
    const auto found = store.index().find({}, SearchKey::kRecords, ordinal);
    ASSERT_TRUE(found) << ordinal;
    EXPECT_EQ(found->chunk.begin, file.begins[ordinal / 3]);
    EXPECT_EQ(found->before.records, ordinal / 3 * 3);
  }
  EXPECT_EQ(watch->scans, 3u);  // two are in one chunk
  EXPECT_EQ(store.index().find({}, SearchKey::kRecords, 4).error().code, Code::kPending);
  EXPECT_EQ(store.index().find({}, SearchKey::kRecords, 300).error().code, Code::kPending);
  EXPECT_EQ(store.index().find({}, SearchKey::kChunks, 2).error().code, Code::kPending);
  for (const std::uint64_t ordinal : {0u, 4u, 299u}) {
    const auto found = waited([&] { return store.index().find({}, SearchKey::kRecords, ordinal); });
    ASSERT_TRUE(found) << ordinal;
    EXPECT_EQ(found->chunk.begin, file.begins[ordinal / 3]);
  }
  const auto beyond = waited([&] { return store.index().find({}, SearchKey::kRecords, 300); });
  EXPECT_EQ(beyond.error().code, Code::kNotFound);
}

// In a file so large that addresses have hardly a bit left for an index besides the chunk's begin.
TEST(RecordStore, RecordsOfAPackedChunkAreDistinctWithFewAddressBits) {
  for (const unsigned bits_left : {1u, 2u, 8u}) {
    const toy::File file = toy::make_file({.chunks = 5, .records_per_chunk = 30});
    const auto source = std::make_shared<ChangeableSource>(file.bytes);
    Lines lines;
    StoreResources services(1 << 20, 2, lines.log());
    services.address_bits = static_cast<unsigned>(std::bit_width(file.bytes.size())) + bits_left;
    const RecordStore store(
        "toy", source,
        std::make_unique<WithTraits>(toy::open(source, Limits{}).value(),
                                     [](ContainerTraits& traits) { traits.index_fits_in_chunk = false; }),
        services, {});
    std::optional<std::uint64_t> last;
    Position last_begin = 0;
    for (std::size_t ordinal = 0; ordinal < file.records.size(); ++ordinal) {
      const auto indexed = waited([&] { return store.index().find({}, SearchKey::kRecords, ordinal); }).value();
      const std::uint64_t index = ordinal - indexed.before.records;
      const std::uint64_t address = store.records().address(indexed.chunk, index).value();
      EXPECT_TRUE(!last || address > *last);
      EXPECT_LT(address, store.records().address_limit());
      if (last && index == 0) {
        const std::uint64_t distance = store.records().address_distance(indexed.chunk.begin - last_begin);
        EXPECT_LE(address - *last, distance);
      }
      last_begin = indexed.chunk.begin;
      const auto found = waited([&] { return store.records().record_at({}, address); }).value();
      EXPECT_EQ(found.chunk.begin, indexed.chunk.begin);
      EXPECT_EQ(found.index, index);
      last = address;
    }
    const auto indexed = waited([&] { return store.index().find({}, SearchKey::kRecords, 0); }).value();
    EXPECT_EQ(store.records().address(indexed.chunk, 1u << 20).error().code, Code::kLimit);
    EXPECT_EQ(lines.all().size(), 1u) << "a listing shows only an error";
  }
}

// Also if the same chunks are declared not to be in file order.
TEST(RecordStore, ChunkPlacesAreFoundInAnyOrder) {
  ToyStore toy({.chunks = 200, .broken_headers = {5}});
  const RecordStore unordered(
      "toy", toy.source,
      std::make_unique<WithTraits>(toy::open(toy.source, Limits{}).value(),
                                   [](ContainerTraits& traits) { traits.is_in_file_order = false; }),
      toy.services);
  for (const RecordStore* store : {static_cast<const RecordStore*>(toy.store.get()), &unordered}) {
    for (const std::size_t chunk : {0u, 4u, 6u, 199u}) {
      ChunkInfo info;
      info.begin = toy.file.begins[chunk];
      info.key.state = chunk - (chunk > 5 ? 1 : 0);
      const auto indexed = waited([&] { return store->index().place_of({}, info); }).value();
      EXPECT_EQ(indexed.chunk.begin, toy.file.begins[chunk]);
      EXPECT_EQ(indexed.before.records, 3 * (chunk - (chunk > 5 ? 1 : 0)));
    }
    ChunkInfo none;
    none.begin = toy.file.ends.back();
    EXPECT_EQ(waited([&] { return store->index().place_of({}, none); }).error().code, Code::kNotFound);
  }
}

}  // namespace
}  // namespace recordfs::testing
