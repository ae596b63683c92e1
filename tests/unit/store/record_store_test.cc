#include "core/store/record_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "core/formats/chunk.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

std::string read_all(const RecordStore& store, const RecordRef& record) {
  const auto slice = store.records().read({}, record, 0, 1 << 20);
  return slice ? text_of(*slice) : "error: " + std::string(to_string(slice.error().code));
}

// Returns the texts of at most `most` records after `record`.
std::vector<std::string> walked_on(const ToyStore& toy, const RecordRef& record, std::size_t most) {
  std::vector<std::string> texts;
  if (most == 0) return texts;
  RecordReader::BatchCursor following;
  toy.store->records().for_each_following({}, record, following, [&](const RecordRef& at, Bytes bytes) {
    EXPECT_EQ(read_all(*toy.store, at), as_text(bytes));
    texts.emplace_back(as_text(bytes));
    return texts.size() < most;
  });
  return texts;
}

std::vector<std::string> some_of(const toy::File& file, std::initializer_list<std::size_t> ordinals) {
  std::vector<std::string> texts;
  for (const std::size_t ordinal : ordinals) texts.push_back(file.records[ordinal]);
  return texts;
}

TEST(RecordStore, VisitReturnsTheFollowingReadableRecords) {
  const ToyStore toy({.chunks = 4, .unreadable_records = {4}});
  EXPECT_EQ(walked_on(toy, {toy.chunk(0), 1}, 100), some_of(toy.file, {2, 3, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(walked_on(toy, {toy.chunk(0), 1}, 3), some_of(toy.file, {2, 3, 5}));
  EXPECT_EQ(walked_on(toy, {toy.chunk(3), 2}, 100), some_of(toy.file, {}));
}

TEST(RecordStore, VisitEndsBeforeAChunkThatCannotBeDecodedOrCached) {
  const ToyStore broken({.chunks = 4, .broken_payloads = {2}});
  EXPECT_EQ(walked_on(broken, {broken.chunk(0), 1}, 100), some_of(broken.file, {2, 3, 4, 5}));
  EXPECT_EQ(broken.lines.all().size(), 0u) << "the chunk has not been requested";
  const ToyStore large({.by_parts = true}, {}, 0);
  EXPECT_EQ(walked_on(large, {large.chunk(0), 1}, 100), some_of(large.file, {}));
}

TEST(RecordStore, ChunkWaitsForTheScanWithoutASeekStructure) {
  ToyStore toy({.chunks = 10, .seekable = false});
  const auto found = toy.store->index().chunk_covering({}, toy.file.begins[7] + 3);
  ASSERT_EQ(found.error().code, Code::kPending);
  EXPECT_EQ(found.error().wait->search_key, SearchKey::kPosition);
  EXPECT_EQ(toy.chunk(7).begin, toy.file.begins[7]);
  EXPECT_EQ(toy.watch->locates, 0u);
}

TEST(RecordStore, LocatedChunkEqualsTheScannedOne) {
  for (const bool counts : {true, false}) {
    const ToyStore toy({.chunks = 5, .counts_in_header = counts, .broken_payloads = {3}});
    std::vector<ChunkInfo> located;
    for (std::size_t i = 0; i < 5; ++i) located.push_back(toy.chunk(i));
    ASSERT_FALSE(toy.store->index().state().complete);
    ASSERT_TRUE(waited([&] { return toy.store->index().totals(ScanDetail::kCounts); }));
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(toy.chunk(i).records, located[i].records) << i;
      EXPECT_EQ(toy.chunk(i).decoded_size, located[i].decoded_size) << i;
    }
  }
}

TEST(RecordStore, LocatedChunksBeyondTheCacheAreFoundAgain) {
  const ToyStore toy({.chunks = 700, .records_per_chunk = 1});
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 700; ++i) ASSERT_EQ(toy.chunk(i).begin, toy.file.begins[i]);
  }
}

