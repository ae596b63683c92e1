#include <algorithm>
#include <map>
#include <new>
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

// Counts the decodes of each chunk.
class Decodes {
 public:
  void note(Position begin) {
    const std::lock_guard lock(mutex_);
    ++counts_[begin];
    changed_.notify_all();
  }
  void wait_for(Position begin) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counts_.contains(begin); });
  }
  std::map<Position, int> all() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Position, int> counts_;
};

struct Reader {
  explicit Reader(const toy::Shape& shape, std::uint64_t cache_bytes = 64u << 20) : toy(shape, {}, cache_bytes) {
    toy.watch->on_decode = [this](Position begin) {
      decodes.note(begin);
      gate.pass(begin);
    };
  }
  Result<Slice> read(std::size_t chunk) const { return toy.store->records().read({}, {toy.chunk(chunk), 0}, 0, 100); }

  Decodes decodes;
  Gate gate;
  ToyStore toy;
};

TEST(ReadAhead, DecodesTheNextChunkInAdvance) {
  Reader reader({.chunks = 6});
  ASSERT_TRUE(reader.read(0));
  ASSERT_TRUE(reader.read(1));
  reader.decodes.wait_for(reader.toy.file.begins[2]);
}

TEST(ReadAhead, ReadsFurtherAheadWithEachChunkReached) {
  Reader reader({.chunks = 40, .record_size = [](std::uint64_t) { return 200'000u; }});
  const std::size_t bound = 2 * std::size_t{reader.toy.services.executor.threads()};
  for (std::size_t chunk = 0; chunk < 10; ++chunk) ASSERT_TRUE(reader.read(chunk));
  reader.decodes.wait_for(reader.toy.file.begins[9 + bound]);
  reader.toy.store.reset();
  EXPECT_EQ(reader.decodes.all().size(), 10 + bound);
}

TEST(ReadAhead, ReadsFurtherAheadIfChunksAreSmall) {
  Reader reader({.chunks = 100});
  const std::size_t bound = 2 * std::size_t{reader.toy.services.executor.threads()};
  for (std::size_t chunk = 0; chunk < 10; ++chunk) ASSERT_TRUE(reader.read(chunk));
  reader.decodes.wait_for(reader.toy.file.begins[9 + 2 * bound]);
}

TEST(ReadAhead, SeveralSequentialReadersAreIndependent) {
  Reader reader({.chunks = 60});
  for (std::size_t chunk = 0; chunk < 8; ++chunk) {
    for (const std::size_t first : {0u, 20u, 40u}) ASSERT_TRUE(reader.read(first + chunk));
  }
  for (const std::size_t first : {0u, 20u, 40u}) reader.decodes.wait_for(reader.toy.file.begins[first + 8]);
}

TEST(ReadAhead, StopsAtAShareOfTheCache) {
  Reader reader({.chunks = 40, .record_size = [](std::uint64_t) { return 1000u; }}, 16000);
  for (std::size_t chunk = 0; chunk < 10; ++chunk) ASSERT_TRUE(reader.read(chunk));
  reader.toy.store.reset();
  EXPECT_LE(reader.decodes.all().size(), 12u);  // of 3000 bytes each, within a share of 3500
}

TEST(ReadAhead, DecodesEveryChunkOnce) {
  for (const bool counts : {true, false}) {
    for (const bool small_layout : {true, false}) {
      Reader reader({.chunks = 12, .counts_in_header = counts, .small_layout = small_layout});
      for (std::size_t chunk = 0; chunk < 12; ++chunk) {
        ASSERT_EQ(text_of(reader.read(chunk).value()), reader.toy.file.records[chunk * 3]);
      }
      reader.toy.store.reset();
      EXPECT_EQ(reader.decodes.all().size(), 12u);
      for (const auto& [begin, count] : reader.decodes.all()) EXPECT_EQ(count, 1) << begin;
    }
  }
}

TEST(ReadAhead, QueriesNoLayouts) {
  Reader reader({.chunks = 12, .counts_in_header = false, .small_layout = false});
  std::vector<ChunkInfo> chunks;
  for (std::size_t i = 0; i < 12; ++i) chunks.push_back(reader.toy.chunk(i));
  const std::uint64_t layouts = reader.toy.watch->layouts;
  for (const ChunkInfo& chunk : chunks) ASSERT_TRUE(reader.toy.store->records().read({}, {chunk, 0}, 0, 1));
  reader.toy.store.reset();
  EXPECT_EQ(reader.toy.watch->layouts, layouts);
}

TEST(ReadAhead, ReadsNoHeadersThatTheCatalogHasScanned) {
  Reader reader({.chunks = 12});
  ASSERT_TRUE(waited([&] { return reader.toy.store->index().totals(ScanDetail::kSizes); }));
  std::vector<ChunkInfo> chunks;
  for (std::size_t i = 0; i < 12; ++i) chunks.push_back(reader.toy.chunk(i));
  const std::uint64_t scans = reader.toy.watch->scans;
  for (const ChunkInfo& chunk : chunks) ASSERT_TRUE(reader.toy.store->records().read({}, {chunk, 0}, 0, 1));
  reader.toy.store.reset();
  EXPECT_EQ(reader.decodes.all().size(), 12u);
  EXPECT_EQ(reader.toy.watch->scans, scans);
}

TEST(ReadAhead, RandomReadsDecodeOnlyTheirChunks) {
  Reader reader({.chunks = 12});
  for (const std::size_t chunk : {7u, 3u, 1u, 0u}) ASSERT_TRUE(reader.read(chunk));
  reader.toy.store.reset();
  EXPECT_EQ(reader.decodes.all().size(), 4u);
}

TEST(ReadAhead, FarForwardJumpIsNotSequential) {
  Reader reader({.chunks = 40, .record_size = [](std::uint64_t) { return 200'000u; }});
  const std::size_t bound = 2 * std::size_t{reader.toy.services.executor.threads()};
  for (std::size_t chunk = 0; chunk < 10; ++chunk) ASSERT_TRUE(reader.read(chunk));
  reader.decodes.wait_for(reader.toy.file.begins[9 + bound]);
  ASSERT_TRUE(reader.read(9 + bound));
  reader.toy.store.reset();
  EXPECT_EQ(reader.decodes.all().size(), 10 + bound);
}

TEST(ReadAhead, SkipsDamage) {
  Reader reader({.chunks = 8, .broken_headers = {2, 3}});
  ASSERT_TRUE(reader.read(0));
  ASSERT_TRUE(reader.read(1));
  reader.decodes.wait_for(reader.toy.file.begins[4]);
}

TEST(ReadAhead, FailureIsLoggedOnlyWhenAReaderReachesIt) {
  Reader reader({.chunks = 6, .broken_payloads = {2}});
  ASSERT_TRUE(reader.read(0));
  ASSERT_TRUE(reader.read(1));
  reader.decodes.wait_for(reader.toy.file.begins[2]);
  EXPECT_EQ(reader.read(2).error().code, Code::kDamage);
  ASSERT_EQ(reader.toy.lines.all().size(), 1u);
  EXPECT_NE(reader.toy.lines.all()[0].find("payload check mismatch"), std::string::npos);
}

TEST(ReadAhead, ChunkWithOtherRecordsIsReportedAsChanged) {
  const auto shape = [](std::uint64_t records, std::size_t size) {
    return toy::Shape{.chunks = 6,
                      .records_per_chunk = records,
                      .record_size = [size](std::uint64_t) { return size; },
                      .counts_in_header = false};
  };
  Reader reader(shape(3, 20));
  const std::vector<Position>& begins = reader.toy.file.begins;
  const ChunkInfo changed = reader.toy.chunk(2);
  const std::string other = toy::make_file(shape(2, 32)).bytes;
  ASSERT_EQ(other.size(), reader.toy.file.bytes.size());
  reader.toy.source->rewrite(reader.toy.file.bytes.substr(0, begins[2]) + other.substr(begins[2]));
  ASSERT_TRUE(reader.read(0));
  ASSERT_TRUE(reader.read(1));
  reader.decodes.wait_for(begins[2]);
  EXPECT_EQ(reader.toy.store->records().read({}, {changed, 0}, 0, 100).error().code, Code::kChanged);
  EXPECT_FALSE(reader.toy.store->chunks().layout({}, changed));
  reader.toy.source->rewrite(reader.toy.file.bytes);
  EXPECT_EQ(text_of(reader.toy.store->records().read({}, {changed, 0}, 0, 100).value()), reader.toy.file.records[6]);
}

TEST(ReadAhead, DestructionWaitsForRunningDecodes) {
  Reader reader({.chunks = 6});
  ASSERT_TRUE(reader.read(0));
  reader.gate.close_from(reader.toy.file.begins[2]);
  ASSERT_TRUE(reader.read(1));
  reader.gate.wait_until_held();
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    reader.toy.store.reset();
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(destroyed);
  reader.gate.open();
  destroyer.join();
}

TEST(ReadAhead, OutOfMemoryDoesNotEndTheProcessOrLaterReadAhead) {
  const toy::File file = toy::make_file({.chunks = 4});
  std::vector<ChunkInfo> chunks(4);
  for (std::size_t i = 0; i < 4; ++i) {
    chunks[i].begin = file.begins[i];
    chunks[i].end = file.ends[i];
  }
  Executor executor(1);
  const Signal looked;
  const Signal decoded;
  const ReadAhead::Work work{.next = [&](const RequestContext&, const ChunkInfo& chunk) -> std::optional<ChunkInfo> {
                               if (chunk.begin == chunks[2].begin) return chunks[3];
                               if (chunk.begin == chunks[3].begin) return std::nullopt;
                               looked.set();
                               throw std::bad_alloc();
                             },
                             .decode =
                                 [&](const RequestContext&, const ChunkInfo&) {
                                   decoded.set();
                                   throw std::bad_alloc();
                                 }};
  ReadAhead ahead(executor, work, {.chunks = 1, .bytes = 1});
  ahead.was_read(chunks[0]);
  ahead.was_read(chunks[1]);
  looked.wait();
  ahead.was_read(chunks[2]);
  decoded.wait();
}

TEST(ReadAhead, StopsWithTheExecutor) {
  Reader reader({.chunks = 6});
  reader.toy.services.executor.stop();
  for (std::size_t chunk = 0; chunk < 6; ++chunk) ASSERT_TRUE(reader.read(chunk));
  reader.toy.store.reset();
  EXPECT_EQ(reader.decodes.all().size(), 6u);
}

TEST(ReadAhead, ChunksTooLargeForTheCacheAreSkipped) {
  Reader reader({.chunks = 6, .by_parts = true}, 100);
  for (std::size_t chunk = 0; chunk < 6; ++chunk) ASSERT_TRUE(reader.read(chunk));
  reader.toy.store.reset();
  EXPECT_TRUE(reader.decodes.all().empty());
}

}  // namespace
}  // namespace recordfs::testing
