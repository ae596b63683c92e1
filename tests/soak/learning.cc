#include "tests/soak/learning.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/soak/answers.h"

namespace recordfs::soak {
namespace {

constexpr std::size_t kRoomForNames = 65536;
constexpr std::size_t kMostBytes = 8u << 20;  // of a file
constexpr std::size_t kMostOfAll = 1u << 30;
constexpr const char* kViews = ".views";

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

class Walk {
 public:
  Walk(const std::string& root, std::size_t names, unsigned seed) : root_(root), names_(names), random_(seed) {}

  Knowledge run() {
    add(kNowhere, "", false);
    if (knowledge_.paths.front().error != 0) throw std::runtime_error(root_ + " can't be read");
    // Visiting a directory appends its entries to the list.
    for (std::size_t number = 0; number < knowledge_.paths.size(); ++number) look_into(number);
    return std::move(knowledge_);
  }

 private:
  std::string whole(std::size_t number) const { return root_ + "/" + knowledge_.path(number); }

  // Adds a path to the current group.
  void add(std::size_t parent, const std::string& name, bool in_container) {
    const std::size_t number = knowledge_.paths.size();
    knowledge_.paths.push_back({.parent = parent, .name = name, .in_container = in_container});
    const auto answer = status_of(AT_FDCWD, whole(number));
    Known& known = knowledge_.paths.back();
    known.error = error_of(answer);
    if (known.error == 0) known.status = std::get<Status>(answer);
  }

  void look_into(std::size_t number) {
    Known& known = knowledge_.paths[number];
    if (known.error != 0) return;
    const std::string path = whole(number);
    if (auto found = attributes_of(path); error_of(found) == 0)
      known.attributes = std::get<Attributes>(std::move(found));
    if (S_ISLNK(known.status.mode)) {
      auto target = target_of(AT_FDCWD, path);
      if (error_of(target) == 0) known.target = std::get<std::string>(std::move(target));
    } else if (S_ISREG(known.status.mode)) {
      read(known, path);
    } else {
      list(number, path);
    }
  }

  // Reads page by page, to find out which pages are unreadable.
  void read(Known& known, const std::string& path) {
    const Descriptor file = opened(AT_FDCWD, path, O_RDONLY | O_DIRECT);
    known.content.begin = knowledge_.bytes.size();
    const std::size_t room = knowledge_.bytes.size() < kMostOfAll ? kMostBytes : 0;
    const std::size_t wanted = std::min<std::size_t>(known.status.size, room);
    std::array<char, kPage> page{};
    for (std::size_t at = 0; at < wanted; at += kPage) {
      const std::size_t length = std::min(kPage, wanted - at);
      const ssize_t got = ::pread(file.number(), page.data(), length, static_cast<off_t>(at));
      if (got < 0) known.content.failed[at / kPage] = errno;
      if (got >= 0 && static_cast<std::size_t>(got) != length)
        throw std::runtime_error(path + " is shorter than it says");
      if (got < 0) page.fill('\0');
      knowledge_.bytes.append(page.data(), length);
    }
    known.content.length = knowledge_.bytes.size() - known.content.begin;
  }

  Listing listing_of(const std::string& path) const {
    Listing listing;
    const Descriptor directory = opened(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (!directory) listing.error = errno;
    while (listing.error == 0) {
      auto answer = entries_of(directory.number(), kRoomForNames);
      listing.error = error_of(answer);
      if (listing.error != 0) break;
      auto& entries = std::get<std::vector<Entry>>(answer);
      if (entries.empty()) break;
      std::ranges::move(entries, std::back_inserter(listing.entries));
    }
    return listing;
  }

  void list(std::size_t number, const std::string& path) {
    Listing listing = listing_of(path);
    std::vector<std::string> names;
    for (const Entry& entry : listing.entries) {
      if (entry.name != "." && entry.name != "..") names.push_back(entry.name);
    }
    knowledge_.paths[number].listing = std::move(listing);
    const bool was_inside = knowledge_.paths[number].in_container;
    const bool is_inside = was_inside || error_of(status_of(AT_FDCWD, path + "/" + kViews)) == 0;
    if (is_inside) choose(names);
    if (is_inside && !was_inside) names.emplace_back(kViews);
    for (const std::string& name : names) add(number, name, is_inside);
  }

  void choose(std::vector<std::string>& names) {
    if (names.size() > names_) {
      std::shuffle(names.begin() + 1, names.end() - 1, random_);
      std::swap(names[1], names.back());
      names.resize(names_);
    }
    // Unlisted names that can be looked up: numbers without leading zeros, and NAME.json with a record's content.
    const std::size_t listed = names.size();
    for (std::size_t i = 0; i < listed; ++i) {
      const std::string name = names[i];
      if (!is_number(name)) continue;
      names.push_back(name + ".json");
      if (name.front() == '0' && name.size() > 1) names.push_back(std::to_string(std::stoull(name)));
    }
  }

  const std::string root_;
  const std::size_t names_;
  std::mt19937 random_;
  Knowledge knowledge_;
};

// Finds the group of each path: its container, or its directory outside of all containers.
void find_places(Knowledge& knowledge) {
  std::map<std::size_t, std::size_t> places;  // by the number of the group's directory
  for (std::size_t number = 1; number < knowledge.paths.size(); ++number) {
    std::size_t top = number;
    do {
      top = knowledge.paths[top].parent;
    } while (knowledge.paths[top].in_container);
    const auto [found, is_new] = places.try_emplace(top, knowledge.places.size());
    if (is_new) knowledge.places.emplace_back();
    knowledge.places[found->second].push_back(number);
  }
}

}  // namespace

std::string Knowledge::path(std::size_t number) const {
  std::string path = paths[number].name;
  if (path.empty()) return ".";
  for (std::size_t at = paths[number].parent; paths[at].parent != kNowhere; at = paths[at].parent) {
    path = paths[at].name + "/" + path;
  }
  return path;
}

Knowledge learn(const std::string& root, std::size_t names, unsigned seed) {
  Knowledge knowledge = Walk(root, names, seed).run();
  find_places(knowledge);
  return knowledge;
}

}  // namespace recordfs::soak
