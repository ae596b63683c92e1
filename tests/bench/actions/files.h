// What programs do with files, one function for each action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace recordfs::bench {

// Owns an open file or directory; get() is negative if it could not be opened.
class Descriptor {
 public:
  Descriptor(int directory, const char* path, int flags);
  explicit Descriptor(const char* path, int flags = 0);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

// These functions return the number of bytes read, or -1. `buffer` is the size and target of one read.

// Opens, reads to the end, closes.
std::int64_t read_file(int directory, const char* name, std::vector<char>& buffer);
// The same for a path.
std::int64_t read_file(const char* path, std::vector<char>& buffer);
// lstat.
std::int64_t stat_file(int directory, const char* name);
// Fills the buffer from `offset`; a short read is a failure.
std::int64_t read_at(int descriptor, std::uint64_t offset, std::vector<char>& buffer);

// Returns the number of names in a directory without the dots, or -1 on failure. With `status`, also stats each name.
std::int64_t list_directory(const char* path, bool status);

}  // namespace recordfs::bench
