// NewFiles: the containers that appear among the files that words of a command line mean.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/request_context.h"
#include "core/base/storage.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

// A container whose writer seems to have finished.
struct NewFile {
  std::string path;               // as RealPaths returns it
  bool is_before_others = false;  // a list of all files would have it before a file that was known
};

// Lists the names again when a directory has changed. Returns each file once: when it is a container, and its size and
// modification time have been the same for kSettled. Only opens files that have not changed for so long. A file that is
// no container is checked again, ever more rarely, down to once in kLongestPause, and opened if it has changed.
//
// Leaves out files named NAME-00017-of-00128.EXT if files of the same NAME and EXT with another total are known.
//
// Not thread-safe. Keeps the paths of all files.
class NewFiles {
 public:
  using Clock = std::chrono::steady_clock;
  // Called for a file that is left out or unreadable, or for a word that cannot be listed. Once for each.
  using Report = std::function<void(const std::string& path, const std::string& why)>;

  static constexpr std::chrono::seconds kSettled{2};
  static constexpr std::chrono::seconds kLongestPause{60};
  // Ignores further files until some of these were returned or removed.
  static constexpr std::size_t kMostCandidates = 65536;

  // `words` are as for list_shards(), and `known` is what it returned for them. Relative paths begin at the current
  // directory of now.
  NewFiles(const std::vector<std::string>& words, const ShardList& known, IsContainer is_container, Report report);

  // Returns the local directories that exist and whose names decide what appears, without symbolic links.
  std::vector<std::string> directories() const;
  // Returns directories that include these, and all those that will match a word later.
  std::vector<std::string> tops() const;

  // Returns the files that are complete now, in the order of the words, and each word's in natural order. May block.
  // Returns early, with a part of them, if it is cancelled.
  std::vector<NewFile> look(const RequestContext& context, Clock::time_point now);

 private:
  // Where a list of all files has a file: the index of its word, and its path.
  using Place = std::pair<std::size_t, std::string>;
  struct Candidate {
    std::size_t word = 0;
    SourceId state{};
    Clock::time_point since{};  // when this state was found first
    Clock::time_point next{};   // when to check again
    bool is_refused = false;    // no container in this state
  };
  enum class Outcome : std::uint8_t { kWaits, kIsNew, kIsGone };

  static bool is_before(const Place& one, const Place& other);
  static SourceId state_of(const std::string& directory);

  bool must_list() const;
  void list();
  void add_candidates(std::size_t word, const std::vector<std::string>& paths);
  Outcome check(const std::string& path, Candidate& candidate, Clock::time_point now);
  bool is_surplus(const std::string& path) const;
  void add_known(std::string path);
  void report_once(const std::string& path, const std::string& why);

  const std::vector<std::string> words_;  // absolute
  const IsContainer is_container_;
  const Report report_;
  bool is_listed_ = false;
  std::map<std::string, SourceId> directories_;  // as they were at the last listing
  std::unordered_set<std::string> known_;
  std::map<std::pair<std::string, std::string>, std::string> totals_;  // of known sets, by prefix and suffix
  std::map<std::string, Candidate> candidates_;                        // by path
  Place last_;                                                         // of the known files
  std::set<std::string> reported_;
};

}  // namespace recordfs
