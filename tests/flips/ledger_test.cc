// Tests what an entry for older versions of a library means with older, newer and untested versions.

#include "tests/flips/ledger.h"
#include "tests/unit/support/read_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace recordfs::flips {
namespace {

constexpr const char* kText =
    "\nsample\n  costs 3\n  flip unseen 4-6 | always\n  flip wrong 9 11-12 until zstd 1.5.4, reported from 1.5.7 | "
    "sometimes\n";

Versions with_zstd(const std::string& version) { return {{"zstd", version}}; }

class LedgerFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Page page_of(const std::string& text) {
    std::ofstream(path_) << text;
    return read_ledger(path_).pages.at(0);
  }
  void expect_effects(Position at, const std::string& zstd, Effect mildest, Effect worst) {
    const Expected expected = page_of(kText).expected(Change::kFlip, at, with_zstd(zstd));
    EXPECT_EQ(expected.mildest, mildest) << at << " with zstd " << zstd;
    EXPECT_EQ(expected.worst, worst) << at << " with zstd " << zstd;
  }

  const std::string path_ = ::testing::TempDir() + "ledger_test.txt";
};

TEST_F(LedgerFile, EntryWithoutVersionsAppliesToEveryVersion) {
  for (const char* zstd : {"1.4.8", "1.5.4", "1.5.5", "1.5.7"})
    expect_effects(5, zstd, Effect::kUnseen, Effect::kUnseen);
}

TEST_F(LedgerFile, OlderVersionMustHaveTheEffect) {
  for (const char* zstd : {"1.4.8", "1.5.4"}) {
    for (const Position at : {9u, 11u, 12u}) expect_effects(at, zstd, Effect::kWrong, Effect::kWrong);
  }
}

TEST_F(LedgerFile, NewerVersionMustReportTheDamage) {
  for (const char* zstd : {"1.5.7", "1.5.10", "1.6.0", "2.0"})
    expect_effects(11, zstd, Effect::kReported, Effect::kReported);
}

TEST_F(LedgerFile, UntestedVersionMayHaveTheEffectOrReportTheDamage) {
  for (const char* zstd : {"1.5.5", "1.5.6"}) expect_effects(11, zstd, Effect::kReported, Effect::kWrong);
  const Expected expected = page_of(kText).expected(Change::kFlip, 11, with_zstd("1.5.5"));
  EXPECT_TRUE(expected.allows(Effect::kReported));
  EXPECT_TRUE(expected.allows(Effect::kWrong));
  EXPECT_FALSE(expected.allows(Effect::kUnseen));
}

TEST_F(LedgerFile, UnlistedPlacesAndChangesMustBeReported) {
  for (const Position at : {3u, 7u, 10u, 13u}) expect_effects(at, "1.5.4", Effect::kReported, Effect::kReported);
  EXPECT_EQ(page_of(kText).expected(Change::kCut, 9, with_zstd("1.5.4")).worst, Effect::kReported);
}

TEST_F(LedgerFile, WrittenLedgerEqualsTheOneThatWasRead) {
  page_of(kText);
  write_ledger(path_, read_ledger(path_));
  EXPECT_EQ(testing::read_file(path_), kText);
}

TEST_F(LedgerFile, EntryForOlderVersionsIsKeptIfANewerOneReportsTheDamage) {
  const Page before = page_of(kText);
  const Effects found = {
      {9, Effect::kReported}, {10, Effect::kReported}, {11, Effect::kReported}, {12, Effect::kReported}};
  const auto entries = entries_of(Change::kFlip, found, before, with_zstd("1.5.7"));
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].effect, Effect::kWrong);
  EXPECT_EQ(entries[0].until, before.entries[1].until);
  EXPECT_EQ(entries[0].ranges.size(), 2U);
}

TEST_F(LedgerFile, EntryForOlderVersionsIsRemovedIfAnOlderOneReportsTheDamage) {
  const Effects found = {{9, Effect::kReported}, {11, Effect::kWrong}, {12, Effect::kWrong}};
  const auto entries = entries_of(Change::kFlip, found, page_of(kText), with_zstd("1.5.4"));
  ASSERT_EQ(entries.size(), 1U);
  ASSERT_EQ(entries[0].ranges.size(), 1U);
  EXPECT_EQ(entries[0].ranges[0].first, 11U);
}

using LedgerDeathTest = LedgerFile;

TEST_F(LedgerDeathTest, UnknownLibraryOrMissingVersionStopsTheProgram) {
  for (const char* until : {"zzz 1.5.4, reported from 1.5.7", "zstd 1.5.4", "zstd 1.5.4, reported from",
                            "zstd 1.5.4 reported from 1.5.7"}) {
    const std::string text = std::string("\nsample\n  costs 3\n  flip wrong 9 until ") + until + " | why\n";
    EXPECT_EXIT(page_of(text), ::testing::ExitedWithCode(2), "line 4: invalid entry") << until;
  }
}

}  // namespace
}  // namespace recordfs::flips
