// Out of memory at each allocation of what a mount does besides reading a file: saving an index, loading it, and
// showing a mirrored directory. As in out_of_memory_test.cc, the request that needed the memory fails and reports it,
// nothing leaks, and the next request succeeds.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/store/record_store.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/contract/each_allocation.h"
#include "tests/toy/toy_format.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::contract {
namespace {

using testing::FailingAllocations;
using testing::TempFolder;

const toy::File& toy_file() {
  static const toy::File file =
      toy::make_file({.chunks = 12, .counts_in_header = false, .broken_headers = {5}, .broken_payloads = {7}});
  return file;
}

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
  std::optional<SourceId> id() const override { return SourceId{.source = "1", .version = "2", .is_settled = true}; }
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
  StoreResources services_;
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
    told.add(answered([&] { return tree_->subtree(link.number()).target({}, link.number()); }),
             [](const std::string& to) { return to; });
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
    told.add(answered([&] { return tree_->subtree(known.number()).read({}, known.number(), 0, known.size()); }),
             [](const Slice& slice) { return std::string(as_text(slice.bytes)); });
  }

  void list(std::uint64_t directory, Told& told) const {
    const auto opened = answered([&] { return tree_->subtree(directory).open_directory({}, directory); });
    if (!opened) return told.add("!not opened");
    std::set<std::string> names;
    try {
      const auto listed = answered([&] {
        return tree_->mirror()->list({}, directory, opened->handle, 0, [&](const MountEntry& entry) {
          const FailingAllocations::Pause pause;
          names.insert(std::string(entry.name) + " " + std::to_string(static_cast<int>(entry.type)));
          return true;
        });
      });
      told.add(listed ? "listed" : "!not listed");
    } catch (...) {
      tree_->mirror()->close_directory(opened->handle);
      const FailingAllocations::Pause pause;
      names.clear();
      throw;
    }
    tree_->mirror()->close_directory(opened->handle);
    for (const std::string& name : names) told.add(name);
    const FailingAllocations::Pause pause;
    names.clear();
  }

  StoreResources services_;
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
