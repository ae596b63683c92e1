// A mount whose containers are followed.
#include <atomic>
#include <thread>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

constexpr Catalog::Bounds kSmall{.anchors = 64, .chunks_per_anchor = 4};

// A growing toy file, mounted once or twice.
class FollowedMount {
 public:
  FollowedMount(const toy::Shape& shape, std::size_t chunks, std::size_t containers = 1)
      : file_(toy::make_file(shape)), store_(at(chunks, nullptr)), tree_(mounted(containers), false) {}

  MountTree& tree() { return tree_; }
  const toy::File& file() const { return file_; }
  toy::Watch& watch() { return *watch_; }
  std::weak_ptr<const RecordStore> store() const { return store_; }

  // Extends the first container to `chunks` chunks. Returns the inodes of which the kernel has to be notified.
  std::vector<std::uint64_t> grow_to(std::size_t chunks) {
    store_ = at(chunks, store_.get());
    EXPECT_TRUE(waited([&] { return store_->index().catch_up(); }));
    return tree_.containers().grow({}, 0, store_, {.tv_sec = 5, .tv_nsec = 0});
  }

  Result<std::uint64_t> find(std::uint64_t directory, std::string_view name) const {
    return waited([&] { return tree_.lookup({}, directory, name); });
  }
  std::uint64_t path(const std::vector<std::string_view>& names) const {
    std::uint64_t number = MountTree::kRootNumber;
    for (const std::string_view name : names) number = find(number, name).value();
    return number;
  }
  FileStatus status(std::uint64_t number) const {
    return waited([&] { return tree_.subtree(number).status({}, number); }).value();
  }
  std::string read(std::uint64_t number) const {
    return text_of(waited([&] { return tree_.subtree(number).read({}, number, 0, UINT64_MAX / 2); }).value());
  }
  std::size_t entries(std::uint64_t directory) const {
    std::size_t count = 0;
    for (bool more = true; more;) {
      more = false;
      const auto emit = [&](const MountEntry& entry) { return more = ++count == entry.next; };
      EXPECT_TRUE(waited([&] { return tree_.subtree(directory).list({}, directory, count, emit); }));
    }
    return count;
  }

 private:
  std::shared_ptr<const RecordStore> at(std::size_t chunks, const RecordStore* shorter) {
    services_.address_bits = InodeTable::value_bits(2);
    const auto source = toy::source_of(file_.bytes.substr(0, static_cast<std::size_t>(file_.ends[chunks - 1])));
    auto container = toy::open(source, Limits{}, watch_).value();
    return std::make_shared<RecordStore>("toy", source, std::move(container), services_, kSmall,
                                         FollowOptions{.is_followed = true, .shorter = shorter});
  }
  std::vector<MountSource> mounted(std::size_t containers) const {
    std::vector<MountSource> list;
    for (std::size_t i = 0; i < containers; ++i) {
      list.push_back(MountedContainer{"toy", store_, {.modified = {.tv_sec = 4, .tv_nsec = 0}}, true});
    }
    return list;
  }

  toy::File file_;
  std::shared_ptr<toy::Watch> watch_ = std::make_shared<toy::Watch>();
  Lines lines_;
  StoreResources services_{1u << 20, 2, lines_.log()};
  std::shared_ptr<const RecordStore> store_;
  MountTree tree_;
};

std::string lines_of(const toy::File& file, std::size_t records) {
  std::string lines;
  for (std::size_t i = 0; i < records; ++i) (lines += file.records[i]) += '\n';
  return lines;
}

TEST(MountFollow, ChecksumBelongsToTheSnapshot) {
  FollowedMount mount({.chunks = 20}, 10);
  const std::uint64_t record = mount.path({"records", "29"});
  const auto word = [&] {
    return waited([&] { return mount.tree().subtree(record).extended_attribute({}, record, "user.recordfs.checksum"); })
        .value();
  };
  EXPECT_EQ(word(), "good");
  EXPECT_EQ(word(), "good");
  EXPECT_EQ(mount.watch().verifies.load(), 1u);
  mount.grow_to(20);  // a chunk with the same begin may have more records
  EXPECT_EQ(word(), "good");
  EXPECT_EQ(mount.watch().verifies.load(), 2u);
}