TEST(RecordStore, UnreadableRecordNeverHasSizeZero) {
  const auto empty = [](std::uint64_t) { return 0u; };
  const ToyStore toy({.record_size = empty, .broken_payloads = {1}, .unsupported = {2}, .unreadable_records = {10}});
  EXPECT_EQ(toy.store->records().size({}, {toy.chunk(0), 1}).value(), 0u);
  EXPECT_EQ(toy.store->records().size({}, {toy.chunk(1), 1}).value(), 1u);
  EXPECT_EQ(toy.store->records().size({}, {toy.chunk(2), 1}).value(), 1u);
  EXPECT_EQ(toy.store->records().size({}, {toy.chunk(3), 1}).value(), 1u);
  EXPECT_EQ(toy.store->chunks().payload_size({}, toy.chunk(1)).value(), 1u);
  EXPECT_EQ(read_all(*toy.store, {toy.chunk(1), 1}), "error: damage");
  EXPECT_EQ(read_all(*toy.store, {toy.chunk(2), 1}), "error: unsupported");
  EXPECT_EQ(read_all(*toy.store, {toy.chunk(3), 1}), "error: damage");
}

TEST(RecordStore, UnreadableRecordKeepsItsDeclaredSize) {
  const ToyStore toy({.unreadable_records = {4}});
  EXPECT_EQ(toy.store->records().size({}, {toy.chunk(1), 1}).value(), toy.file.records[4].size());
  EXPECT_EQ(read_all(*toy.store, {toy.chunk(1), 1}), "error: damage");
  EXPECT_EQ(read_all(*toy.store, {toy.chunk(1), 2}), toy.file.records[5]);
}

TEST(RecordStore, TemporaryFailureIsAnErrorNotASize) {
  for (const bool small_layout : {true, false}) {
    const ToyStore toy({.small_layout = small_layout});
    const RecordRef record{toy.chunk(1), 0};
    toy.source->fail(1, bad_sector());
    EXPECT_EQ(toy.store->records().size({}, record).error().code, Code::kIo);
    EXPECT_EQ(toy.store->records().size({}, record).value(), toy.file.records[3].size());
  }
}

TEST(RecordStore, PayloadReadFailsOnlyWhereARecordIsDamaged) {
  const ToyStore toy({.chunks = 1, .unreadable_records = {1}});
  const ChunkInfo chunk = toy.chunk(0);
  const std::string payload = toy.file.bytes.substr(chunk.end - chunk.stored_size, chunk.stored_size);
  ASSERT_EQ(toy.store->chunks().payload_size({}, chunk).value(), payload.size());
  const std::size_t lost_begin = 12 + toy.file.records[0].size();
  const std::size_t lost_end = lost_begin + toy.file.records[1].size();
  for (std::size_t offset = 0; offset <= payload.size(); ++offset) {
    for (std::size_t length = 1; length <= payload.size() + 1; ++length) {
      const auto slice = toy.store->chunks().read_payload({}, chunk, offset, length);
      const bool lost = offset < lost_end && std::min(offset + length, payload.size()) > lost_begin;
      ASSERT_EQ(slice.has_value(), !lost) << offset << " " << length;
      if (slice) {
        ASSERT_EQ(text_of(*slice), payload.substr(offset, length));
      }
    }
  }
}

// Decodes nothing, but returns the sizes.
class Sealed final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext&, const ChunkInfo& chunk) const override {
    return Error{Code::kDamage, chunk.begin, "the values do not decode"};
  }
};

TEST(RecordStore, DeclaredSizeIsKeptIfOnlyTheBytesAreLost) {
  ToyStore toy({.record_size = [](std::uint64_t ordinal) { return ordinal; }});
  const RecordStore store("toy", toy.source, std::make_unique<Sealed>(toy::open(toy.source, Limits{}).value()),
                          toy.services);
  const ChunkInfo chunk = store.index().chunk_at({}, toy.file.begins[0]).value();
  EXPECT_EQ(store.records().size({}, {chunk, 0}).value(), 1u);
  EXPECT_EQ(store.records().size({}, {chunk, 1}).value(), 1u);
  EXPECT_EQ(store.records().size({}, {chunk, 2}).value(), 2u);
  EXPECT_EQ(read_all(store, {chunk, 0}), "error: damage");
}

TEST(RecordStore, MissingRecordIsNotFound) {
  const ToyStore toy({});
  EXPECT_EQ(toy.store->records().size({}, {toy.chunk(0), 3}).error().code, Code::kNotFound);
  EXPECT_EQ(toy.store->records().read({}, {toy.chunk(0), 3}, 0, 1).error().code, Code::kNotFound);
}

TEST(RecordStore, FailureIsLoggedOncePerPosition) {
  const ToyStore toy({.broken_payloads = {1}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_all(*toy.store, {toy.chunk(1), 0}), "error: damage");
    EXPECT_EQ(toy.store->records().size({}, {toy.chunk(1), 0}).value(), 1u);
  }
  ASSERT_EQ(toy.lines.all().size(), 1u);
  EXPECT_NE(toy.lines.all()[0].find("payload check mismatch"), std::string::npos);
}

