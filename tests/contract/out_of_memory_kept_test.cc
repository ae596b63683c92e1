// Out of memory at each allocation of what a mount does besides reading a file: saving an index, loading it, and
// showing a mirrored directory. As in out_of_memory_test.cc, the request that needed the memory fails and reports it,
// nothing leaks, and the next request succeeds.
#include <cerrno>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/store/record_store.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/toy/toy_format.h"
#include "tests/unit/support/failing_allocations.h"
#include "tests/unit/support/signal.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::contract {
namespace {

using testing::FailingAllocations;
using testing::TempFolder;

constexpr int kFailuresLeft = 3;  // of background threads, each reported to a later request

// Thrown to end a pass early.
struct NotEnough {};

const toy::File& toy_file() {
  static const toy::File file =
      toy::make_file({.chunks = 12, .counts_in_header = false, .broken_headers = {5}, .broken_payloads = {7}});
  return file;
}

template <class T>
bool is_for_want_of_memory(const Result<T>& answer) {
  return !answer && (answer.error().code == Code::kOutOfMemory || answer.error().os_error == ENOMEM);
}

// Retries a request until it no longer has to wait.
template <class Ask>
auto waited_for(const Ask& ask) {
  for (;;) {
    auto answer = ask();
    if (answer || !is_waiting(answer.error())) return answer;
    std::optional<testing::Signal> reached;
    {
      const FailingAllocations::Pause pause;
      reached.emplace();
    }
    const testing::Signal signal = *reached;
    const WaitTicket& ticket = *answer.error().wait;
    if (ticket.waitable->wait(ticket, [signal] { signal.set(); }) != 0) reached->wait();
  }
}

// The same, but throws if the request fails for lack of memory.
template <class Ask>
auto answered(const Ask& ask) {
  auto answer = waited_for(ask);
  using Answer = decltype(answer);
  if (is_for_want_of_memory(answer)) throw NotEnough();
  return Answer(std::move(answer));
}

// The answers as text. Collecting them makes no allocation that can fail.
class Told {
 public:
  void add(std::string_view text) {
    const FailingAllocations::Pause pause;
    text_.append(text).append("\n");
  }
  template <class T, class Say>
  void add(const Result<T>& answer, const Say& say) {
    const FailingAllocations::Pause pause;
    add(answer ? std::string(say(*answer)) : "!" + std::string(to_string(answer.error().code)));
  }
  std::string take() {
    const FailingAllocations::Pause pause;
    return std::move(text_);
  }

 private:
  std::string text_;
};

// Tests an object: makes it, asks everything, and asks again, while allocations fail.
template <class Asked>
class EachAllocation {
 public:
  // Calls `before` and then `make` for each run. Without `counts_pieces`, leaks are left to LeakSanitizer.
  template <class Make, class Before>
  static void fails(const Make& make, const Before& before, bool counts_pieces = true) {
    FailingAllocations::take_what_is_kept();
    before();
    const std::string truth = make()->ask();
    std::uint64_t allocations = 0;
    {
      before();
      const FailingAllocations counted;
      EXPECT_EQ(make()->ask(), truth);
      allocations = counted.seen();
    }
    std::uint64_t failed = 0;
    for (const std::uint64_t count : {std::uint64_t{1}, FailingAllocations::kAllBehind}) {
      for (std::uint64_t first = 0; first < allocations && !::testing::Test::HasFailure(); ++first) {
        SCOPED_TRACE("from allocation " + std::to_string(first) + " of " + std::to_string(allocations));
        before();
        const std::int64_t in_use = FailingAllocations::in_use();
        failed += fail(make, first, count, truth);
        if (counts_pieces) {
          EXPECT_LE(FailingAllocations::in_use(), in_use) << "memory was lost";
        }
      }
    }
    EXPECT_GT(failed, allocations) << "nothing has failed";
    std::cout << "allocations that failed: " << failed << "\n";
  }

