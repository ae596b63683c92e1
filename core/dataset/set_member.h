// SetMember: a container of a data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/dataset/shard_list.h"
#include "core/store/record_store.h"

namespace recordfs {

// A container that a job reads, and its place in a data set.
struct SetMember {
  std::string path;                          // in messages
  std::shared_ptr<const RecordStore> store;  // not null
  std::string name{};                        // in addresses and JSON; empty: the data set has only this container
  std::uint64_t first_ordinal = 0;           // in the data set, of its first record
  std::size_t bytes_in_set = 0;              // of the path: Shard::path_in_set()

  std::string_view path_in_set() const { return recordfs::path_in_set(path, bytes_in_set); }
};

}  // namespace recordfs