TEST(MountFollow, ShowsAddedRecordsAndKeepsNumbers) {
  FollowedMount mount({.chunks = 12}, 5);
  const std::uint64_t records = mount.path({"records"});
  const std::uint64_t lines = mount.path({".views", "streams", "lines"});
  const std::uint64_t record = mount.path({"records", "000000014"});
  EXPECT_EQ(mount.entries(records), 15u);
  EXPECT_EQ(mount.read(lines), lines_of(mount.file(), 15));
  EXPECT_EQ(mount.find(records, "15").error().code, Code::kNotFound);
  mount.grow_to(9);
  EXPECT_EQ(mount.entries(records), 27u);
  EXPECT_EQ(mount.read(lines), lines_of(mount.file(), 27));
  EXPECT_EQ(mount.status(lines).size, lines_of(mount.file(), 27).size());
  EXPECT_EQ(mount.path({"records", "000000014"}), record);
  EXPECT_EQ(mount.read(record), mount.file().records[14]);
  EXPECT_EQ(mount.read(mount.path({"records", "26"})), mount.file().records[26]);
}

TEST(MountFollow, ReturnsTheChangedNodes) {
  FollowedMount mount({.chunks = 12}, 5);
  for (const std::string_view view : {"chunks", "thousands"}) mount.entries(mount.path({".views", view}));
  const auto changed = mount.grow_to(9);
  const auto is_changed = [&](const std::vector<std::string_view>& names) {
    return std::ranges::find(changed, mount.path(names)) != changed.end();
  };
  EXPECT_TRUE(is_changed({}));
  EXPECT_TRUE(is_changed({"records"}));
  EXPECT_TRUE(is_changed({"info.json"}));
  EXPECT_TRUE(is_changed({".views", "streams", "concat"}));
  EXPECT_TRUE(is_changed({".views", "index", "chunks.tsv"}));
  EXPECT_TRUE(is_changed({".views", "thousands", "000000"}));
  const std::string last = position_name(mount.file().begins[4]);
  const std::string other = position_name(mount.file().begins[3]);
  EXPECT_TRUE(is_changed({".views", "chunks", last}));
  EXPECT_TRUE(is_changed({".views", "chunks", last, "records"}));
  EXPECT_TRUE(is_changed({".views", "chunks", last, "records.jsonl"}));
  EXPECT_FALSE(is_changed({".views", "chunks", other}));
  EXPECT_FALSE(is_changed({"records", "000000014"}));
}

TEST(MountFollow, RecordsArePermanentAndSummariesAreNot) {
  FollowedMount mount({.chunks = 12}, 5);
  const auto expect = [&](const std::vector<std::string_view>& names, CachePolicy cache_policy, time_t modified) {
    const FileStatus status = mount.status(mount.path(names));
    EXPECT_EQ(status.cache_policy, cache_policy) << names.back();
    EXPECT_EQ(status.ownership.modified.tv_sec, modified) << names.back();
  };
  expect({"records", "000000003"}, CachePolicy::kPermanent, 4);
  expect({"records"}, CachePolicy::kSnapshot, 4);
  mount.grow_to(6);
  expect({"records", "000000003"}, CachePolicy::kPermanent, 4);
  expect({"records"}, CachePolicy::kSnapshot, 5);
  expect({"streams"}, CachePolicy::kPermanent, 4);
  expect({".views", "streams", "lines"}, CachePolicy::kSnapshot, 5);
  mount.grow_to(7);
  EXPECT_GT(mount.status(mount.path({"records"})).ownership.modified.tv_nsec, 0)
      << "each snapshot has a time of its own";
  EXPECT_TRUE(mount.tree().containers().may_grow());
  EXPECT_TRUE(mount.tree().subtree(mount.path({"records"})).may_gain_names({}, mount.path({"records"})));
}

