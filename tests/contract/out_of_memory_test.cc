// Out of memory at each allocation of the read path: opening, the catalog, listings, records, every file of the tree.
//
// First only the first allocation fails, then only the second, and so on; then the same with all later ones failing
// too. Each failure has to be reported, nothing may leak, and the same store has to give the complete answer once there
// is memory again.
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/store/record_store.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/contract/each_allocation.h"
#include "tests/contract/sample_test.h"
#include "tests/unit/support/failing_allocations.h"

namespace recordfs::contract {
namespace {

constexpr std::uint64_t kCacheBytes = 1 << 20;
constexpr std::size_t kMostEntries = 12;         // of one directory
constexpr std::uint64_t kPiece = 128 << 10;      // of a read, as the kernel asks
constexpr std::uint64_t kMostBytes = 256 << 10;  // of one file, in bytes
constexpr std::size_t kDeepest = 4;
constexpr std::uint64_t kSmallFile = 64 << 10;

// Digests everything that a mount shows of one file. The allocations of the pass itself do not fail.
class Pass {
 public:
  Pass(const MountTree& tree, bool may_fail) : tree_(tree), may_fail_(may_fail) {}

  // Throws NotEnough if `may_fail` and an answer fails for lack of memory. Any other failure goes into the digest.
  std::string run() {
    visit(MountTree::kRootNumber, 0);
    const FailingAllocations::Pause pause;
    return told_;
  }

 private:
  struct Entry {
    std::string name;
    FileType type;
  };

  // Returns the answer, which may be an error; adds an error to the digest.
  template <class Ask>
  auto asked(const Ask& ask) {
    auto answer = waited_for(ask);
    const FailingAllocations::Pause pause;
    if (answer) return answer;
    if (answer.error().code == Code::kOutOfMemory && may_fail_) throw NotEnough();
    tell("!" + std::string(to_string(answer.error().code)));
    return answer;
  }

  void tell(std::string_view text) {
    const FailingAllocations::Pause pause;
    told_.append(text).append("\n");
  }

  std::vector<Entry> list(std::uint64_t directory) {
    std::vector<Entry> entries;
    std::uint64_t place = 0;
    for (bool more = true; more && entries.size() < kMostEntries;) {
      more = false;
      static_cast<void>(asked([&] {
        return tree_.subtree(directory).list({}, directory, place, [&](const MountEntry& entry) {
          const FailingAllocations::Pause pause;
          if (entries.size() >= kMostEntries) return false;
          entries.push_back({std::string(entry.name), entry.type});
          place = entry.next;
          return more = true;
        });
      }));
    }
    return entries;
  }

  void visit(std::uint64_t directory, std::size_t depth) {
    const std::vector<Entry> entries = list(directory);
    for (const Entry& entry : entries) {
      tell(entry.name);
      look_at(directory, entry.name, depth);
    }
    if (depth == 0) look_at(directory, ".views", depth);
  }

  void look_at(std::uint64_t directory, const std::string& name, std::size_t depth) {
    const auto status = asked([&] { return tree_.look_up_and_reference({}, directory, name); });
    if (!status) return;
    const Forgotten forgotten(tree_, status->number);
    if (status->type == FileType::kDirectory) {
      if (depth < kDeepest) visit(status->number, depth + 1);
    } else if (status->type == FileType::kLink) {
      const auto target = asked([&] { return tree_.subtree(status->number).target({}, status->number); });
      if (target) tell(*target);
    } else {
      read(*status);
    }
  }

  void read(const FileStatus& status) {
    tell(std::to_string(status.size));
    for (std::uint64_t at = 0; at < std::min(status.size, kMostBytes); at += kPiece) {
      const auto slice = asked([&] { return tree_.subtree(status.number).read({}, status.number, at, kPiece); });
      if (slice) tell_bytes(as_text(slice->bytes));
    }
  }

  void tell_bytes(std::string_view bytes) {
    const FailingAllocations::Pause pause;
    tell(std::to_string(bytes.size()) + ":" + std::to_string(std::hash<std::string_view>()(bytes)));
  }

  // Forgets a node as the kernel does.
  class Forgotten {
   public:
    Forgotten(const MountTree& tree, std::uint64_t number) : tree_(tree), number_(number) {}
    ~Forgotten() { tree_.forget(number_, 1); }
    Forgotten(const Forgotten&) = delete;
    Forgotten& operator=(const Forgotten&) = delete;

   private:
    const MountTree& tree_;
    const std::uint64_t number_;
  };

  const MountTree& tree_;
  const bool may_fail_;
  std::string told_;
};

// A file as in a mount.
struct Opened {
  explicit Opened(const Sample& sample, std::string_view bytes)
      : services(kCacheBytes, 1, discard_log),
        store(open_store(sample, source_of(bytes), services)),
        tree({MountedContainer{"sample", store, Ownership{}}}, false) {}

