// A scan with batches finds what a scan in steps finds, in intact and in damaged files.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/read_window.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/registry.h"
#include "core/store/parallel_scan.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"
#ifdef RECORDFS_HAVE_BLOSC
#include "tests/unit/formats/bloscpack/writer.h"
#endif
#include "tests/unit/formats/proio/streams.h"
#include "tests/unit/formats/tfrecord/files.h"
#include "tests/writers/leveldb_log/log_writer.h"
#include "tests/writers/recordio/writer.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs {
namespace {

constexpr std::size_t kSize = 3u << 20;  // several pieces of a PrefetchBuffer

std::string record(std::size_t number) {
  std::string text = std::to_string(number) + ":";
  return text.append(number % 97 == 0 ? 3000 : number % 150, static_cast<char>('a' + number % 26));
}

std::string tfrecord_file() {
  std::string file;
  for (std::size_t i = 0; file.size() < kSize; ++i) file += tfrecord::framed(record(i));
  return file;
}

std::string log_file() {
  leveldb_log::LogWriter writer;
  for (std::size_t i = 0; writer.log().size() < kSize; ++i) writer.append(record(i));
  return writer.log();
}

std::string table_file() {
  leveldb_table::TableWriter writer;
  for (std::size_t i = 0; writer.blocks().size() < kSize;) {
    leveldb_table::Entries entries;
    for (std::size_t end = i + 1 + i % 40; i < end; ++i) {
      entries.emplace_back(leveldb_table::internal_key(fmt::format("key{:08}", i), 1, leveldb_table::kPut), record(i));
    }
    writer.add(entries);
  }
  return writer.finish();
}

std::string recordio_file(std::size_t records_a_block) {
  std::string file = recordio_writer::header({});
  for (std::size_t i = 0; file.size() < kSize;) {
    std::vector<std::string> records;
    while (records.size() < records_a_block) records.push_back(record(i++));
    file += recordio_writer::body(records);
  }
  return file;
}

std::string riegeli_file(std::size_t records_a_chunk, char compression, std::size_t size = kSize) {
  riegeli_writer::Writer writer;
  for (std::size_t i = 0; writer.file().size() < size;) {
    std::vector<std::string> records;
    while (records.size() < records_a_chunk) records.push_back(record(i++));
    writer.add(riegeli_writer::simple_chunk(records, compression));
  }
  return writer.file();
}

#ifdef RECORDFS_HAVE_BLOSC
// Chunks of every kind and size that is read in batches: plain ones, and some of one or several blocks.
std::string bloscpack_file(bool has_offsets, std::optional<DigestId> digest) {
  bloscpack::FileShape shape{.has_offsets = has_offsets, .digest = digest};
  std::size_t stored = 0;
  for (std::size_t i = 0; stored < kSize; ++i) {
    std::string text;
    for (std::size_t part = 0; text.size() < 10'000 * (i % 50); ++part) text += record(i * 1000 + part);
    text += record(i);
    shape.chunks.push_back(i % 3 == 0 ? bloscpack::plain_chunk(text)
                                      : bloscpack::blosc_chunk(text, i % 3 == 1 ? "lz4" : "zstd", i % 2 * 16'384));
    stored += shape.chunks.back().size();
  }
  return bloscpack::make_file(shape).bytes;
}
#endif

std::string proio_file(std::size_t bytes_a_bucket) {
  std::string file;
  for (std::size_t i = 0; file.size() < kSize;) {
    proio::BucketShape shape;
    for (std::size_t bytes = 0; bytes < bytes_a_bucket; bytes += shape.events.back().size()) {
      shape.events.push_back(record(i++));
    }
    file += proio::bucket(shape);
  }
  return file;
}

struct Store {
  explicit Store(const std::string& bytes, const Limits& limits = {})
      : services(64u << 20, 2, [](Severity, const std::string&) {}),
        source(std::make_shared<WindowedSource>(tfrecord::source_of(bytes))),
        store("file", source, open_container({}, source, "file", limits).value(), services) {}
  StoreResources services;
  std::shared_ptr<const Source> source;
  RecordStore store;
};

struct Found {
  std::vector<std::pair<std::uint64_t, std::string>> records{};  // by ordinal
  std::vector<std::pair<Position, std::string>> damage{};
  PrefixSums totals{};
  std::uint64_t in_batches = 0;
  bool operator==(const Found& other) const {
    return records == other.records && damage == other.damage && totals.chunks == other.totals.chunks &&
           totals.records == other.totals.records && totals.bytes == other.totals.bytes;
  }
};

Found found_in(const RecordStore& store, unsigned threads, bool has_batches, std::uint64_t end_record = UINT64_MAX) {
  Found found;
  const auto take_step = [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
    std::vector<std::pair<std::uint64_t, std::string>> records;
    if (step.indexed) {
      const auto chunk = store.chunks().decode_ahead(context, step.indexed->chunk);
      for (std::uint64_t i = 0; chunk && i < (*chunk)->layout().records(); ++i) {
        const auto bytes = store.records().read(context, **chunk, i, 0, UINT64_MAX);
        records.emplace_back(step.indexed->before.records + i, bytes ? std::string(as_text(bytes->bytes)) : "!");
      }
    }
    return [&found, records = std::move(records), damage = step.damage] {
      found.records.insert(found.records.end(), records.begin(), records.end());
      for (const DamageRow& row : damage) found.damage.emplace_back(row.region.begin, row.region.reason);
      return true;
    };
  };
  ProcessBatch take_batch;
  if (has_batches) {
    take_batch = [&](const std::shared_ptr<const ScannedBatch>& batch) -> OrderedResult {
      return [&found, batch] {
        std::uint64_t ordinal = batch->before.records;
        for (const Bytes bytes : batch->content.records) found.records.emplace_back(ordinal++, as_text(bytes));
        found.in_batches += batch->content.records.size();
        return true;
      };
    };
  }
  ScanOptions options;
  options.threads = threads;
  options.end_record = end_record;
  const auto totals = scan(store, options, take_step, take_batch);
  EXPECT_TRUE(totals) << to_string(totals.error());
  if (totals) found.totals = *totals;
  // The headers of proio do not tell sizes, so only batches count them.
  if (store.traits().format == "proio") found.totals.bytes = 0;
  return found;
}

struct BulkFile {
  const char* name;
  std::function<std::string()> make;
};

class BulkScan : public ::testing::TestWithParam<BulkFile> {
 protected:
  // Made once.
  static const std::string& intact() {
    static std::map<std::string, std::string> files;
    std::string& file = files[GetParam().name];
    if (file.empty()) file = GetParam().make();
    return file;
  }

  static void expect_same(const std::string& bytes) {
    const Store file(bytes);
    const Found expected = found_in(file.store, 1, false);
    for (const unsigned threads : {0u, 3u}) {
      EXPECT_TRUE(found_in(file.store, threads, true) == expected) << threads << " threads";
    }
  }
};

TEST_P(BulkScan, IntactFileIsReadInBatches) {
  const std::string& bytes = intact();
  const Store file(bytes);
  const Found found = found_in(file.store, 2, true);
  EXPECT_TRUE(found == found_in(file.store, 2, false));
  EXPECT_GT(found.in_batches, found.records.size() / 2);
  ASSERT_FALSE(found.records.empty());
  EXPECT_TRUE(found.records.back().second.ends_with(record(found.records.size() - 1)));
}

TEST_P(BulkScan, DamageEndsABatchAndIsFoundByTheScan) {
  for (const std::size_t at : {std::size_t{100'000}, intact().size() / 2, intact().size() - 300'000}) {
    std::string bytes = intact();
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    SCOPED_TRACE(at);
    expect_same(bytes);
  }
}

TEST_P(BulkScan, BytesOfEveryMegabyteAreDamaged) {
  std::string bytes = intact();
  for (std::size_t at = 300'000; at < bytes.size(); at += 700'001) bytes[at] = static_cast<char>(bytes[at] ^ 1);
  expect_same(bytes);
}

TEST_P(BulkScan, DeletedBytesEndABatch) {
  std::string bytes = intact();
  bytes.erase(bytes.size() / 3, 12'345);
  expect_same(bytes);
}

TEST_P(BulkScan, TruncatedFileEndsInSteps) {
  std::string bytes = intact();
  bytes.resize(bytes.size() - 1234);
  expect_same(bytes);
}

TEST_P(BulkScan, ScanStopsBeforeTheFirstChunkAfterTheLastRecord) {
  const std::string& bytes = intact();
  const Store file(bytes);
  for (const std::uint64_t end : {1u, 20'000u}) {
    EXPECT_TRUE(found_in(file.store, 2, true, end) == found_in(file.store, 2, false, end)) << end;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, BulkScan,
                         ::testing::Values(BulkFile{"TFRecord", tfrecord_file}, BulkFile{"LevelDbLog", log_file},
                                           BulkFile{"LevelDbTable", table_file},
                                           BulkFile{"RecordioSmall", [] { return recordio_file(300); }},
                                           BulkFile{"RecordioLarge", [] { return recordio_file(4000); }},
                                           BulkFile{"RiegeliSingle", [] { return riegeli_file(1, 0); }},
                                           BulkFile{"RiegeliSmall", [] { return riegeli_file(40, 0); }},
                                           BulkFile{"RiegeliLarge", [] { return riegeli_file(9000, 0); }},
                                           BulkFile{"RiegeliZstd", [] { return riegeli_file(7, 'z', kSize / 3); }},
                                           BulkFile{"ProioSmall", [] { return proio_file(5000); }},
                                           BulkFile{"ProioMedium", [] { return proio_file(200'000); }},
                                           BulkFile{"ProioLarge", [] { return proio_file(700'000); }}),
                         [](const auto& file) { return std::string(file.param.name); });
#ifdef RECORDFS_HAVE_BLOSC
INSTANTIATE_TEST_SUITE_P(
    Blosc, BulkScan,
    ::testing::Values(BulkFile{"BloscpackOffsets", [] { return bloscpack_file(true, DigestId::kAdler32); }},
                      BulkFile{"BloscpackChain", [] { return bloscpack_file(false, DigestId::kSha1); }},
                      BulkFile{"BloscpackUnchecked", [] { return bloscpack_file(true, std::nullopt); }}),
    [](const auto& file) { return std::string(file.param.name); });
#endif

// Buckets that are too large for a batch are read in steps, whose bytes are in two pieces of the file.
TEST(Steps, EventsInTwoPiecesOfTheFileAreWhole) {
  const std::string bytes = proio_file(2'200'000);
  const Store file(bytes);
  for (const unsigned threads : {1u, 3u}) {
    const Found found = found_in(file.store, threads, true);
    EXPECT_EQ(found.in_batches, 0u);
    ASSERT_GT(found.records.size(), 10'000u);
    for (std::size_t i = 0; i < found.records.size(); ++i) ASSERT_EQ(found.records[i], std::pair(i, record(i)));
  }
}

}  // namespace
}  // namespace recordfs
