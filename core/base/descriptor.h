// Descriptor: an open file of the operating system, closed with the object.
#pragma once

#include <unistd.h>

#include <utility>

namespace recordfs {

class Descriptor {
 public:
  Descriptor() = default;
  // Takes what open(2) and its kin have returned; negative: none.
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
  // Somebody else closes it from now on.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace recordfs