 private:
  template <class Make>
  static std::uint64_t fail(const Make& make, std::uint64_t first, std::uint64_t count, const std::string& truth) {
    std::unique_ptr<Asked> asked;
    std::uint64_t failed = 0;
    {
      const FailingAllocations failing(first, count);
      try {
        asked = make();
        const std::string told = asked->ask();
        const FailingAllocations::Pause pause;
        EXPECT_EQ(told, truth) << "without memory";
      } catch (const NotEnough&) {
        // The failure was reported.
      } catch (const std::bad_alloc&) {
        // The mount's outermost handler turns this into ENOMEM.
      }
      failed = failing.failed();
    }
    if (!asked) asked = make();
    EXPECT_EQ(told_with_memory(*asked), truth) << "with memory again";
    asked.reset();
    EXPECT_EQ(make()->ask(), truth) << "by the next one";
    return failed;
  }

  static std::string told_with_memory(Asked& asked) {
    for (int told = 0; told < kFailuresLeft; ++told) {
      try {
        return asked.ask();
      } catch (const NotEnough&) {
        continue;
      }
    }
    return asked.ask();
  }
};

// An old file, so that a saved index can identify it.
class KnownFile final : public Source {
 public:
  std::uint64_t size() const override { return toy_file().bytes.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= size()) return std::size_t{0};
    const auto there = std::string_view(toy_file().bytes).substr(static_cast<std::size_t>(at), out.size());
    copy_bytes(as_bytes(there), out);
    return there.size();
  }
  std::optional<FileIdentity> identity() const override {
    return FileIdentity{
        .device = 1, .inode = 2, .size = size(), .mtime_seconds = 1'000'000'000, .mtime_nanoseconds = 3};
  }
};

// A store that saves its scans.
class Walked {
 public:
  explicit Walked(const std::string& directory) : services_(1 << 20, 1, [](Severity, const std::string&) {}) {
    services_.index = IndexLocation{directory, "settings", std::chrono::milliseconds(0), "program"};
    auto source = std::make_shared<const KnownFile>();
    auto container = toy::open(source, Limits{});
    if (!container) throw NotEnough();
    store_.emplace("toy", std::move(source), std::move(*container), services_,
                   Catalog::Bounds{.anchors = 4, .chunks_per_anchor = 2});
  }

  std::string ask() {
    Told told;
    told.add(answered([&] { return store_->index().totals(ScanDetail::kSizes); }),
             [](const PrefixSums& totals) { return std::to_string(totals.bytes); });
    told.add(answered([&] { return store_->index().damage(); }),
             [](const auto& rows) { return std::to_string(rows->size()); });
    for (const std::uint64_t ordinal : {0u, 11u, 25u, 1000u}) {
      told.add(answered([&] { return store_->index().find({}, SearchKey::kRecords, ordinal); }),
               [](const IndexedChunk& indexed) { return std::to_string(indexed.chunk.begin); });
    }
    return told.take();
  }

 private:
  Services services_;
  std::optional<RecordStore> store_;
};

class OutOfMemorySaving : public ::testing::Test {
 protected:
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) names.insert(entry.path().filename());
    return names;
  }
  void empty_folder() const {
    for (const std::string& name : names()) std::filesystem::remove(folder_ / name);
  }
  auto make() const {
    return [directory = folder_.path()] { return std::make_unique<Walked>(directory); };
  }

  const TempFolder folder_;
};

TEST_F(OutOfMemorySaving, IndexIsSavedCompletelyOrNotAtAll) {
  make()()->ask();
  const std::set<std::string> whole = names();
  ASSERT_FALSE(whole.empty());
  EachAllocation<Walked>::fails(make(), [&] {
    for (const std::string& name : names()) EXPECT_TRUE(whole.contains(name)) << name << " is left";
    empty_folder();
  });
}

TEST_F(OutOfMemorySaving, SavedIndexIsLoadedOrRebuilt) {
  make()()->ask();
  EachAllocation<Walked>::fails(make(), [] {});
}

