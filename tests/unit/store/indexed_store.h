// A file with a saved index, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/store/saved_index.h"
#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/temp_file.h"

namespace recordfs::testing {

inline constexpr Catalog::Bounds kIndexBounds{
    .anchors = 8, .chunks_per_anchor = 2, .cached_chunks = 4, .damage_rows = 30};
inline constexpr std::uint64_t kIndexedChunks = 60;

// A file on disk, and a directory for its saved index. Each mount is a separate store.
struct IndexedDisk {
  explicit IndexedDisk(toy::Shape of = {.chunks = kIndexedChunks})
      : shape(std::move(of)), temp(toy::make_file(shape).bytes) {
    temp.set_mtime(1'000'000'000);
  }

  std::string directory() const { return temp.directory() + "/above/saved"; }
  std::vector<std::filesystem::path> saved() const {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(directory())) return files;
    for (const auto& entry : std::filesystem::directory_iterator(directory())) files.push_back(entry.path());
    return files;
  }
  // Overwrites the file with another shape, in the same inode.
  void rewrite(const toy::Shape& other, std::int64_t mtime) {
    const std::string bytes = toy::make_file(other).bytes;
    temp.resize(bytes.size());
    temp.write_at(0, bytes);
    temp.set_mtime(mtime);
  }

  toy::Shape shape;
  TempFile temp;
};

// A store over it, which loads the index and saves it.
struct IndexedStore {
  explicit IndexedStore(const IndexedDisk& disk, std::string settings = "test", std::chrono::milliseconds least = {},
                        std::string program = "one build") {
    services.index = IndexLocation{disk.directory(), std::move(settings), least, std::move(program)};
    source = FileSource::open(disk.temp.path()).value();
    store = std::make_shared<RecordStore>("toy", source, toy::open(source, Limits{}, watch).value(), services,
                                          kIndexBounds);
  }
  PrefixSums counts() const {
    return waited([&] { return store->index().totals(ScanDetail::kCounts); }).value();
  }
  std::uint64_t scans() const { return watch->scans; }
  Result<std::string> record(std::uint64_t ordinal) const {
    ASSIGN_OR_RETURN(const auto indexed, waited([&] { return store->index().find({}, SearchKey::kRecords, ordinal); }));
    ASSIGN_OR_RETURN(const auto slice,
                     store->records().read({}, {indexed.chunk, ordinal - indexed.before.records}, 0, UINT64_MAX));
    return text_of(slice);
  }
  // Expects the content of the file itself.
  void expect_whole(const toy::File& file) const {
    ASSERT_EQ(counts().records, file.records.size());
    for (std::uint64_t i = 0; i < file.records.size(); ++i) {
      const auto text = record(i);
      ASSERT_TRUE(text) << i << ": " << to_string(text.error());
      ASSERT_EQ(*text, file.records[i]) << i;
    }
  }

  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  Lines lines;
  StoreResources services{64u << 20, 2, lines.log()};
  std::shared_ptr<const FileSource> source;
  std::shared_ptr<RecordStore> store;
};

// Scans and saves.
inline void mount_once(const IndexedDisk& disk) { EXPECT_GT(IndexedStore(disk).counts().chunks, 0u); }

}  // namespace recordfs::testing
