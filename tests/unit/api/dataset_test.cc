#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/api/recordfs.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

constexpr const char* kExamples = "tests/corpus/tfrecord/examples.tfrecord";
constexpr const char* kDataFlip = "tests/corpus/tfrecord/damaged/data-flip.tfrecord";
constexpr const char* kHeaderFlip = "tests/corpus/tfrecord/damaged/length-flip.tfrecord";

struct Close {
  void operator()(recordfs_dataset* dataset) const { recordfs_close(dataset); }
  void operator()(recordfs_records* records) const { recordfs_records_close(records); }
  void operator()(recordfs_chunks* chunks) const { recordfs_chunks_close(chunks); }
  void operator()(recordfs_damage* damage) const { recordfs_damage_close(damage); }
};
using Dataset = std::unique_ptr<recordfs_dataset, Close>;

std::string last_message() { return recordfs_last_error()->message; }

Dataset open(const char* path) {
  recordfs_options options = RECORDFS_OPTIONS_INIT;
  options.index = "no";
  recordfs_dataset* dataset = nullptr;
  EXPECT_EQ(recordfs_open(&path, 1, &options, &dataset), RECORDFS_OK) << last_message();
  return Dataset(dataset);
}

std::string text_of(recordfs_bytes* bytes) {
  std::string text(static_cast<const char*>(bytes->data), bytes->size);
  recordfs_bytes_free(bytes);
  return text;
}

// What an iterator returned.
struct Iterated {
  std::vector<std::uint64_t> ordinals{};
  std::uint64_t bytes = 0;
  std::vector<recordfs_status> failures{};  // that can be continued, and the one that ended it
  std::uint64_t position = 0;               // of the last failure
  std::string message{};
};

Iterated iterate(const Dataset& dataset, const char* where = nullptr, std::uint64_t begin = 0,
                 std::uint64_t end = UINT64_MAX) {
  Iterated result;
  recordfs_records* opened = nullptr;
  EXPECT_EQ(recordfs_records_open(dataset.get(), begin, end, where, &opened), RECORDFS_OK) << last_message();
  const std::unique_ptr<recordfs_records, Close> records(opened);
  for (;;) {
    const recordfs_record* record = nullptr;
    const recordfs_status status = recordfs_records_next(records.get(), &record);
    if (status == RECORDFS_END) return result;
    if (status == RECORDFS_OK) {
      result.ordinals.push_back(record->ordinal);
      result.bytes += record->size;
      continue;
    }
    EXPECT_EQ(record, nullptr);
    result.failures.push_back(status);
    result.position = recordfs_last_error()->position;
    result.message = last_message();
    if (recordfs_last_error()->can_continue == 0) {
      EXPECT_EQ(recordfs_records_next(records.get(), &record), status);
      return result;
    }
  }
}

TEST(DatasetInC, FactsAndRecordsAreThoseOfTheFile) {
  const Dataset dataset = open(kExamples);
  std::uint64_t count = 0;
  ASSERT_EQ(recordfs_count(dataset.get(), &count), RECORDFS_OK);
  EXPECT_EQ(count, 10u);
  EXPECT_EQ(recordfs_file_count(dataset.get()), 1u);
  EXPECT_TRUE(std::string_view(recordfs_file_path(dataset.get(), 0)).ends_with(kExamples));
  EXPECT_EQ(recordfs_file_path(dataset.get(), 1), nullptr);
  const char* format = nullptr;
  ASSERT_EQ(recordfs_file_format(dataset.get(), 0, &format), RECORDFS_OK);
  EXPECT_STREQ(format, "tfrecord");
  recordfs_bytes* bytes = nullptr;
  ASSERT_EQ(recordfs_file_info(dataset.get(), 0, &bytes), RECORDFS_OK);
  const std::string info = text_of(bytes);
  EXPECT_NE(info.find("\"size\":2962"), std::string::npos);
  EXPECT_TRUE(info.ends_with('}')) << info;
  ASSERT_EQ(recordfs_read(dataset.get(), 1, &bytes), RECORDFS_OK);
  EXPECT_EQ(text_of(bytes).size(), 121u);
  ASSERT_EQ(recordfs_read_json(dataset.get(), 1, &bytes), RECORDFS_OK);
  EXPECT_EQ(std::strlen(static_cast<const char*>(bytes->data)), bytes->size);
  EXPECT_TRUE(text_of(bytes).starts_with("{\"ordinal\":1,\"size\":121,"));
}

TEST(DatasetInC, DatabaseIsNoDataSet) {
  recordfs_dataset* dataset = nullptr;
  const char* const paths[] = {"tests/corpus/database/leveldb-levels", kExamples};
  for (const std::size_t count : {1, 2}) {
    EXPECT_EQ(recordfs_open(paths, count, nullptr, &dataset), RECORDFS_UNSUPPORTED);
    EXPECT_EQ(dataset, nullptr);
    EXPECT_NE(last_message().find("a database, which has keys and no records"), std::string::npos) << last_message();
  }
}

