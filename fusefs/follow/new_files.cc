#include "fusefs/follow/new_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/dataset/natural_order.h"
#include "core/dataset/real_paths.h"
#include "core/dataset/shard_name.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostReported = 1000;

std::vector<std::string> absolute_words(const std::vector<std::string>& words) {
  std::vector<std::string> absolute;
  absolute.reserve(words.size());
  for (const std::string& word : words) absolute.push_back(absolute_word(word));
  return absolute;
}

}  // namespace

NewFiles::NewFiles(const std::vector<std::string>& words, const ShardList& known, IsContainer is_container,
                   Report report)
    : words_(absolute_words(words)), is_container_(std::move(is_container)), report_(std::move(report)) {
  RealPaths real;
  for (const Shard& shard : known.shards) {
    if (!shard.is_missing) add_known(real.of(shard.path));
  }
  for (const std::string& path : known.surplus) known_.insert(real.of(path));
}

std::vector<std::string> NewFiles::directories() const {
  std::vector<std::string> all;
  for (const std::string& word : words_) {
    for (const std::string& directory : directories_of(word)) {
      std::error_code failed;
      if (!Location(directory).is_local()) continue;
      const auto real = std::filesystem::canonical(directory, failed);
      if (!failed) all.push_back(real.string());
    }
  }
  return all;
}

std::vector<std::string> NewFiles::tops() const {
  std::vector<std::string> all;
  for (const std::string& word : words_) {
    const auto directories = directories_of(word);
    std::error_code failed;
    if (directories.empty()) continue;
    const Location first(directories.front());
    all.push_back(first.is_local() ? std::filesystem::weakly_canonical(first.text(), failed).string() : first.text());
  }
  return all;
}

std::vector<NewFile> NewFiles::look(const RequestContext& context, Clock::time_point now) {
  if (must_list()) list();
  std::vector<Place> places;
  for (auto at = candidates_.begin(); at != candidates_.end() && !context.cancelled();) {
    const Outcome outcome = check(at->first, at->second, now);
    if (outcome == Outcome::kIsNew) places.emplace_back(at->second.word, at->first);
    at = outcome == Outcome::kWaits ? std::next(at) : candidates_.erase(at);
  }
  std::ranges::sort(places, is_before);
  std::vector<NewFile> files;
  for (Place& place : places) {
    if (is_surplus(place.second)) {
      report_once(place.second, "this shard is surplus, and left out");
      known_.insert(std::move(place.second));
      continue;
    }
    files.push_back({place.second, is_before(place, last_)});
    add_known(place.second);
    if (!files.back().is_before_others) last_ = std::move(place);
  }
  return files;
}

bool NewFiles::is_before(const Place& one, const Place& other) {
  return one.first != other.first ? one.first < other.first : recordfs::is_before(one.second, other.second);
}

SourceId NewFiles::state_of(const std::string& directory) {
  const auto there = status_of({}, directory);
  return there ? there->id : SourceId{.source = {}, .version = {}, .is_settled = true};
}

bool NewFiles::must_list() const {
  if (!is_listed_) return true;
  return std::ranges::any_of(directories_, [](const auto& entry) {
    const auto& [directory, before] = entry;
    return !before.is_settled || state_of(directory) != before;
  });
}

// Examines the directories before it lists their names: a change in between shows in the next check.
void NewFiles::list() {
  std::map<std::string, SourceId> directories;
  for (const std::string& word : words_) {
    for (const std::string& directory : directories_of(word)) directories.emplace(directory, state_of(directory));
  }
  is_listed_ = true;
  for (std::size_t word = 0; word < words_.size(); ++word) {
    const auto files = list_files(words_[word]);
    if (files) {
      add_candidates(word, *files);
    } else {
      report_once(words_[word], files.error().detail);
      is_listed_ = false;
    }
  }
  directories_ = std::move(directories);
}

void NewFiles::add_candidates(std::size_t word, const std::vector<std::string>& paths) {
  RealPaths real;
  for (const std::string& named : paths) {
    Place place{word, real.of(named)};
    if (known_.contains(place.second)) {
      if (is_before(last_, place)) last_ = std::move(place);
    } else if (is_surplus(place.second)) {
      report_once(place.second, "this shard is surplus, and left out");
      known_.insert(std::move(place.second));
    } else if (candidates_.size() < kMostCandidates) {
      candidates_.emplace(std::move(place.second), Candidate{.word = word});
    } else {
      is_listed_ = candidates_.contains(place.second) && is_listed_;
    }
  }
}

NewFiles::Outcome NewFiles::check(const std::string& path, Candidate& candidate, Clock::time_point now) {
  if (candidate.next > now) return Outcome::kWaits;
  const auto there = status_of({}, path);
  if (!there) return is_not_there(there.error()) ? Outcome::kIsGone : Outcome::kWaits;
  if (!there->is_file()) return Outcome::kIsGone;
  if (there->id != candidate.state) {
    candidate = {.word = candidate.word, .state = there->id, .since = now};
    return Outcome::kWaits;
  }
  const auto unchanged = now - candidate.since;
  if (unchanged < kSettled) return Outcome::kWaits;
  candidate.next = now + std::min<Clock::duration>(unchanged, kLongestPause);
  if (candidate.is_refused) return Outcome::kWaits;
  const auto is_container = is_container_(path);
  // A failure may pass without a change of the file.
  if (!is_container) report_once(path, is_container.error().detail);
  candidate.is_refused = is_container.has_value();
  return is_container.value_or(false) ? Outcome::kIsNew : Outcome::kWaits;
}

bool NewFiles::is_surplus(const std::string& path) const {
  const auto shard = parse_shard_name(path);
  if (!shard) return false;
  const auto set = totals_.find({shard->family.prefix, shard->family.suffix});
  return set != totals_.end() && (set->second != shard->family.total_digits || shard->number >= shard->family.total);
}

void NewFiles::add_known(std::string path) {
  if (const auto shard = parse_shard_name(path)) {
    totals_.emplace(std::pair(shard->family.prefix, shard->family.suffix), shard->family.total_digits);
  }
  known_.insert(std::move(path));
}

void NewFiles::report_once(const std::string& path, const std::string& why) {
  if (reported_.size() < kMostReported && reported_.insert(path + ": " + why).second) report_(path, why);
}

}  // namespace recordfs