TEST(RecordStore, TemporaryFailureAndDamageAreLoggedSeparately) {
  for (const bool damage_first : {true, false}) {
    const ToyStore toy({.broken_payloads = {1}});
    const RecordRef record{toy.chunk(1), 0};
    if (damage_first) {
      EXPECT_EQ(toy.store->chunks().get({}, record.chunk).error().code, Code::kDamage);
    }
    Error failure = bad_sector();
    failure.position = record.chunk.begin;
    toy.store->log().report({}, failure);
    EXPECT_EQ(toy.store->chunks().get({}, record.chunk).error().code, Code::kDamage);
    EXPECT_EQ(toy.lines.all().size(), 2u) << damage_first;
  }
}

TEST(RecordStore, PartsEqualThoseOfTheRecordOrFailSeparately) {
  const auto first_text = [](const RecordParts& parts) {
    return std::get<std::string>(std::get<Value::Object>(parts.value.is).at(0).value.is);
  };
  const auto inside = [](std::uint64_t ordinal) {
    return std::vector<toy::PartShape>{{.key = "part", .kind = PartKind::kText, .bytes = std::to_string(ordinal)}};
  };
  const ToyStore toy({.parts = inside, .broken_parts = {1, 2}, .broken_payloads = {1}});
  EXPECT_EQ(first_text(toy.store->records().parts({}, {toy.chunk(0), 0}).value()), "0");
  EXPECT_EQ(first_text(toy.store->records().parts({}, {toy.chunk(3), 2}).value()), "11");
  for (int again = 0; again < 2; ++again) {
    for (const std::uint64_t index : {1u, 2u}) {
      const auto parts = toy.store->records().parts({}, {toy.chunk(0), index});
      EXPECT_EQ(parts.error().code, Code::kDamage);
      EXPECT_EQ(parts.error().position, toy.file.begins[0]);
    }
    EXPECT_EQ(toy.store->records().parts({}, {toy.chunk(1), 0}).error().code, Code::kDamage);
  }
  EXPECT_EQ(toy.store->records().parts({}, {toy.chunk(0), 3}).error().code, Code::kNotFound);
  EXPECT_EQ(toy.lines.all().size(), 3u);
}

// Limits records with parts to one byte.
class Narrow final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  const RecordSchema& schema() const override { return schema_; }

 private:
  const RecordSchema schema_{.value = [](Bytes record, ValueForm) { return Value{Value::List(record.size())}; },
                             .parts = RecordSchema::Parts::kRequired,
                             .largest_record_with_parts = 1};
};

TEST(RecordStore, RecordTooLargeForPartsIsNotRead) {
  ToyStore toy({.record_size = [](std::uint64_t ordinal) { return ordinal; }, .by_parts = true}, {}, 0);
  const RecordStore store("toy", toy.source, std::make_unique<Narrow>(toy::open(toy.source, Limits{}).value()),
                          toy.services);
  EXPECT_EQ(std::get<Value::List>(store.records().parts({}, {toy.chunk(0), 1}).value().value.is).size(), 1u);
  const auto parts = store.records().parts({}, {toy.chunk(0), 2});
  EXPECT_EQ(parts.error().code, Code::kLimit);
  EXPECT_EQ(parts.error().position, toy.file.begins[0]);
  EXPECT_EQ(toy.lines.all().size(), 1u);
}

TEST(RecordStore, LogOfABadlyDamagedFileIsBounded) {
  const ToyStore toy({});
  for (Position at = 0; at < 5000; ++at) toy.store->log().report({}, {Code::kDamage, at, "ruined"});
  EXPECT_EQ(toy.lines.all().size(), 1025u);
  EXPECT_NE(toy.lines.all().back().find("not logged"), std::string::npos);
}

TEST(RecordStore, FirstChunkWithRecordsIsFoundInFewSteps) {
  const ToyStore toy({.chunks = 3, .counts_in_header = false, .broken_payloads = {0}});
  EXPECT_EQ(toy.store->index().first_with_records({}).value()->begin, toy.file.begins[1]);
  const ToyStore none({.chunks = 1000, .records_per_chunk = 0});
  EXPECT_FALSE(none.store->index().first_with_records({}).value());
  EXPECT_LE(none.watch->scans, 20u);
}

