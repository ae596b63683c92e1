// Which keys of a database a command reads: the options that keys and cat share.
#pragma once

#include <cstdint>

#include "core/database/database.h"

namespace CLI {
class App;
}

namespace recordfs {

struct KeyRangeOptions {
  database::KeyRange range;
  std::uint64_t limit = UINT64_MAX;
  bool encoded = false;

  // Declares the options on `app`. The object must outlive the parsing.
  void declare(CLI::App& app);

  // Returns whether one of the options was given.
  bool is_given() const {
    return !range.prefix.empty() || !range.from.empty() || range.to || limit != UINT64_MAX || encoded;
  }
};

}  // namespace recordfs
