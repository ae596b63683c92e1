// KeyFiles: the keys of a database as the files of a directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bounded_lru.h"
#include "core/database/database.h"
#include "fusefs/tree/database/key_listing.h"

namespace recordfs {

// The names of a family's keys, in the order of its comparator, and the newest values. Thread-safe. Functions block
// only as far as RequestContext permits, and fail as those of Database.
class KeyFiles {
 public:
  explicit KeyFiles(std::shared_ptr<const database::Database> database)
      : database_(std::move(database)), listing_(database_) {}

  // Returns the key that a file name means, which need not exist. Reads keys only if the name is a prefix with a hash.
  // Fails with kNotFound if the name is not that of any key.
  Result<std::string> key_of(const RequestContext& context, std::uint32_t family, std::string_view name);

  struct KeyValue {
    database::Version version;
    Result<Slice> value;  // or why there is one that cannot be read

    // Returns the size of the file in bytes, which is never 0 for an unreadable one: the kernel does not read those.
    std::uint64_t size() const { return value ? value->bytes.size() : 1; }
  };
  // Returns the newest value of a key. Fails with kNotFound if it has none.
  Result<KeyValue> find(const RequestContext& context, std::uint32_t family, const std::string& key) const;

  struct ListedKey {
    std::string_view name;
    std::string_view key;
    const database::Version& version;
    std::uint64_t place;  // the number of keys before it
  };
  // Calls `take` from `place` on, until it returns false. Fails as KeyListing::list().
  Result<void> list(const RequestContext& context, const database::Family& family, std::uint64_t place,
                    const std::function<bool(const ListedKey&)>& take);

  // Returns the text of names.tsv, which has a row for each key that differs from the name of its file; empty: there is
  // none. Reads all keys. Fails with kLimit beyond 64 MiB.
  Result<std::string> names_table(const RequestContext& context, std::uint32_t family) const;

  const database::Database& database() const { return *database_; }

 private:
  static constexpr std::size_t kLongNames = 4096;
  static constexpr std::uint64_t kLongNameBytes = 8u << 20;

  const std::shared_ptr<const database::Database> database_;
  KeyListing listing_;
  BoundedLru<std::pair<std::uint32_t, std::uint64_t>, std::string> long_names_{kLongNames, kLongNameBytes};
};

}  // namespace recordfs