// Locates chunks with a wrong number of records in their headers.
class Liar final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    auto chunk = ForwardingContainer::locate(context, at);
    if (chunk && *chunk) ++*(*chunk)->records;
    return chunk;
  }
};

TEST(RecordStore, LayoutsOfAScanAreNotMadeAgain) {
  ToyStore toy({.chunks = 6, .counts_in_header = false});
  std::atomic<int> made{0};
  toy.watch->on_layout = [&made](const RequestContext&, Position) { ++made; };
  ASSERT_TRUE(waited([&] { return toy.store->index().totals(ScanDetail::kSizes); }));
  EXPECT_EQ(made, 6);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(toy.store->chunks().layout({}, toy.chunk(i)));
  EXPECT_EQ(made, 6);
}

TEST(RecordStore, LargeLayoutsOfScansRunOneAtATime) {
  const std::uint64_t no_cache = 0;
  ToyStore toy({.chunks = 6, .counts_in_header = false},
               {.anchors = 2, .chunks_per_anchor = 1, .cached_chunks = 1, .cached_sizes = 0}, no_cache);
  std::atomic<int> made{0};
  toy.watch->on_layout = [&](const RequestContext& context, Position) {
    context.announce(RequestContext::kLargeAllocation);
    ++made;
  };
  const auto expect_waits = [&](const std::function<bool()>& call) {
    std::optional<DecodeBudget::Share> share(std::in_place, RequestContext(), toy.services.budgets_of(0).slow, 1);
    made = 0;
    auto called = std::async(std::launch::async, call);
    EXPECT_EQ(called.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    EXPECT_EQ(made, 0);
    share.reset();
    EXPECT_TRUE(called.get());
    EXPECT_GT(made, 0);
  };
  expect_waits([&] { return toy.store->index().first_with_records({}).has_value(); });
  expect_waits([&] { return waited([&] { return toy.store->index().totals(ScanDetail::kSizes); }).has_value(); });
  expect_waits([&] { return waited([&] { return toy.store->index().find({}, SearchKey::kChunks, 0); }).has_value(); });
}

TEST(RecordStore, ChunkThatContradictsItsHeaderYieldsNoBytes) {
  ToyStore toy({});
  const RecordStore store("toy", toy.source, std::make_unique<Liar>(toy::open(toy.source, Limits{}).value()),
                          toy.services);
  const ChunkInfo chunk = store.index().chunk_at({}, toy.file.begins[0]).value();
  EXPECT_EQ(store.records().read({}, {chunk, 0}, 0, 1).error().code, Code::kChanged);
  EXPECT_EQ(store.chunks().layout({}, chunk).error().code, Code::kChanged);
  EXPECT_EQ(store.records().size({}, {chunk, 3}).error().code, Code::kChanged);
}

// Decodes when a chunk is read, which takes much memory.
class DecodesLate final : public ForwardingContainer {
 public:
  DecodesLate(std::unique_ptr<Container> toy, std::shared_ptr<const Source> source)
      : ForwardingContainer(std::move(toy)), source_(std::move(source)) {}
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(auto layout, ForwardingContainer::layout(context, chunk));
    const auto read = [](const RequestContext& request, const Source&, const Layout&, std::uint64_t,
                         std::uint64_t length) -> Result<Buffer> {
      TRY(request.reserve(RequestContext::kLargeAllocation));
      return Buffer::allocate(request, static_cast<std::size_t>(length));
    };
    return std::shared_ptr<const Chunk>(std::make_shared<FileChunk>(source_, std::move(layout), read));
  }

 private:
  const std::shared_ptr<const Source> source_;
};

