// Columns whose bytes are text in some rows and not in others, so that nothing tells text from base64.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

// Thread-safe.
class MixedBytes {
 public:
  // Notes a value that is bytes, in a column with this name. Of more than 8,192 columns, some are not noted. Throws
  // std::bad_alloc.
  void note(std::string_view column, Bytes value);
  // Fails with kUnsupported if a column has values of both kinds. Empty ones are of none.
  Result<void> check() const;

 private:
  static constexpr std::size_t kMostColumns = 8192;
  struct Kinds {
    bool has_text = false;
    bool has_other = false;
  };

  mutable std::mutex mutex_;  // guards the following
  std::map<std::string, Kinds, std::less<>> columns_;
};

}  // namespace recordfs
