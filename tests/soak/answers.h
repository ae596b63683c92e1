// The questions that a mount is asked, each as one system call, with the answer as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/descriptor.h"
#include "tests/soak/known.h"

namespace recordfs::soak {

// An errno, or what was asked for.
template <class Value>
using Answer = std::variant<int, Value>;

template <class Value>
int error_of(const Answer<Value>& answer) {
  const int* const error = std::get_if<int>(&answer);
  return error != nullptr ? *error : 0;
}

// All of them take a name in an open directory, and follow no link at its end.
Descriptor opened(int directory, const std::string& name, int flags);
// Asks the daemon, whatever the kernel knows.
Answer<Status> status_of(int directory, const std::string& name);
Answer<std::string> target_of(int directory, const std::string& name);

// Names and values, in the order in which they are listed.
using Attributes = std::vector<std::pair<std::string, std::string>>;
// By a path from the root. A file system without any has none.
Answer<Attributes> attributes_of(const std::string& path);

// Has the kernel forget what it holds of an open file or directory.
void forget_pages(int descriptor);

// Reads on in an open directory, `room` bytes at a time. An empty one is the end.
Answer<std::vector<Entry>> entries_of(int directory, std::size_t room);

}  // namespace recordfs::soak
