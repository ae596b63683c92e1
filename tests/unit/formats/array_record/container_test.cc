// Chunks of damaged files, as scans describe them, and as the footer locates them.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/array_record/format.h"
#include "core/formats/container.h"
#include "tests/unit/support/read_file.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::array_record {
namespace {

std::string sample(const std::string& name) { return testing::read_file("tests/corpus/array_record/" + name); }

TEST(ArrayRecord, ChunkLostInASearchOfSeveralStepsIsFoundAgainByItsKey) {
  constexpr Position kSecondChunk = 100136;
  std::string bytes = sample("large.array_record");
  bytes.at(kSecondChunk + 5) = static_cast<char>(~bytes[kSecondChunk + 5]);
  Limits limits;
  limits.scan_bytes = 4096;
  const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
  const auto container = kFormat.open({}, source, limits).value();
  int lost = 0;
  for (std::optional<ChunkKey> key = container->traits().first; key;) {
    const Step step = container->scan({}, *key).value();
    if (step.chunk && step.chunk->begin == kSecondChunk) {
      ++lost;
      EXPECT_EQ(step.chunk->records, 2u);
      const Step again = container->scan({}, step.chunk->key).value();
      ASSERT_TRUE(again.chunk);
      EXPECT_EQ(again.chunk->begin, kSecondChunk);
      EXPECT_EQ(again.chunk->records, 2u);
    }
    key = step.next;
  }
  EXPECT_EQ(lost, 1);
}

std::unique_ptr<Container> opened(const std::string& bytes) {
  auto container = kFormat.open({}, std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value()), {});
  return container ? std::move(*container) : nullptr;
}

// Compares the chunks that the footer locates with those of a scan. Returns the number of records that it locates.
std::uint64_t expect_located_as_scanned(const Container& container, const std::string& what) {
  std::uint64_t records = 0;
  std::uint64_t located = 0;
  for (std::optional<ChunkKey> key = container.traits().first; key;) {
    const Step step = container.scan({}, *key).value();
    const std::uint64_t count = step.chunk ? step.chunk->records.value_or(0) : 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto found = container.locate_record({}, records + i).value();
      if (!found) continue;
      ++located;
      EXPECT_EQ(found->first_ordinal, records) << what;
      EXPECT_EQ(found->chunk.key, step.chunk->key) << what;
      EXPECT_EQ(found->chunk.begin, step.chunk->begin) << what;
      EXPECT_EQ(found->chunk.end, step.chunk->end) << what;
      EXPECT_EQ(found->chunk.records, step.chunk->records) << what;
      EXPECT_EQ(found->chunk.decoded_size, step.chunk->decoded_size) << what;
      EXPECT_EQ(found->chunk.kind, step.chunk->kind) << what;
    }
    records += count;
    key = step.next;
  }
  for (const std::uint64_t beyond : {records, records + 1, UINT64_MAX}) {
    EXPECT_FALSE(container.locate_record({}, beyond).value()) << what;
  }
  return located;
}

constexpr std::uint64_t kFileBlock = 65536;
constexpr std::size_t kChunks = 150;
constexpr std::uint64_t kRecords = 3;  // of each chunk

std::string field(int number, const std::string& bytes) {
  return riegeli_writer::varint(static_cast<std::uint64_t>(number) * 8 + 2) + riegeli_writer::varint(bytes.size()) +
         bytes;
}
std::string field(int number, std::uint64_t value) {
  return riegeli_writer::varint(static_cast<std::uint64_t>(number) * 8) + riegeli_writer::varint(value);
}

struct Listed {
  std::uint64_t begin = 0;
  std::uint64_t records = kRecords;
};

