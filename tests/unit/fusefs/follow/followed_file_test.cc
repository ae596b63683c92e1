// Growing files in the file system: which changes are followed, and which are not.
#include <atomic>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "fusefs/follow/growing_file.h"
#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/temp_file.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::testing {
namespace {

// A log that is written record by record.
class FollowedLog {
 public:
  explicit FollowedLog(std::size_t records) : file_("") {
    append(records);
    followed_ = GrowingFile::open(file_.path(), Limits{}, services_).value();
  }

  GrowingFile& followed() { return *followed_; }
  TempFile& file() { return file_; }
  std::string path() const { return file_.path(); }
  static std::string record(std::size_t number) { return "record " + std::to_string(number); }

  void append(std::size_t records) {
    for (std::size_t i = 0; i < records; ++i) writer_.append(record(written_++));
    write();
  }
  // Writes everything that was appended, except for the last `left_out` bytes.
  void write(std::size_t left_out = 0) {
    const std::string_view log = writer_.log();
    file_.write_at(in_file_, log.substr(in_file_, log.size() - left_out - in_file_));
    in_file_ = log.size() - left_out;
  }
  void append_but(std::size_t left_out) {
    writer_.append(record(written_++));
    write(left_out);
  }

  // Waits for the next store and returns it; null if there is nothing more to show.
  std::shared_ptr<const RecordStore> grown() {
    for (;;) {
      const Signal woken;
      auto grown = followed_->grow([woken] { woken.set(); });
      EXPECT_TRUE(grown) << to_string(grown.error());
      if (!grown || *grown || !followed_->is_taking()) return grown ? *grown : nullptr;
      woken.wait();
    }
  }
  static std::uint64_t records(const RecordStore& store) {
    return waited([&] { return store.index().totals(ScanDetail::kCounts); }).value().records;
  }

 private:
  TempFile file_;
  leveldb_log::LogWriter writer_;
  std::size_t written_ = 0;
  std::size_t in_file_ = 0;
  Lines lines_;
  StoreResources services_{1u << 20, 2, lines_.log()};
  std::unique_ptr<GrowingFile> followed_;
};

TEST(GrowingFile, ShowsRecordsOnceTheyAreComplete) {
  FollowedLog log(3);
  EXPECT_EQ(log.records(*log.followed().store()), 3u);
  EXPECT_EQ(log.grown(), nullptr);
  log.append(2);
  ASSERT_TRUE(log.grown());
  EXPECT_EQ(log.records(*log.followed().store()), 5u);
  log.append_but(3);
  EXPECT_EQ(log.grown(), nullptr) << "nothing more can be shown of it";
  log.write();
  ASSERT_TRUE(log.grown());
  EXPECT_EQ(log.records(*log.followed().store()), 6u);
}

TEST(GrowingFile, GrowsWithoutAScanIfNothingWasCounted) {
  FollowedLog log(3);
  log.append(1);
  const auto store = log.grown();
  ASSERT_TRUE(store);
  EXPECT_FALSE(store->index().state().complete);
  EXPECT_EQ(log.records(*store), 4u);
}

TEST(GrowingFile, HasOneWaiterHoweverOftenTheFileChanges) {
  std::atomic<int> wakes{0};  // outlives the thread of the scan
  FollowedLog log(20'000);
  EXPECT_EQ(log.records(*log.followed().store()), 20'000u);
  log.append(1);
  const auto wake = [&wakes] { ++wakes; };
  // The scan takes longer than the calls, unless the machine is busy.
  for (int look = 0; look < 100; ++look) {
    ASSERT_TRUE(log.followed().grow(wake));
  }
  while (log.followed().is_taking()) ASSERT_TRUE(log.followed().grow(wake));
  EXPECT_LE(wakes, 1);
}

TEST(GrowingFile, DetectsThatItsNameIsAnotherFile) {
  FollowedLog log(3);
  EXPECT_TRUE(log.followed().is_at_its_path());
  std::filesystem::rename(log.path(), log.path() + ".1");
  EXPECT_FALSE(log.followed().is_at_its_path());
  std::filesystem::copy_file(log.path() + ".1", log.path());
  EXPECT_FALSE(log.followed().is_at_its_path()) << "a copy is another file";
}

TEST(GrowingFile, IsNoLongerShownAfterTruncationOrRewriting) {
  FollowedLog cut(30);
  cut.file().resize(100);
  EXPECT_EQ(cut.followed().grow([] {}).error().code, Code::kChanged);
  FollowedLog rewritten(30);
  rewritten.file().write_at(0, "other bytes");
  EXPECT_EQ(rewritten.followed().grow([] {}).error().code, Code::kChanged);
}

TEST(FileWatch, WakeBeforeTheWaitIsNotLost) {
  const TempFile file("x");
  FileWatch watch({file.path()});
  watch.wake();
  watch.wait();
  EXPECT_FALSE(watch.is_stopped());
  watch.stop();
  watch.wait();
  watch.rest(std::chrono::hours(1));
  EXPECT_TRUE(watch.is_stopped());
}

}  // namespace
}  // namespace recordfs::testing
