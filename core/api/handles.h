// The objects that the types of the C interface point to.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/api/failure.h"
#include "core/api/recordfs.h"
#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/dataset/opened_set.h"
#include "core/store/record_store.h"

struct recordfs_dataset : recordfs::api::Handle {
  explicit recordfs_dataset(std::shared_ptr<const recordfs::OpenedSet> opened) : set(std::move(opened)) {}

  const std::shared_ptr<const recordfs::OpenedSet> set;
  mutable std::mutex mutex;               // guards the next
  mutable std::set<std::string> formats;  // names that were returned
};

namespace recordfs::api {

// Prepares the process. Called by each function that opens something.
void begin_once();

// Copies the options that the caller's version of the library has. Fails if it has others, and sets them.
Result<recordfs_options> options_of(const recordfs_options* given);

// Return bytes that the caller of the library frees. Throw std::bad_alloc.
recordfs_bytes* bytes_for_caller(Slice slice);
recordfs_bytes* text_for_caller(std::string text);
// Returns where bytes begin, which is not null if there are none.
const void* begin_of(Bytes bytes);

// Returns the store of a file. Fails with kNotFound if there is no such file, and as DataSet::open().
Result<std::shared_ptr<const RecordStore>> open_file_of(const OpenedSet& set, std::size_t file);
// Returns the path of a file; empty if there is no such file.
std::string path_of(const OpenedSet& set, std::size_t file);
// Returns a function that returns the failure of a function about a file, for answer().
inline auto about_file(const recordfs_dataset* dataset, std::size_t file) {
  return [dataset, file](Error error) { return failure_of(std::move(error), path_of(*dataset->set, file)); };
}

}  // namespace recordfs::api
