// Which keys of a database a command reads: the options that keys and cat share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/database/database.h"

namespace CLI {
class App;
}

namespace recordfs {

struct KeyRangeOptions {
  std::string prefix;
  std::string from;
  std::optional<std::string> to;
  std::uint64_t limit = UINT64_MAX;
  bool encoded = false;

  // Declares the options on `app`. The object must outlive the parsing.
  void declare(CLI::App& app);

  // Returns whether one of the options was given.
  bool is_given() const;
  // Returns the range without the limit, or nullopt if a key is not an escaped one though it should be.
  std::optional<database::KeyRange> range() const;
};

}  // namespace recordfs
