// The tree of the floor filesystem: info.json, and one file for each record with its name and size in recordfs.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tests/bench/data/records.h"

namespace recordfs::bench {

using Inode = std::uint64_t;

enum class Layout : std::uint8_t {
  kFlat,       // records/000000042
  kThousands,  // thousands/000000/000000042
};

// Consecutive files of one directory: the ordinals [begin, end).
struct Siblings {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Thread-safe. Holds no memory for individual files. Records are lines or tiny: none has more than 1,000 bytes.
class Tree {
 public:
  static constexpr Inode kRoot = 1;
  static constexpr Inode kInfo = 2;

  struct Entry {
    std::string name;
    Inode inode = 0;
  };

  Tree(Layout layout, Kind kind, std::uint64_t records);

  static bool is_record(Inode inode) { return inode >= kFirstRecord; }
  static std::uint64_t ordinal_of(Inode inode) { return inode - kFirstRecord; }
  static Inode record_inode(std::uint64_t ordinal) { return kFirstRecord + ordinal; }

  // Whether `inode` exists, and whether it is a directory.
  bool has(Inode inode) const;
  static bool is_directory(Inode inode) { return inode == kRoot || (inode >= kTop && inode < kFirstRecord); }

  // Returns the inode of a name in a directory, or nullopt if there is none.
  std::optional<Inode> find(Inode directory, std::string_view name) const;
  // The number of entries of a directory, and one of them. REQUIRES: index < entries(directory).
  std::uint64_t entries(Inode directory) const;
  Entry entry(Inode directory, std::uint64_t index) const;

  // Returns the size in bytes. REQUIRES: has(inode), and it is a file.
  std::uint64_t size(Inode inode) const;
  // Returns exactly size(inode) bytes, valid as long as the tree. REQUIRES: as size().
  std::string_view contents(Inode inode) const;

  // Returns the files in the same directory as the record, including it.
  Siblings siblings(std::uint64_t ordinal) const;
  std::uint64_t records() const { return records_; }

 private:
  static constexpr Inode kTop = 3;  // records/ or thousands/; the thousands follow
  static constexpr Inode kFirstThousand = 4;
  static constexpr Inode kFirstRecord = Inode{1} << 40;

  std::uint64_t thousands() const { return (records_ + 999) / 1000; }
  std::string_view top_name() const { return layout_ == Layout::kFlat ? "records" : "thousands"; }

  const Layout layout_;
  const Kind kind_;
  const std::uint64_t records_;
  const std::string info_;
  // The source of all record bytes. Created at the first read, so that mounting does not wait for it.
  const std::string& pool() const;
  mutable std::once_flag pool_is_made_;
  mutable std::string pool_;
};

}  // namespace recordfs::bench
