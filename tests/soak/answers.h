// Requests to a mount, each one system call, with the answer as a value.
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

// Holds the answer or an errno.
template <class Value>
using Answer = std::variant<int, Value>;

template <class Value>
int error_of(const Answer<Value>& answer) {
  const int* const error = std::get_if<int>(&answer);
  return error != nullptr ? *error : 0;
}

// These functions take a name in an open directory, and do not follow a link at its end.
Descriptor opened(int directory, const std::string& name, int flags);
// Bypasses the kernel's attribute cache.
Answer<Status> status_of(int directory, const std::string& name);
Answer<std::string> target_of(int directory, const std::string& name);

// Names and values, in listing order.
using Attributes = std::vector<std::pair<std::string, std::string>>;
// Takes a path from the root. Returns an empty list if the file system has no extended attributes.
Answer<Attributes> attributes_of(const std::string& path);

// Makes the kernel drop the cached pages of an open file or directory.
void forget_pages(int descriptor);

// Reads the next entries of an open directory, `room` bytes at a time. An empty result is the end.
Answer<std::vector<Entry>> entries_of(int directory, std::size_t room);

}  // namespace recordfs::soak
