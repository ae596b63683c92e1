// What programs do with files, each once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace recordfs::bench {

// An open file or directory that is closed at the end; get() is negative where it could not be opened.
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

// All of these return how many bytes were read, or -1. `buffer` is what is read into at a time.

// Opens, reads to the end, closes.
std::int64_t read_file(int directory, const char* name, std::vector<char>& buffer);
// The same of a path.
std::int64_t read_file(const char* path, std::vector<char>& buffer);
// lstat.
std::int64_t stat_file(int directory, const char* name);
// All of the buffer from `offset`; fewer bytes are a failure.
std::int64_t read_at(int descriptor, std::uint64_t offset, std::vector<char>& buffer);

// How many names a directory has, its dots left out; with `status` each is asked for its status too. -1: can't be read.
std::int64_t list_directory(const char* path, bool status);

}  // namespace recordfs::bench
