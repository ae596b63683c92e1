// Checks that recomputing checksums gives files with valid checksums; otherwise fuzzing would not get past them. Each
// test runs for every format.
#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "tests/contract/format_folder.h"
#include "tests/contract/reading.h"
#include "tests/fuzz/drive.h"
#include "tests/unit/support/read_file.h"
#include "tests/unit/support/thorough.h"

namespace recordfs::fuzz {
namespace {

namespace fs = std::filesystem;

// The parameter is the folder of a format below tests/corpus.
class MutatorTest : public ::testing::TestWithParam<std::string> {
 protected:
  const Mutator& mutator() const { return *mutator_for(format()); }
  const Format& format() const { return format_in(GetParam()); }

  contract::Reading read(const std::string& bytes) const {
    const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
    auto container = format().open({}, source, Limits{});
    return container ? contract::read_all(**container, bytes.size()) : contract::Reading{};
  }

  // Returns the samples up to a certain size that contain records and report no damage.
  std::vector<std::string> undamaged_samples() const {
    std::vector<std::string> samples;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path("tests/corpus") / GetParam())) {
      if (!entry.is_regular_file() || entry.path().extension() == ".json" || entry.file_size() > 200000) continue;
      std::string bytes = testing::read_file(entry.path());
      const auto reading = read(bytes);
      if (!reading.records.empty() && !reading.reports_damage()) samples.push_back(std::move(bytes));
    }
    return samples;
  }

  std::string fixed(std::string bytes) const {
    mutator().fix_checksums(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
};

// Returns the folders of formats that have a mutator.
std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    if (mutator_for(format) != nullptr) names.push_back(contract::folder_of(format));
  }
  return names;
}

void flip_one(std::string& bytes, std::size_t) {
  if (!bytes.empty()) bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
}

TEST_P(MutatorTest, FixingAnUndamagedFileChangesNoRecord) {
  const auto samples = undamaged_samples();
  ASSERT_GE(samples.size(), 5u);
  for (const std::string& bytes : samples) EXPECT_EQ(read(fixed(bytes)).records, read(bytes).records);
}

// A checksum detects a flipped byte in the middle of a file. With checksums recomputed, at least a quarter of these
// files give more records.
TEST_P(MutatorTest, FixingMakesAChangedRecordReadable) {
  int with_checksums = 0;
  int detected = 0;
  int readable = 0;
  for (const std::string& bytes : undamaged_samples()) {
    std::string changed = bytes;
    flip_one(changed, 0);
    if (fixed(changed) != changed) ++with_checksums;
    const std::size_t without = read(changed).records.size();
    if (without == read(bytes).records.size()) continue;
    ++detected;
    if (read(fixed(changed)).records.size() > without) ++readable;
  }
  if (with_checksums == 0) GTEST_SKIP() << "the format has no checksums of its own";
  EXPECT_GT(detected, 0);
  EXPECT_GE(readable, detected / 4);
}

TEST_P(MutatorTest, RestructuredFilesKeepMostOfTheirRecords) {
  std::mt19937_64 random(1);
  const std::uint64_t rounds = testing::is_thorough() ? 10 : 4;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const std::string& bytes : undamaged_samples()) {
    before += rounds * read(bytes).records.size();
    for (std::uint64_t i = 0; i < rounds; ++i) {
      after += read(fixed(mutator().restructure(as_bytes(bytes), random(), flip_one))).records.size();
    }
  }
  EXPECT_GT(after, before / 3);
}

TEST_P(MutatorTest, ArbitraryBytesCanBeFixedAndRestructured) {
  std::mt19937_64 random(2);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() & 0xFF);
    EXPECT_EQ(fixed(bytes).size(), size);
    drive(format(), as_bytes(fixed(mutator().restructure(as_bytes(bytes), random(), flip_one))));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, MutatorTest, ::testing::ValuesIn(folders()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace recordfs::fuzz