TEST(MountFollow, OtherContainersAreUnchanged) {
  FollowedMount mount({.chunks = 12}, 5, 2);
  const std::uint64_t first = mount.path({"toy", "records"});
  const std::uint64_t second = mount.path({"toy~2", "records"});
  mount.grow_to(7);
  EXPECT_EQ(mount.entries(first), 21u);
  EXPECT_EQ(mount.entries(second), 15u);
  EXPECT_FALSE(mount.tree().subtree(MountTree::kRootNumber).may_gain_names({}, MountTree::kRootNumber));
}

TEST(MountFollow, SnapshotIsFreedWithItsLastUser) {
  FollowedMount mount({.chunks = 12}, 5);
  const auto before = mount.store();
  mount.path({"records", "3"});
  mount.grow_to(6);
  EXPECT_FALSE(before.expired());
  mount.tree().containers().drop_unused();
  EXPECT_TRUE(before.expired());
}

TEST(MountFollow, WaiterKeepsItsSnapshotAndIsAnsweredByTheNext) {
  Gate gate;  // outlives the scan
  FollowedMount mount({.chunks = 12, .seekable = false}, 5);
  const auto before = mount.store();
  mount.watch().on_scan = [&](Position position) { gate.pass(position); };
  const std::uint64_t records = mount.path({"records"});
  gate.close_from(mount.file().begins[2]);
  auto found = mount.tree().lookup({}, records, "14");
  ASSERT_EQ(found.error().code, Code::kPending);
  std::shared_ptr<WaitTicket> ticket = std::move(found.error().wait);
  ASSERT_TRUE(ticket->owner);
  const Signal resumed;
  ASSERT_NE(ticket->waitable->wait(*ticket, [resumed] { resumed.set(); }), 0u);
  gate.wait_until_held();
  mount.grow_to(6);
  mount.tree().containers().drop_unused();
  EXPECT_FALSE(before.expired());
  gate.open();
  resumed.wait();
  ticket.reset();
  mount.tree().containers().drop_unused();
  EXPECT_TRUE(before.expired());
  EXPECT_EQ(mount.read(mount.path({"records", "14"})), mount.file().records[14]);
}

TEST(MountFollow, ConcurrentReadersSeeOneSnapshotOrTheNext) {
  constexpr std::size_t kChunks = 60;
  FollowedMount mount({.chunks = kChunks}, 2);
  const std::uint64_t records = mount.path({"records"});
  const std::uint64_t lines = mount.path({".views", "streams", "lines"});
  const std::string whole = lines_of(mount.file(), kChunks * 3);
  mount.entries(records);
  mount.status(lines);
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> readers;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    readers.emplace_back([&, seed] {
      for (std::uint64_t i = seed; !is_over; ++i) {
        const std::string text = mount.read(lines);
        EXPECT_EQ(text, whole.substr(0, text.size()));
        EXPECT_GE(mount.entries(records), 6u);
        EXPECT_EQ(mount.read(mount.path({"records", "4"})), mount.file().records[4]);
        const std::uint64_t ordinal = i % (kChunks * 3);
        const auto number = mount.find(records, std::to_string(ordinal));
        if (number) {
          EXPECT_EQ(mount.read(*number), mount.file().records[ordinal]);
        }
      }
    });
  }
  for (std::size_t chunks = 3; chunks <= kChunks; ++chunks) {
    mount.grow_to(chunks);
    mount.tree().containers().drop_unused();
  }
  is_over = true;
  readers.clear();
  EXPECT_EQ(mount.read(lines), whole);
}

}  // namespace
}  // namespace recordfs::testing
