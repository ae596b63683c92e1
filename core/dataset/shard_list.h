// From the words that name a data set to the paths of its shards, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_name.h"

namespace recordfs {

// Returns the last bytes of a path, or all of it for 0: as of Shard.
inline std::string_view path_in_set(std::string_view path, std::size_t bytes) {
  return path.substr(bytes == 0 ? 0 : path.size() - bytes);
}

struct Shard {
  std::string path;         // to open it with, as the user spelled it: relative to the current directory, or absolute
  bool is_missing = false;  // its set should have it, and there is no such file
  std::string instead{};    // of a missing one: a file of its name with another suffix; empty: there is none
  // Bytes of `path` after the only directory that was named; 0 for other words.
  std::size_t bytes_in_set = 0;

  // Returns the path after that directory, or all of it. Names the run of scalars. Valid as long as this.
  std::string_view path_in_set() const { return recordfs::path_in_set(path, bytes_in_set); }
};

// The shards of a data set. The index of a shard is its number, which a missing one keeps.
struct ShardList {
  std::vector<Shard> shards;
  std::vector<std::string> surplus{};  // paths that were found, and do not belong to the set; in natural order
  bool is_one_file = false;            // named as one file, and not as a set that may have one shard

  std::size_t missing() const;
};

// Returns whether a file of a directory is a container. Fails if it cannot be read.
using IsContainer = std::function<Result<bool>(const std::string& path)>;

// How large a data set may be.
struct NamingBounds {
  std::size_t shards = kMostShards;
  std::size_t path_bytes = 4096;  // of each path
  std::uint64_t manifest_bytes = 256ull << 20;
};

// Both forms of list_shards() read directories, and return at least one shard. They fail with kNotFound if the words
// name none, with kLimit if there are more than NamingBounds permits, and with kIo. The detail is a whole message, with
// the path. Thread-safe.

// Returns the shards that an argument names:
// - a path that exists: a directory means the containers in it and files that have the name of one, in natural order,
//   without hidden files. If all of these have names of runs (has_run_name), or there is none, it also means
//   runs_below() it, after these, and then, as shards that cannot be opened, subdirectories that cannot be read. Other
//   files in its subdirectories are left out. Anything else means this one file;
// - NAME@128.EXT and NAME-?????-of-00128.EXT: all shards of the set;
// - a pattern of glob(7): the files that match, in natural order, of which a directory means its containers;
// - anything else: this one file, which does not exist.
// If files are named NAME-00017-of-00128.EXT, the set includes the missing ones that a pattern would match, in their
// places, and leaves surplus ones out: those with a number of 128 or more, and those of sets of the same NAME and EXT
// with another total that have fewer files. A directory includes a damaged file that has such a name. Files NAME.EXT
// and NAME.EXT.gz or NAME.EXT.zlib belong to one set.
Result<ShardList> list_shards(const std::string& word, const IsContainer& is_container,
                              const NamingBounds& bounds = {});

// Returns the shards that several words name, one word after another. A set of files NAME-00017-of-00128.EXT that the
// words name one by one, as a shell does for a pattern, is completed as above: a file that exists and was not named is
// not missing.
Result<ShardList> list_shards(std::span<const std::string> words, const IsContainer& is_container,
                              const NamingBounds& bounds = {});

// Returns the files that a word means now, of any content, to find those that appear while a set is in use: all files
// of a directory that are not hidden, and otherwise the existing files that the word names. In natural order. There may
// be none. Opens nothing. Fails with kLimit and kIo. Thread-safe.
Result<std::vector<std::string>> list_files(const std::string& word, const NamingBounds& bounds = {});

// Returns the directories whose entries decide what list_files() returns; none for an existing file. All are in or
// below the first one. Thread-safe.
std::vector<std::string> directories_of(const std::string& word);

// Returns a word that means the same in any current directory. Thread-safe.
std::string absolute_word(const std::string& word);

// Returns whether a word means a set of shards rather than one file: a directory, or no existing file and one of the
// patterns above.
bool names_set(const std::string& word);

}  // namespace recordfs