TEST(DatasetInC, MetadataIsFoundByItsKey) {
  const Dataset dataset = open("tests/corpus/riegeli/metadata_full_simple_uncompressed.riegeli");
  recordfs_bytes* value = nullptr;
  EXPECT_EQ(recordfs_file_metadata(dataset.get(), 0, "no such key", &value), RECORDFS_NOT_FOUND);
  EXPECT_EQ(value, nullptr);
  ASSERT_EQ(recordfs_file_metadata(dataset.get(), 0, "record_type_name", &value), RECORDFS_OK);
  EXPECT_EQ(text_of(value), "hdev.Everything");
}

TEST(DatasetInC, IterationReturnsTheWantedRecords) {
  const Dataset dataset = open(kExamples);
  EXPECT_EQ(iterate(dataset).ordinals.size(), 10u);
  EXPECT_EQ(iterate(dataset, nullptr, 2, 5).ordinals, (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(iterate(dataset, "image/width == 640").ordinals, std::vector<std::uint64_t>{0});
}

TEST(DatasetInC, ConditionThatFitsNoRecordFailsAtTheEnd) {
  const Dataset dataset = open(kExamples);
  const Iterated absent = iterate(dataset, "image/widht == 640");
  EXPECT_EQ(absent.failures, std::vector{RECORDFS_MISUSE});
  EXPECT_EQ(absent.message, "no record has a field image/widht (did you mean image/width?)");
  const Iterated other = iterate(dataset, "image/width == 'a'");
  EXPECT_EQ(other.failures, std::vector{RECORDFS_MISUSE});
  recordfs_records* records = nullptr;
  EXPECT_EQ(recordfs_records_open(dataset.get(), 0, 1, "image/width ==", &records), RECORDFS_MISUSE);
  EXPECT_EQ(records, nullptr);
}

TEST(DatasetInC, DamageStopsAnIterationThatThenContinues) {
  struct Case {
    const char* path;
    recordfs_status status;
    std::uint64_t position;
  };
  for (const auto& [path, status, position] :
       {Case{kDataFlip, RECORDFS_DAMAGE, 23169}, Case{kHeaderFlip, RECORDFS_DAMAGE, 23169},
        Case{"tests/corpus/tfrecord/damaged/cut-in-data.tfrecord", RECORDFS_UNFINISHED, 23169}}) {
    SCOPED_TRACE(path);
    const Dataset dataset = open(path);
    const Iterated read = iterate(dataset);
    EXPECT_EQ(read.failures, std::vector{status});
    EXPECT_EQ(read.position, position);
    EXPECT_GT(read.ordinals.size(), 200u);
    std::uint64_t count = 0;
    ASSERT_EQ(recordfs_count(dataset.get(), &count), RECORDFS_OK);
    EXPECT_EQ(read.ordinals.size(), count - (path == kDataFlip ? 1 : 0));
  }
}

TEST(DatasetInC, DamagedRecordIsAnErrorWithItsPlace) {
  const Dataset dataset = open(kDataFlip);
  std::uint64_t damaged = 0;
  for (const Iterated read = iterate(dataset); damaged < read.ordinals.size(); ++damaged) {
    if (read.ordinals[damaged] != damaged) break;
  }
  recordfs_bytes* record = nullptr;
  ASSERT_EQ(recordfs_read(dataset.get(), damaged, &record), RECORDFS_DAMAGE);
  EXPECT_EQ(record, nullptr);
  EXPECT_EQ(recordfs_last_error()->position, 23169u);
  EXPECT_TRUE(std::string_view(recordfs_last_error()->path).ends_with(kDataFlip));
  EXPECT_EQ(last_message(), "a record that does not match its checksum");
  EXPECT_EQ(recordfs_read(dataset.get(), UINT64_MAX, &record), RECORDFS_NOT_FOUND);
}

TEST(DatasetInC, ChunksCoverAllRecordsAndFailAtDamage) {
  for (const auto& [path, failures] : {std::pair{kExamples, 0}, std::pair{kHeaderFlip, 1}}) {
    const Dataset dataset = open(path);
    recordfs_chunks* opened = nullptr;
    ASSERT_EQ(recordfs_chunks_open(dataset.get(), 0, &opened), RECORDFS_OK);
    const std::unique_ptr<recordfs_chunks, Close> chunks(opened);
    const recordfs_chunk* chunk = nullptr;
    std::uint64_t records = 0;
    int failed = 0;
    for (recordfs_status status{}; (status = recordfs_chunks_next(chunks.get(), &chunk)) != RECORDFS_END;) {
      if (status != RECORDFS_OK) {
        ++failed;
        ASSERT_EQ(recordfs_last_error()->can_continue, 1);
        EXPECT_EQ(recordfs_last_error()->position, 23169u);
        continue;
      }
      EXPECT_EQ(chunk->first_ordinal, records);
      EXPECT_STREQ(chunk->codec, "none");
      EXPECT_LT(chunk->begin, chunk->end);
      records += chunk->records;
    }
    std::uint64_t count = 0;
    ASSERT_EQ(recordfs_count(dataset.get(), &count), RECORDFS_OK);
    EXPECT_EQ(records, count);
    EXPECT_EQ(failed, failures);
  }
}

using FindDamage = recordfs_status (*)(const recordfs_dataset*, std::size_t, recordfs_damage**);

// Returns the regions with what a test compares of them.
std::vector<std::string> regions_of(const char* path, FindDamage find) {
  const Dataset dataset = open(path);
  recordfs_damage* opened = nullptr;
  EXPECT_EQ(find(dataset.get(), 0, &opened), RECORDFS_OK) << last_message();
  const std::unique_ptr<recordfs_damage, Close> damage(opened);
  std::vector<std::string> regions;
  const recordfs_region* region = nullptr;
  while (recordfs_damage_next(damage.get(), &region) == RECORDFS_OK) {
    const std::string end = region->end == RECORDFS_UNKNOWN ? "?" : std::to_string(region->end);
    regions.push_back(std::to_string(region->begin) + "-" + end + " " + region->kind + " " +
                      std::to_string(region->records_lost) + " " + region->reason);
  }
  return regions;
}

TEST(DatasetInC, DamagedRegionsAreListed) {
  const std::vector<std::string> header{"23169-23206 damage 1 a length that does not match its checksum"};
  EXPECT_EQ(regions_of(kHeaderFlip, recordfs_damage_open), header);
  EXPECT_EQ(regions_of(kHeaderFlip, recordfs_verify), header);
  EXPECT_TRUE(regions_of(kDataFlip, recordfs_damage_open).empty());
  EXPECT_EQ(regions_of(kDataFlip, recordfs_verify),
            std::vector<std::string>{"23169-23206 damage 1 a record that does not match its checksum"});
  EXPECT_TRUE(regions_of(kExamples, recordfs_verify).empty());
}

TEST(DatasetInC, MissingFileOfASetIsDamageAndKeepsItsNumber) {
  const Dataset dataset = open("tests/corpus/tfrecord/train@2");
  ASSERT_EQ(recordfs_file_count(dataset.get()), 2u);
  const char* format = nullptr;
  EXPECT_EQ(recordfs_file_format(dataset.get(), 1, &format), RECORDFS_DAMAGE);
  EXPECT_TRUE(std::string_view(recordfs_last_error()->path).ends_with("train-00001-of-00002")) << last_message();
  EXPECT_EQ(recordfs_file_format(dataset.get(), 2, &format), RECORDFS_NOT_FOUND);
  EXPECT_EQ(iterate(dataset).failures, std::vector{RECORDFS_DAMAGE});
}

TEST(DatasetInC, WrongArgumentsAreMisuse) {
  const char* path = kExamples;
  const char* none = nullptr;
  recordfs_dataset* dataset = nullptr;
  EXPECT_EQ(recordfs_open(&path, 0, nullptr, &dataset), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_open(&none, 1, nullptr, &dataset), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_open(&path, 1, nullptr, nullptr), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_count(nullptr, nullptr), RECORDFS_MISUSE);
  const Dataset opened = open(kExamples);
  recordfs_bytes* value = nullptr;
  EXPECT_EQ(recordfs_file_metadata(opened.get(), 0, nullptr, &value), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_file_metadata(opened.get(), 0, "key", nullptr), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_file_count(nullptr), 0u);
  recordfs_options options = RECORDFS_OPTIONS_INIT;
  options.threads = 1025;
  EXPECT_EQ(recordfs_open(&path, 1, &options, &dataset), RECORDFS_MISUSE);
  options.threads = 0;
  options.index = "";
  EXPECT_EQ(recordfs_open(&path, 1, &options, &dataset), RECORDFS_MISUSE);
  EXPECT_EQ(last_message(), "recordfs_options: index is empty");
  recordfs_close(nullptr);
  recordfs_bytes_free(nullptr);
}

TEST(DatasetInC, OptionsOfOtherVersionsAreDefaultsOrMisuse) {
  const char* path = kExamples;
  recordfs_dataset* dataset = nullptr;
  struct Later {
    recordfs_options options = RECORDFS_OPTIONS_INIT;
    std::uint64_t added = 0;
  } later;
  later.options.struct_size = sizeof(later);
  ASSERT_EQ(recordfs_open(&path, 1, &later.options, &dataset), RECORDFS_OK);
  recordfs_close(dataset);
  later.added = 1;
  EXPECT_EQ(recordfs_open(&path, 1, &later.options, &dataset), RECORDFS_MISUSE);
  later.options.struct_size = sizeof(std::size_t);  // as of a version without any option
  later.options.threads = 5000;
  ASSERT_EQ(recordfs_open(&path, 1, &later.options, &dataset), RECORDFS_OK) << last_message();
  recordfs_close(dataset);
  later.options.struct_size = 0;
  EXPECT_EQ(recordfs_open(&path, 1, &later.options, &dataset), RECORDFS_MISUSE);
}

TEST(DatasetInC, FilesThatCannotBeOpenedFailWithTheirReason) {
  struct Case {
    const char* path;
    recordfs_status status;
    int os_error;
  };
  for (const auto& [path, status, os_error] :
       {Case{"no such file", RECORDFS_IO, ENOENT}, Case{"tests/unit/api/CMakeLists.txt", RECORDFS_NO_CONTAINER, 0},
        Case{"no such pattern*", RECORDFS_IO, ENOENT}}) {
    recordfs_dataset* dataset = nullptr;
    EXPECT_EQ(recordfs_open(&path, 1, nullptr, &dataset), status) << path;
    EXPECT_EQ(dataset, nullptr);
    EXPECT_EQ(recordfs_last_error()->os_error, os_error) << path;
    EXPECT_NE(last_message(), "") << path;
  }
}

TEST(DatasetInC, ErrorsOfDescriptorsHaveTheirPath) {
  struct Case {
    std::string descriptors;
    recordfs_status status;
    int os_error;
  };
  const TempFolder folder;
  folder.write("types", "\n\x0E\n\aa.proto\"\x03\n\x01M");  // a file a.proto with a message M
  for (const auto& [descriptors, status, os_error] :
       {Case{"no such descriptors", RECORDFS_IO, ENOENT}, Case{"tests/unit/api/CMakeLists.txt", RECORDFS_DAMAGE, 0},
        Case{(folder / "types").string(), RECORDFS_NOT_FOUND, 0}}) {
    const char* path = kExamples;
    recordfs_dataset* dataset = nullptr;
    recordfs_options options = RECORDFS_OPTIONS_INIT;
    options.descriptors = descriptors.c_str();
    options.type = "no.Type";
    EXPECT_EQ(recordfs_open(&path, 1, &options, &dataset), status) << last_message();
    EXPECT_EQ(dataset, nullptr);
    EXPECT_EQ(recordfs_last_error()->path, descriptors);
    EXPECT_EQ(recordfs_last_error()->os_error, os_error) << last_message();
  }
}

TEST(DatasetInC, ErrorsBelongToTheirThread) {
  recordfs_bytes* record = nullptr;
  EXPECT_EQ(recordfs_read(nullptr, 0, &record), RECORDFS_MISUSE);
  std::thread([] { EXPECT_EQ(recordfs_last_error()->status, RECORDFS_OK); }).join();
  EXPECT_EQ(recordfs_last_error()->status, RECORDFS_MISUSE);
}

TEST(DatasetInC, ThreadsShareADataset) {
  const Dataset dataset = open(kHeaderFlip);
  const std::uint64_t bytes = iterate(dataset).bytes;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(iterate(dataset).bytes, bytes); });
  for (std::thread& thread : threads) thread.join();
}