TEST(RecordStore, ReadsThatDecodeWaitForTheBudget) {
  ToyStore toy({.chunks = 1});
  const RecordStore store("toy", toy.source,
                          std::make_unique<DecodesLate>(toy::open(toy.source, Limits{}).value(), toy.source),
                          toy.services);
  const ChunkInfo chunk = store.index().chunk_at({}, toy.file.begins[0]).value();
  ASSERT_TRUE(store.chunks().get({}, chunk));
  const auto expect_waits = [&](const std::function<bool()>& call) {
    std::optional<DecodeBudget::Share> share(std::in_place, RequestContext(), toy.services.budgets_of(0).slow, 1);
    auto called = std::async(std::launch::async, call);
    EXPECT_EQ(called.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    share.reset();
    EXPECT_TRUE(called.get());
  };
  expect_waits([&] { return store.records().read({}, {chunk, 0}, 0, 1).has_value(); });
  expect_waits([&] { return store.chunks().read_payload({}, chunk, 0, 1).has_value(); });
}

// While it decodes, another thread requests a share of the budget.
class Contended final : public ForwardingContainer {
 public:
  Contended(std::unique_ptr<Container> toy, DecodeBudget& budget)
      : ForwardingContainer(std::move(toy)), budget_(budget) {}
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    other_ = std::async(std::launch::async, [this] { const DecodeBudget::Share share({}, budget_, wanted); });
    had_to_wait = other_.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
    return ForwardingContainer::decode(context, chunk);
  }

  std::uint64_t wanted = 0;
  mutable bool had_to_wait = false;

 private:
  DecodeBudget& budget_;
  mutable std::future<void> other_;
};

TEST(RecordStore, RecordOffsetsCountTowardsTheBudgetOfALargeChunk) {
  constexpr std::uint64_t kBudget = 20000, kRecords = 1000;
  ToyStore toy({.chunks = 1, .records_per_chunk = kRecords, .record_size = [](std::uint64_t) { return 1u; }}, {},
               kBudget);
  auto contended =
      std::make_unique<Contended>(toy::open(toy.source, Limits{}).value(), toy.services.budgets_of(0).small);
  Contended& container = *contended;
  const RecordStore store("toy", toy.source, std::move(contended), toy.services);
  const ChunkInfo chunk = store.index().chunk_at({}, toy.file.begins[0]).value();
  container.wanted = kBudget - chunk.stored_size;
  EXPECT_EQ(read_all(store, {chunk, 0}), toy.file.records[0]);
  EXPECT_TRUE(container.had_to_wait);
}

TEST(RecordStore, RecordOfACachedChunkIsReadWithoutTheIndex) {
  ToyStore toy({.chunks = 10, .seekable = false});
  const RecordReader& records = toy.store->records();
  Scanner scanner = toy.store->index().scanner(ScanDetail::kCounts);
  ASSERT_TRUE(scanner.step({}));
  ASSERT_TRUE(scanner.step({}));
  const ChunkInfo second = scanner.chunk()->chunk;
  const std::uint64_t last = records.address(second, 2).value();
  EXPECT_EQ(records.read_at({}, last, 0, kEverything).error().code, Code::kPending);
  ASSERT_TRUE(toy.store->chunks().get({}, second));
  EXPECT_EQ(text_of(records.read_at({}, last, 0, kEverything).value()), toy.file.records[5]);
  EXPECT_EQ(text_of(records.read_at({}, records.address(second, 0).value(), 3, 4).value()),
            toy.file.records[3].substr(3, 4));
  EXPECT_EQ(records.read_at({}, last + 1, 0, 1).error().code, Code::kPending) << "no such record";
  EXPECT_EQ(records.read_at({}, second.end, 0, 1).error().code, Code::kPending) << "in the next chunk";
  EXPECT_EQ(toy.watch->locates, 0u);
}

TEST(RecordStore, DecodedBytesAreCountedOnce) {
  ToyStore toy({});
  EXPECT_EQ(toy.services.decoded_bytes.load(), 0u);
  const auto size = toy.store->chunks().payload_size({}, toy.chunk(0)).value();
  EXPECT_EQ(toy.services.decoded_bytes.load(), size);
  EXPECT_EQ(toy.store->chunks().payload_size({}, toy.chunk(0)).value(), size);
  EXPECT_EQ(toy.services.decoded_bytes.load(), size) << "it is cached";
}

TEST(RecordStore, StoresShareACacheWithoutMixingTheirChunks) {
  ToyStore toy({});
  const toy::File other = toy::make_file({.record_size = [](std::uint64_t) { return 9u; }, .seekable = true});
  const auto source = toy::source_of(other.bytes);
  const RecordStore second("other", source, toy::open(source, Limits{}).value(), toy.services);
  const ChunkInfo chunk = second.index().chunk_at({}, other.begins[0]).value();
  ASSERT_EQ(chunk.begin, toy.chunk(0).begin);
  EXPECT_EQ(read_all(*toy.store, {toy.chunk(0), 1}), toy.file.records[1]);
  EXPECT_EQ(read_all(second, {chunk, 1}), other.records[1]);
}

}  // namespace
}  // namespace recordfs::testing
