#include <algorithm>
#include <random>

#include "tests/contract/faulty_source.h"
#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

const Error kEio{Code::kIo, 0, "bad sector", EIO};
const Error kRewritten{Code::kChanged, 0, "rewritten", 0};

class SourceTest : public SampleTest {
 protected:
  void SetUp() override {
    auto container = sample().format->open({}, source_, Limits{});
    if (container) container_ = std::move(*container);
  }

  // Repeats `action`, each time with a later read failing, until none fails. Every failure has to be returned
  // unchanged, and the attempt after the last one has to succeed. `for_ever`: reads after the failing one fail too, for
  // actions that may replace a large read by small ones.
  template <class Action>
  void fail_each_read(const Action& action, std::string_view what, bool for_ever = false) {
    for (std::uint64_t reads = 0; reads < 200; reads = reads < 8 ? reads + 1 : reads * 2) {
      source_->fail_after(reads, kEio, for_ever);
      const auto result = action();
      source_->mend();
      if (!source_->has_failed()) break;
      ASSERT_FALSE(result) << what << " succeeds although read " << reads << " fails";
      EXPECT_EQ(result.error().code, Code::kIo) << what << ": " << to_string(result.error());
      EXPECT_EQ(result.error().os_error, EIO) << what;
    }
  }

  std::vector<ChunkInfo> some_chunks(const Reading& whole) const {
    std::vector<ChunkInfo> some;
    std::mt19937_64 random(5);
    std::ranges::sample(whole.walk.chunks(), std::back_inserter(some), 12, random);
    return some;
  }

  const std::shared_ptr<FaultySource> source_ = std::make_shared<FaultySource>(source_of(bytes()));
  std::unique_ptr<Container> container_;
};

RECORDFS_FOR_EACH(containers(), SourceTest);

TEST_P(SourceTest, FailedReadDuringProbeOrOpenIsNotTakenForAnotherFormat) {
  for (const ProbeDepth depth : {ProbeDepth::kHead, ProbeDepth::kSearch}) {
    fail_each_read([&] { return sample().format->probe({}, *source_, sample().file_name, depth); }, "probe", true);
  }
  fail_each_read([&] { return sample().format->open({}, source_, Limits{}); }, "open", true);
}

TEST_P(SourceTest, FailedReadDuringAStepIsAnErrorAndARetrySucceeds) {
  if (!container_) return;
  const Walk whole = walk(*container_, bytes().size());
  std::vector<Visit> some;
  std::mt19937_64 random(6);
  std::ranges::sample(whole.visits, std::back_inserter(some), 50, random);
  for (const Visit& visit : some) {
    fail_each_read([&] { return container_->scan({}, visit.at); }, "scan");
    const auto again = container_->scan({}, visit.at);
    ASSERT_TRUE(again);
    EXPECT_TRUE(same_step(*again, visit.step)) << "step at " << visit.at.position;
  }
}

TEST_P(SourceTest, FailedReadOfTheRecordTypeIsAnErrorAndARetrySucceeds) {
  if (!container_ || container_->metadata() == nullptr) return;
  const std::string expected(container_->metadata()->record_type({}).value());
  for (std::uint64_t reads = 0;; ++reads) {
    const auto fresh = sample().format->open({}, source_, Limits{});
    ASSERT_TRUE(fresh);
    source_->fail_after(reads, kEio);
    const auto type = (*fresh)->metadata()->record_type({});
    source_->mend();
    if (!source_->has_failed()) break;
    ASSERT_FALSE(type) << "record_type succeeds although read " << reads << " fails";
    EXPECT_EQ(type.error().code, Code::kIo) << to_string(type.error());
    EXPECT_EQ((*fresh)->metadata()->record_type({}).value(), expected);
  }
}

TEST_P(SourceTest, FailedReadInsideAChunkIsAnErrorAndARetrySucceeds) {
  if (!container_) return;
  const Reading whole = read_all(*container_, bytes().size());
  for (const ChunkInfo& chunk : some_chunks(whole)) {
    const bool sound = container_->decode({}, chunk).has_value();
    fail_each_read([&] { return container_->decode({}, chunk); }, "decode");
    fail_each_read([&] { return container_->layout({}, chunk); }, "layout");
    fail_each_read([&] { return container_->verify({}, chunk); }, "verify");
    fail_each_read([&] { return container_->open_in_place({}, chunk); }, "open_in_place");
    EXPECT_EQ(container_->decode({}, chunk).has_value(), sound) << to_string(chunk);
  }
  EXPECT_EQ(read_all(*container_, bytes().size()).records, whole.records);
}

TEST_P(SourceTest, FailedReadDuringLocateIsAnErrorNotAMissingChunk) {
  if (!container_ || !container_->traits().has_seek_structure) return;
  for (const Position at : places(walk(*container_, bytes().size()), std::min<std::uint64_t>(50, bytes().size()))) {
    fail_each_read([&] { return container_->locate({}, at); }, "locate", true);
  }
}

TEST_P(SourceTest, ChangedFileYieldsCorrectRecordsThenKChanged) {
  if (!container_) return;
  const Reading whole = read_all(*container_, bytes().size());
  for (const std::uint64_t reads : {0u, 1u, 2u, 5u, 30u}) {
    source_->fail_after(reads, kRewritten, true);
    const Reading part = read_all(*container_, bytes().size());
    EXPECT_TRUE(is_subsequence(part.records, whole.records));
    if (!source_->has_failed()) continue;
    for (const Error& error : part.walk.errors) EXPECT_EQ(error.code, Code::kChanged) << to_string(error);
    if (part.records.size() < whole.records.size()) {
      EXPECT_TRUE(part.reports_damage());
    }
  }
}

TEST_P(SourceTest, ShortReadsYieldNoWrongRecord) {
  if (!container_) return;
  const Reading whole = read_all(*container_, bytes().size());
  for (const Position end : places(whole.walk, std::min<std::uint64_t>(12, bytes().size()))) {
    source_->end_at(end);
    const Reading part = read_all(*container_, bytes().size());
    EXPECT_TRUE(is_subsequence(part.records, whole.records)) << "reads end at " << end;
    EXPECT_EQ(joined(check_walk(part.walk, bytes().size())), "") << "reads end at " << end;
  }
}

}  // namespace
}  // namespace recordfs::contract
