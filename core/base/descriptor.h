// Owns a file descriptor, and closes it on destruction.
#pragma once

#include <unistd.h>

#include <utility>

namespace recordfs {

class Descriptor {
 public:
  Descriptor() = default;
  // Takes ownership of a result of open(2); negative: none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (*this) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // Returns the number. The caller must close it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace recordfs