  static std::shared_ptr<const RecordStore> open_store(const Sample& sample, std::shared_ptr<const Source> source,
                                                       StoreResources& services) {
    auto container = sample.format->open({}, source, Limits{});
    if (!container) {
      EXPECT_EQ(container.error().code, Code::kOutOfMemory) << to_string(container.error());
      throw NotEnough();
    }
    return std::make_shared<const RecordStore>(sample.file_name, std::move(source), std::move(*container), services,
                                               Catalog::Bounds{.anchors = 4, .chunks_per_anchor = 2});
  }

  StoreResources services;
  std::shared_ptr<const RecordStore> store;
  MountTree tree;
};

// Whether every allocation is tested: for the smallest undamaged file with records of each format.
bool is_gone_through(const Sample& sample) {
  static const auto smallest = [] {
    std::map<std::string_view, std::pair<std::size_t, std::string>> of_formats;
    for (const Sample& one : undamaged_containers()) {
      if (one.want.right.empty() || one.want.right.front().records == 0) continue;
      const std::pair found(one.bytes()->size(), one.name);
      const auto [known, is_new] = of_formats.emplace(one.format->name, found);
      if (!is_new) known->second = std::min(known->second, found);
    }
    return of_formats;
  }();
  const auto found = smallest.find(sample.format->name);
  return found != smallest.end() && found->second.second == sample.name;
}

class OutOfMemoryTest : public SampleTest {
 protected:
  static void SetUpTestSuite() {
    total_ = 0;
    FailingAllocations::take_what_is_kept();
  }
  static void TearDownTestSuite() { std::cout << "allocations that failed: " << total_ << "\n"; }

  void SetUp() override {
    if (bytes().size() > kSmallFile) GTEST_SKIP() << "larger files have no other allocations";
    const auto container = sample().format->open({}, source_of(bytes()), Limits{});
    if (!container) GTEST_SKIP() << "refused, as a damaged file may be";
    has_types_ = (*container)->metadata() != nullptr && (*container)->metadata()->has_descriptors();
    truth_ = told();
    const FailingAllocations counted;
    ASSERT_EQ(told(), truth_);
    allocations_ = counted.seen();
  }

  // For each `first` allocation of opening and reading the file, lets `count` allocations from there fail.
  void go_through(std::uint64_t count) {
    const std::uint64_t runs =
        is_gone_through(sample()) ? allocations_ : rounds(kCostOfARun * allocations_, kLeastRuns);
    const std::uint64_t stride = std::max<std::uint64_t>(allocations_ / runs, 1);
    // Of several failing allocations the first one is another than in the test of one.
    for (std::uint64_t first = count == 1 ? stride / 2 : stride / 4; first < allocations_ && !HasFailure();
         first += stride) {
      SCOPED_TRACE("from allocation " + std::to_string(first) + " of " + std::to_string(allocations_));
      fail(first, count);
    }
  }

 private:
  static constexpr int kBackgroundThreads = 3;        // of two catalogs and the key index
  static constexpr std::uint64_t kCostOfARun = 3000;  // for one allocation, in bytes read
  static constexpr std::uint64_t kLeastRuns = 3;

  std::string told() const {
    const Opened opened(sample(), bytes());
    return Pass(opened.tree, false).run();
  }

  void fail(std::uint64_t first, std::uint64_t count) {
    const std::int64_t in_use = FailingAllocations::in_use();
    {
      std::unique_ptr<Opened> opened;
      use_without_memory(opened, first, count);
      if (!opened) opened = std::make_unique<Opened>(sample(), bytes());
      EXPECT_EQ(told_with_memory(opened->tree), truth_) << "with memory again";
    }
    // Message types stay cached for all files.
    if (has_types_) return;
    EXPECT_LE(FailingAllocations::in_use(), in_use) << "memory was lost";
  }

  // Failures in the background may be reported to later requests, once for each background thread.
  static std::string told_with_memory(const MountTree& tree) {
    for (int told = 0; told < kBackgroundThreads; ++told) {
      try {
        return Pass(tree, true).run();
      } catch (const NotEnough&) {
        continue;
      }
    }
    return Pass(tree, false).run();
  }

  void use_without_memory(std::unique_ptr<Opened>& opened, std::uint64_t first, std::uint64_t count) const {
    const FailingAllocations failing(first, count);
    try {
      opened = std::make_unique<Opened>(sample(), bytes());
      const std::string told = Pass(opened->tree, true).run();
      const FailingAllocations::Pause pause;
      EXPECT_EQ(told, truth_) << "without memory";
    } catch (const NotEnough&) {
      // The failure was reported.
    } catch (const std::bad_alloc&) {
      // The mount's outermost handler turns this into ENOMEM.
    }
    total_ += failing.failed();
  }

  static inline std::uint64_t total_ = 0;
  std::string truth_;
  std::uint64_t allocations_ = 0;
  bool has_types_ = false;
};

RECORDFS_FOR_EACH(containers(), OutOfMemoryTest);

TEST_P(OutOfMemoryTest, SurvivesOneFailingAllocation) { go_through(1); }

TEST_P(OutOfMemoryTest, SurvivesAllAllocationsFailingFromOneOn) { go_through(FailingAllocations::kAllBehind); }

}  // namespace
}  // namespace recordfs::contract