// A mirrored folder with a container, accessed as the kernel would.
class Mirrored {
 public:
  explicit Mirrored(const std::string& folder) : services_(1 << 20, 1, [](Severity, const std::string&) {}) {
    auto rooted_dir = RootedDir::open(folder);
    if (!rooted_dir) throw NotEnough();
    std::vector<MountSource> sources;
    sources.emplace_back(MirroredDirectory{"folder", std::move(*rooted_dir)});
    const auto probe = [](const RequestContext& context, const Source& source, std::string_view) -> Result<bool> {
      ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, 8));
      return as_text(head.view()) == "toyfile\n";
    };
    const auto open = [this](const RequestContext&, Descriptor file,
                             const std::string& path) -> Result<std::shared_ptr<const RecordStore>> {
      ASSIGN_OR_RETURN(const auto source, FileSource::of(std::move(file), path));
      ASSIGN_OR_RETURN(auto container, toy::open(source, Limits{}));
      return std::shared_ptr<const RecordStore>(
          std::make_shared<RecordStore>(path, source, std::move(container), services_));
    };
    tree_ = std::make_unique<MountTree>(std::move(sources), false, MirrorSettings{probe, open, {}});
  }

  std::string ask() {
    Told told;
    list(MountTree::kRootNumber, told);
    read("file", told);
    read("folder/toy/records/11", told);
    read("folder/toy/index/damage.tsv", told);
    const Known link(*tree_, "link");
    told.add(answered([&] { return tree_->target({}, link.number()); }), [](const std::string& to) { return to; });
    const Known folder(*tree_, "folder");
    list(folder.number(), told);
    return told.take();
  }

 private:
  // A looked-up path. The destructor forgets the node.
  class Known {
   public:
    Known(const MountTree& tree, std::string_view path) : tree_(tree) {
      while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view name = path.substr(0, slash);
        const auto found = answered([&] { return tree_.look_up_and_reference({}, number(), name); });
        if (!found) return;
        const FailingAllocations::Pause pause;
        numbers_.push_back(found->number);
        size_ = found->size;
        path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
      }
    }
    ~Known() {
      for (const std::uint64_t number : numbers_) tree_.forget(number, 1);
    }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    std::uint64_t number() const { return numbers_.empty() ? MountTree::kRootNumber : numbers_.back(); }
    std::uint64_t size() const { return size_; }

   private:
    const MountTree& tree_;
    std::vector<std::uint64_t> numbers_;
    std::uint64_t size_ = 0;
  };

  void read(std::string_view path, Told& told) const {
    const Known known(*tree_, path);
    told.add(path);
    told.add(answered([&] { return tree_->read({}, known.number(), 0, known.size()); }),
             [](const Slice& slice) { return std::string(as_text(slice.bytes)); });
  }

  void list(std::uint64_t directory, Told& told) const {
    const auto opened = answered([&] { return tree_->mirror()->open_directory({}, directory); });
    if (!opened) return told.add("!not opened");
    std::set<std::string> names;
    try {
      const auto listed = answered([&] {
        return tree_->mirror()->list({}, directory, *opened, 0, [&](const MountEntry& entry) {
          const FailingAllocations::Pause pause;
          names.insert(std::string(entry.name) + " " + std::to_string(static_cast<int>(entry.type)));
          return true;
        });
      });
      told.add(listed ? "listed" : "!not listed");
    } catch (...) {
      tree_->mirror()->close_directory(*opened);
      const FailingAllocations::Pause pause;
      names.clear();
      throw;
    }
    tree_->mirror()->close_directory(*opened);
    for (const std::string& name : names) told.add(name);
    const FailingAllocations::Pause pause;
    names.clear();
  }

  Services services_;
  std::unique_ptr<MountTree> tree_;
};

TEST(OutOfMemoryMirror, FailedRequestIsFollowedByACorrectOne) {
  const TempFolder folder;
  folder.write("file", "text");
  folder.write("folder/toy", toy_file().bytes);
  folder.write("folder/other", "other");
  folder.link("link", "file");
  EachAllocation<Mirrored>::fails([&] { return std::make_unique<Mirrored>(folder.path()); }, [] {}, false);
}

}  // namespace
}  // namespace recordfs::contract
