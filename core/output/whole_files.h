// Copies whole files to a directory, several at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/dataset/reporter.h"
#include "core/dataset/shard_list.h"
#include "core/output/file_copier.h"

namespace recordfs {

struct WholeFile {
  std::string path;
  std::string name;  // of the copy
};

// Adds the empty files of the directories among the words that name a set, which are no containers yet.
void add_empty_files(const std::vector<std::string>& words, ShardList& list);

// Returns the shards that are present with the names of their copies. Leaves out those without a name of their own,
// which it reports.
std::vector<WholeFile> with_names_of_copies(const ShardList& list, Reporter& reporter);

// What the copies tell their caller, on any thread.
struct CopyListener {
  std::function<void(std::uint64_t bytes)> expects;  // the size of the only file
  std::function<void(std::uint64_t bytes)> has_copied;
  std::function<void(const std::string& name, const FileCopier::Failure& failure)> fail;  // a copy cannot be written
};

// Copies files, and reports those that cannot be read. If a copy cannot be written, it ends the others too, unless its
// name is taken, or another process copies the file.
void copy_files(const std::vector<WholeFile>& files, const FileCopier& copier, const CopyListener& listener,
                Reporter& reporter);

}  // namespace recordfs
