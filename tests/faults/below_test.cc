// Injects each fault into each read of a file while everything that a mount shows of the file is read. Every answer
// must be correct or fail with the injected error. After the fault, every answer must be correct again, also in the
// next mount, which loads the index that this one saved.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/formats/registry.h"
#include "core/store/open_container.h"
#include "tests/contract/sample_test.h"
#include "tests/contract/samples.h"
#include "tests/faults/fault.h"
#include "tests/faults/whole_tree.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::faults {
namespace {

using contract::Sample;

constexpr std::uint64_t kChanges = 20;  // reads at which a fully tested file is changed
constexpr std::uint64_t kSome = 1;      // reads that meet a fault in all other samples
constexpr std::size_t kTurns = 3;       // all other samples meet each kind of fault by turns, one sample in so many
constexpr std::uint64_t kFewBytes = 2 << 10;

// Counts the faults injected by all tests, and prints them at the end.
struct Tally : ::testing::Environment {
  std::map<Kind, std::uint64_t> faults;
  std::set<std::string> files;
  std::set<std::string_view> formats;

  void TearDown() override {
    std::uint64_t all = 0;
    std::string each;
    for (const auto& [kind, count] : faults) {
      all += count;
      each += fmt::format("{} {}", each.empty() ? "" : ",", count) + ' ' + std::string(to_string(kind));
    }
    std::cout << fmt::format("faults injected: {} into {} files of {} formats:{}\n", all, files.size(), formats.size(),
                             each);
  }
};
Tally* const tally = [] {
  auto made = std::make_unique<Tally>();
  Tally* const kept = made.get();
  ::testing::AddGlobalTestEnvironment(made.release());
  return kept;
}();

std::uint64_t thoroughness() {
  const char* const text = std::getenv("RECORDFS_THOROUGH");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

// Returns the samples that the registry opens.
const std::vector<Sample>& real_samples() {
  static const auto samples = [] {
    std::vector<Sample> some = contract::containers();
    std::erase_if(some, [](const Sample& sample) {
      if (sample.made) return true;
      const auto bytes = sample.bytes();
      return bytes->empty() || !open_container({}, contract::source_of(*bytes), sample.file_name, Limits{});
    });
    return some;
  }();
  return samples;
}

// Returns whether a sample is tested fully: the smallest undamaged one of its format that has several records and is
// larger than one read.
bool is_fully_tested(const Sample& sample) {
  const auto rank = [](const Sample& one) {
    const bool is_good = !one.want.damaged && !one.want.right.empty() && one.want.right.front().records > 2;
    return std::tuple(!is_good || one.bytes()->size() < kFewBytes, one.bytes()->size(), one.name);
  };
  static const auto smallest = [&] {
    std::map<const Format*, decltype(rank(sample))> found;
    for (const Sample& one : real_samples()) {
      const auto [known, is_new] = found.emplace(one.format, rank(one));
      if (!is_new) known->second = std::min(known->second, rank(one));
    }
    return found;
  }();
  const auto found = smallest.find(sample.format);
  return found != smallest.end() && std::get<std::string>(found->second) == sample.name;
}

// Returns the kinds of fault that a sample meets: all, or those whose turn it is.
std::vector<Kind> kinds_for(const Sample& sample) {
  std::vector<Kind> kinds(std::begin(kKinds), std::end(kKinds));
  if (is_fully_tested(sample) || thoroughness() > 1) return kinds;
  const auto& all = real_samples();
  const auto turn = static_cast<std::size_t>(std::ranges::find(all, sample.name, &Sample::name) - all.begin());
  std::erase_if(kinds, [&](Kind kind) { return (turn + static_cast<std::size_t>(kind)) % kTurns != 0; });
  return kinds;
}

class Lines {
 public:
  Log log() {
    return [this](Severity severity, const std::string& line) {
      const std::lock_guard lock(mutex_);
      if (severity != Severity::kDetail) lines_.push_back(line);
    };
  }
  bool has(std::string_view part) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(lines_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// One mount of a file, and its log.
struct Mounted {
  Mounted(const std::string& path, const std::string& index) {
    services.index =
        IndexLocation{.directory = index, .settings = "test", .least_scan_time = {}, .program = "this build"};
    opened.emplace(open_file({}, path, Limits{}, services));
    if (*opened) tree.emplace((*opened)->store, kept, 0);
  }

  Lines lines;
  StoreResources services{1u << 20, 2, lines.log()};
  TreeContext kept;
  std::optional<Result<OpenedFile>> opened;
  std::optional<ContainerTree> tree;
};

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 5); ++i) text += "\n  " + lines[i];
  return text;
}

class FaultsBelow : public ::testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    folder_.make("files");
    file_.emplace(path(), *GetParam().bytes());
    const Mounted mounted(path(), index());
    ASSERT_TRUE(*mounted.opened) << recordfs::to_string(mounted.opened->error());
    std::this_thread::sleep_for(std::chrono::milliseconds(40));  // a recently written file is checked more often
    whole_ = read_whole(*mounted.tree);
  }

  std::string path() const { return folder_ / "files" / std::filesystem::path(GetParam().path).filename(); }
  std::string index() const { return folder_ / "saved"; }
  void forget_index() const { std::filesystem::remove_all(folder_ / "saved"); }

  // Returns the number of reads that reading everything takes without a saved index. It is slightly larger if the file
  // was written within the last milliseconds.
  std::uint64_t count_reads() {
    forget_index();
    file_->inject(Kind::kEio, UINT64_MAX);
    {
      const Mounted mounted(path(), index());
      EXPECT_EQ(listed(read_again(*mounted.tree, whole_).wrong), "");
    }
    file_->clear();
    return file_->reads();
  }

  // Returns the numbers of the reads that meet the fault, out of `all`. In one sample of each format, a read fault hits
  // every other read and a change hits kChanges. In other samples it is kSome, at different reads in each sample.
  std::vector<std::uint64_t> hits(Kind kind, std::uint64_t all) const {
    const std::uint64_t wanted = is_fully_tested(GetParam()) ? (is_change(kind) ? kChanges : (all + 1) / 2) : kSome;
    const std::uint64_t some = std::min(all, wanted * thoroughness());
    std::vector<std::uint64_t> numbers;
    const std::uint64_t offset = std::hash<std::string>()(GetParam().name);
    for (std::uint64_t i = 0; i < some; ++i) numbers.push_back((offset + i * all / some) % all);
    return numbers;
  }

  void expect_same(const Mounted& mounted, std::string_view when) const {
    ASSERT_TRUE(*mounted.opened) << when << ": " << recordfs::to_string(mounted.opened->error());
    const Difference found = read_again(*mounted.tree, whole_);
    EXPECT_EQ(listed(found.wrong), "") << when;
    EXPECT_EQ(listed(found.failed), "") << when;
  }

  static void expect_reason(const Error& why, Kind kind) {
    EXPECT_FALSE(is_hidden(kind)) << recordfs::to_string(why);
    if (is_hidden(kind)) return;
    EXPECT_EQ(why.code, code_of(kind)) << recordfs::to_string(why);
    EXPECT_EQ(why.os_error, os_error_of(kind));
  }

  // Checks everything that is read during the fault.
  void expect_correct_or_failed(const Mounted& mounted, Kind kind) const {
    if (!*mounted.opened) return expect_reason(mounted.opened->error(), kind);
    const Difference found = read_again(*mounted.tree, whole_);
    EXPECT_EQ(listed(found.wrong), "");
    for (const Error& why : found.failures) expect_reason(why, kind);
    if (found.failures.empty()) return;
    EXPECT_TRUE(std::ranges::any_of(reasons(kind), [&](auto reason) { return mounted.lines.has(reason); }))
        << "the log does not contain the reason for " << found.failed.front();
  }

  static std::vector<std::string_view> reasons(Kind kind) {
    if (is_permanent(kind)) return {"shorter", "rewritten"};
    return {kind == Kind::kAllInterrupted ? "Interrupted system call" : "Input/output error"};
  }

  void test_fault(Kind kind, std::uint64_t read) {
    SCOPED_TRACE(fmt::format("{} at read {}", to_string(kind), read));
    file_->restore();
    if (read % 2 == 0) forget_index();  // otherwise reading the index meets the fault as well
    {
      file_->inject(kind, read);
      const Mounted mounted(path(), index());
      expect_correct_or_failed(mounted, kind);
      if (file_->has_happened()) ++tally->faults[kind];
      file_->clear();
      if (*mounted.opened && is_permanent(kind)) {
        EXPECT_EQ(listed(read_again(*mounted.tree, whole_).wrong), "") << "afterwards";
      } else if (*mounted.opened) {
        expect_same(mounted, "afterwards");
      }
    }
    file_->restore();
    expect_same(Mounted(path(), index()), "the next mount");
  }

  const testing::TempFolder folder_;
  std::optional<FaultyFile> file_;
  WholeTree whole_;
};

TEST_P(FaultsBelow, YieldCorrectDataOrAReportedErrorAndLeaveNoTrace) {
  const std::uint64_t all = count_reads();
  for (const Kind kind : kinds_for(GetParam())) {
    for (const std::uint64_t number : hits(kind, all)) {
      if (kind == Kind::kRewritten && number == 0) continue;  // before the first read, it is simply another file
      test_fault(kind, number);
      if (HasFailure()) return;
    }
  }
  tally->files.insert(GetParam().name);
  tally->formats.insert(GetParam().format->name);
}

std::string name_of(const ::testing::TestParamInfo<Sample>& sample) { return sample.param.name; }

INSTANTIATE_TEST_SUITE_P(Each, FaultsBelow, ::testing::ValuesIn(real_samples()), name_of);

}  // namespace
}  // namespace recordfs::faults