TEST(DatasetInC, IteratorsOutliveTheirDataset) {
  Dataset dataset = open(kExamples);
  recordfs_records* opened = nullptr;
  ASSERT_EQ(recordfs_records_open(dataset.get(), 0, UINT64_MAX, nullptr, &opened), RECORDFS_OK);
  const std::unique_ptr<recordfs_records, Close> records(opened);
  recordfs_bytes* bytes = nullptr;
  ASSERT_EQ(recordfs_read(dataset.get(), 1, &bytes), RECORDFS_OK);
  dataset.reset();
  EXPECT_EQ(text_of(bytes).size(), 121u);
  const recordfs_record* record = nullptr;
  ASSERT_EQ(recordfs_records_next(records.get(), &record), RECORDFS_OK);
  EXPECT_EQ(record->size, 508u);
}

TEST(DatasetInC, ForkedChildCannotUseItsParentsObjectsButItsOwn) {
  Dataset dataset = open(kExamples);
  ASSERT_EQ(iterate(dataset).ordinals.size(), 10u);
  const pid_t child = ::fork();
  if (child == 0) {
    std::uint64_t count = 0;
    const bool is_refused = recordfs_count(dataset.get(), &count) == RECORDFS_MISUSE;
    dataset.reset();
    ::_exit(is_refused && iterate(open(kExamples)).ordinals.size() == 10 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(iterate(dataset).ordinals.size(), 10u);
}

}  // namespace
}  // namespace recordfs::testing