// A file that is large enough to be read by its footer. `change` changes what the footer lists.
struct LargeFile {
  explicit LargeFile(const std::function<void(std::vector<Listed>&)>& change = {}) {
    riegeli_writer::Writer writer;
    std::vector<Listed> index;
    for (std::size_t i = 0; i < kChunks; ++i) {
      const std::vector<std::string> records(kRecords, std::string(3000, static_cast<char>(i)));
      begins.push_back(writer.add(riegeli_writer::simple_chunk(records)));
      index.push_back({.begin = begins.back()});
    }
    if (change) change(index);
    std::uint64_t sum = 0;
    for (const Listed& listed : index) sum += listed.records;
    std::vector<std::string> footer{field(1, field(1, 1) + field(2, index.size()) + field(3, sum))};
    for (const Listed& listed : index) {
      footer.push_back(field(1, listed.begin) + field(2, 1) + field(3, listed.records));
    }
    end = writer.add(riegeli_writer::simple_chunk(footer));
    writer.pad_to((writer.size() + 100 + kFileBlock - 1) / kFileBlock * kFileBlock);
    const std::string message = field(1, end) + "\x10\xde\xc0\xeb\xfe\x84\xce\xc3\xc9\x71";
    writer.add(riegeli_writer::simple_chunk({message, message, message}));
    bytes = writer.file();
  }

  std::string bytes;
  std::vector<std::uint64_t> begins;
  std::uint64_t end = 0;  // of the records
};

TEST(ArrayRecord, FooterLocatesEachRecordOfASoundFile) {
  const LargeFile file;
  ASSERT_GT(file.bytes.size(), std::size_t{1} << 20);
  const auto container = opened(file.bytes);
  ASSERT_TRUE(container);
  EXPECT_EQ(expect_located_as_scanned(*container, "sound"), kChunks * kRecords);
}

TEST(ArrayRecord, LocatedChunksOfADamagedFileAreThoseOfTheScan) {
  const LargeFile file;
  for (const std::uint64_t at : {std::uint64_t{30}, file.begins[1], file.begins[40], file.begins[149], file.end}) {
    for (const std::uint64_t offset : {0u, 9u, 20u, 30u, 39u, 45u}) {
      std::string bytes = file.bytes;
      char& byte = bytes[static_cast<std::size_t>(at + offset)];
      byte = static_cast<char>(~byte);
      const std::string what = std::to_string(at + offset);
      const auto container = opened(bytes);
      ASSERT_TRUE(container) << what;
      const std::uint64_t located = expect_located_as_scanned(*container, what);
      const std::uint64_t least = at < file.end ? (kChunks - 1) * kRecords : 0;
      EXPECT_GE(located, least) << what;
    }
  }
  std::string torn = file.bytes;
  torn.replace(static_cast<std::size_t>(file.begins[20] + 7), static_cast<std::size_t>(kFileBlock), kFileBlock, '\0');
  EXPECT_GT(expect_located_as_scanned(*opened(torn), "torn"), 0u);
}

TEST(ArrayRecord, FooterThatContradictsAChunkDoesNotLocateIt) {
  const LargeFile more([](auto& index) { ++index[5].records; });
  EXPECT_FALSE(opened(more.bytes)->locate_record({}, 5 * kRecords).value());
  const LargeFile none([](auto& index) { index[5].records = 0; });
  EXPECT_FALSE(opened(none.bytes)->locate_record({}, 0).value());
  const LargeFile elsewhere([](auto& index) { index[5].begin += 1; });
  EXPECT_FALSE(opened(elsewhere.bytes)->locate_record({}, 5 * kRecords).value());
  const LargeFile forgets([](auto& index) { index.erase(index.begin() + 6); });
  EXPECT_FALSE(opened(forgets.bytes)->locate_record({}, 5 * kRecords).value());
  const LargeFile forgets_first([](auto& index) { index.erase(index.begin()); });
  EXPECT_FALSE(opened(forgets_first.bytes)->locate_record({}, 0).value());
}

TEST(ArrayRecord, DamagedSamplesHaveTheirRecordsWhereAScanFindsThem) {
  for (const auto& file : std::filesystem::directory_iterator("tests/corpus/array_record/damaged")) {
    if (file.path().extension() != ".array_record") continue;
    const std::string name = "damaged/" + file.path().filename().string();
    if (const auto container = opened(sample(name))) expect_located_as_scanned(*container, name);
  }
}

}  // namespace
}  // namespace recordfs::array_record
