#include "tests/fuzz/wanderer.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/utf8.h"
#include "core/decoding/file_names.h"
#include "tests/fuzz/expect.h"

namespace recordfs::fuzz {
namespace {

constexpr int kSteps = 60;
constexpr std::size_t kMostEntries = 200;      // of one listing
constexpr std::size_t kKeptEntries = 6;        // of one listing, from which it is resumed
constexpr std::uint64_t kWholeFile = 4 << 20;  // a larger file is only read in pieces
constexpr std::uint64_t kPiece = 128 << 10;
constexpr std::size_t kLongestName = 255;

constexpr std::array<std::string_view, 32> kNames{".views",
                                                  "records",
                                                  "chunks",
                                                  "thousands",
                                                  "inside",
                                                  "index",
                                                  "damage",
                                                  "streams",
                                                  "metadata",
                                                  "info.json",
                                                  "raw",
                                                  "data",
                                                  "concat",
                                                  "lines",
                                                  "chunks.tsv",
                                                  "damage.tsv",
                                                  "keys",
                                                  "summary.json",
                                                  "0",
                                                  "000000000000000",
                                                  "000000",
                                                  "000000000",
                                                  "tags",
                                                  "entries",
                                                  "names.tsv",
                                                  "records.jsonl",
                                                  "000000000.json",
                                                  "array.npy",
                                                  "column-families",
                                                  "",
                                                  ".",
                                                  ".."};

bool is_directory(FileType type) { return type == FileType::kDirectory; }

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kLongestName && is_utf8(name) &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace

Wanderer::Wanderer(const MountedInput& mounted, std::uint64_t seed)
    : mounted_(mounted), tree_(mounted.tree()), random_(seed) {
  note({.number = MountTree::kRootNumber, .parent = MountTree::kRootNumber, .name = "", .type = FileType::kDirectory});
  for (const std::string_view path : {".views", "input/.views"}) {
    if (const auto number = mounted_.find(path)) {
      note({.number = *number, .parent = 0, .name = ".views", .type = FileType::kDirectory});
    }
  }
}

void Wanderer::wander() {
  for (int i = 0; i < kSteps; ++i) step();
  forget_all();
  expect(tree_.known_insides() == 0, "a forgotten node is still known");
}

void Wanderer::note(const Seen& seen) { seen_.push_back(seen); }

// Returns a seen node that satisfies `wanted`, preferring recent ones; the root if it finds none.
const Wanderer::Seen& Wanderer::any(bool (*wanted)(const Seen&)) {
  for (int i = 0; i < 20; ++i) {
    const std::size_t from = pick(2) == 0 ? seen_.size() - std::min<std::size_t>(seen_.size(), 16) : 0;
    const Seen& seen = seen_[from + pick(seen_.size() - from)];
    if (wanted(seen)) return seen;
  }
  return seen_.front();
}

void Wanderer::step() {
  const auto directory = [](const Seen& seen) { return is_directory(seen.type); };
  const auto other = [](const Seen& seen) { return !is_directory(seen.type); };
  const auto anything = [](const Seen&) { return true; };
  switch (pick(12)) {
    case 0:
    case 1:
    case 2:
    case 3: return check_listing(Seen(any(directory)));
    case 4:
    case 5: return look_up_any_name(Seen(any(directory)));
    case 6: return check_extended(Seen(any(anything)));
    case 7: return ask_of_any_number();
    case 8: return forget(pick(seen_.size()));
    default: {
      const Seen picked = any(other);
      if (picked.type == FileType::kLink) return check_link(picked);
      if (picked.type == FileType::kRegular) return check_file(picked);
    }
  }
}

Wanderer::Listing Wanderer::list(std::uint64_t directory, std::uint64_t place, std::size_t most) {
  Listing listing;
  for (bool came_forward = true; came_forward && !listing.is_cut;) {
    came_forward = false;
    const auto emit = [&](const MountEntry& entry) {
      if (listing.entries.size() >= most) {
        listing.is_cut = true;
        return false;
      }
      Entry& added = listing.entries.emplace_back(
          Entry{std::string(entry.name), 0, entry.type, entry.size, entry.inode, entry.next});
      if (entry.container != nullptr) {
        added.number = tree_.look_up_and_reference(entry);
        ++lookups_[added.number];
      }
      place = entry.next;
      return came_forward = true;
    };
    const auto done = waited([&] { return tree_.subtree(directory).list({}, directory, place, emit); });
    if (!done) {
      expect_judgement(done.error());
      break;
    }
  }
  return listing;
}

void Wanderer::check_names(const std::vector<Entry>& entries, std::uint64_t place) {
  std::set<std::string_view> names;
  for (const Entry& entry : entries) {
    expect(is_name(entry.name), "a listing has an invalid name: " + printable(entry.name));
    expect(names.insert(entry.name).second, "a listing has a name twice: " + printable(entry.name));
    expect(entry.next > place, "a listing does not advance");
    expect(entry.inode > 1, "a listing has a reserved inode number");
    place = entry.next;
  }
}

// A listing resumed at any entry gives the same entries.
void Wanderer::check_goes_on(const Seen& directory, const Listing& whole) {
  if (whole.entries.empty()) return;
  const std::size_t from = pick(whole.entries.size());
  const Listing rest = list(directory.number, whole.entries[from].next, 1 + pick(40));
  for (std::size_t i = 0; i < rest.entries.size() && from + 1 + i < whole.entries.size(); ++i) {
    const Entry& due = whole.entries[from + 1 + i];
    const Entry& now = rest.entries[i];
    expect(now.name == due.name && now.inode == due.inode && now.number == due.number && now.next == due.next,
           "a resumed listing continues with another entry: " + printable(now.name));
  }
  const bool has_more = from + 1 < whole.entries.size() || whole.is_cut;
  expect(rest.entries.empty() != has_more, "a resumed listing ends at another entry");
}

void Wanderer::check_listing(const Seen& directory) {
  const Listing listing = list(directory.number, 0, kMostEntries);
  check_names(listing.entries, 0);
  check_goes_on(directory, listing);
  expect(list(directory.number, UINT64_MAX, 1).entries.empty(), "a listing has no end");
  for (std::size_t i = 0; i < std::min(listing.entries.size(), kKeptEntries); ++i) {
    const bool is_few = listing.entries.size() <= kKeptEntries;
    check_entry(directory, listing.entries[is_few ? i : pick(listing.entries.size())]);
  }
}

// A listed name can be looked up, and the result matches the listing.
void Wanderer::check_entry(const Seen& directory, const Entry& entry) {
  const auto found = waited([&] { return tree_.look_up_and_reference({}, directory.number, entry.name); });
  if (!found) {
    expect_judgement(found.error());
    return expect(found.error().code != Code::kNotFound, "a listed name is not found: " + printable(entry.name));
  }
  ++lookups_[found->number];
  expect(entry.number == 0 || found->number == entry.number, "a listing has another number than a lookup");
  expect(found->inode == entry.inode, "a listing has another inode than a lookup: " + printable(entry.name));
  expect(found->type == entry.type, "a listing has another type than a lookup: " + printable(entry.name));
  expect(!entry.size || found->size == *entry.size, "a listing has another size: " + printable(entry.name));
  check_found(directory.number, entry.name, *found);
}

void Wanderer::check_found(std::uint64_t directory, std::string_view name, const FileStatus& found) {
  check_same(found);
  const auto status = mounted_.status(found.number);
  expect(status.has_value(), "a found name has no status: " + printable(name));
  expect(status->number == found.number && status->size == found.size && status->type == found.type,
         "a status differs from the lookup: " + printable(name));
  if (is_directory(found.type)) {
    expect(tree_.subtree(found.number).inode({}, found.number) == found.inode, "a directory has two inode numbers");
  }
  note({.number = found.number, .parent = directory, .name = std::string(name), .type = found.type});
}

// The status of a node does not change.
void Wanderer::check_same(const FileStatus& status) {
  const auto [known, is_new] = statuses_.try_emplace(status.number, status);
  if (is_new) return;
  const FileStatus& before = known->second;
  expect(before.type == status.type && before.size == status.size && before.inode == status.inode,
         "the status of a node has changed");
}

std::string Wanderer::any_name() {
  const std::string seen = seen_[pick(seen_.size())].name;
  switch (pick(8)) {
    case 0: return seen + ".json";
    case 1: return std::to_string(pick(3) == 0 ? random_() : pick(300));
    case 2: return std::string(pick(20), '0') + std::to_string(pick(70000));
    case 3: return position_name(mounted_.store().source().size() / (1 + pick(8)));
    case 4: return seen.empty() ? "%" : seen.substr(0, pick(seen.size() + 1)) + static_cast<char>(random_() & 0xFF);
    case 5: return "%2" + seen;
    case 6: return seen;
    default: return std::string(kNames[pick(kNames.size())]);
  }
}

void Wanderer::look_up_any_name(const Seen& directory) {
  const std::string name = any_name();
  const auto found = waited([&] { return tree_.look_up_and_reference({}, directory.number, name); });
  if (!found) return expect_judgement(found.error());
  ++lookups_[found->number];
  expect(is_name(name), "an invalid name is found: " + printable(name));
  check_found(directory.number, name, *found);
}

void Wanderer::check_file(const Seen& file) {
  const auto status = mounted_.status(file.number);
  expect(status.has_value(), "a found file has no status");
  check_same(*status);
  const auto past_end = mounted_.read(file.number, status->size, kPiece);
  if (past_end) {
    expect(past_end->bytes.empty(), "a file has bytes after its end: " + file.name);
  } else {
    expect_judgement(past_end.error());
  }
  if (status->size > kWholeFile) return check_pieces(file, {});
  const auto whole = mounted_.content(file.number);
  if (whole) return check_pieces(file, *whole);
  expect_judgement(whole.error());
  expect(status->size > 0, "an unreadable file is empty, so readers do not notice: " + file.name);
}

// `whole` is empty for an empty file, and for one that is too large to read at once.
void Wanderer::check_pieces(const Seen& file, std::string_view whole) {
  const std::uint64_t size = statuses_.at(file.number).size;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t offset = pick(size + 1);
    const std::uint64_t length = pick(2) == 0 ? 1 + pick(64) : 1 + pick(kPiece);
    const auto piece = mounted_.read(file.number, offset, length);
    const std::uint64_t due = std::min(length, size - offset);
    if (piece) {
      expect(piece->bytes.size() == due, "a read is short before the end: " + file.name);
      expect(whole.empty() || as_text(piece->bytes) == whole.substr(offset, due),
             "a partial read differs from the whole file: " + file.name);
    } else {
      expect_judgement(piece.error());
      expect(whole.empty(), "a partial read of a readable file fails: " + file.name);
    }
  }
}

void Wanderer::check_link(const Seen& link) {
  const auto target = tree_.subtree(link.number).target({}, link.number);
  expect(target && !target->empty(), "a link has no target: " + link.name);
  expect(statuses_.at(link.number).size == target->size(),
         "the size of a link is not the length of its target: " + link.name);
}

void Wanderer::check_extended(const Seen& node) {
  std::string_view names = node.number == 0 ? "" : std::string_view();
  const std::string all = tree_.subtree(node.number).extended_names({}, node.number);
  for (names = all; !names.empty(); names.remove_prefix(names.find('\0') + 1)) {
    expect(names.find('\0') != std::string_view::npos, "an attribute name is not terminated");
    const std::string_view name = names.substr(0, names.find('\0'));
    const auto value = waited([&] { return tree_.subtree(node.number).extended_attribute({}, node.number, name); });
    if (!value) expect_judgement(value.error());
  }
  const auto other = waited([&] { return tree_.subtree(node.number).extended_attribute({}, node.number, any_name()); });
  expect(!other, "an unknown attribute has a value");
  expect_judgement(other.error());
}

// The kernel does not send such requests, but an invalid number has to be detected.
void Wanderer::ask_of_any_number() {
  const std::uint64_t near = seen_[pick(seen_.size())].number;
  const std::uint64_t number = pick(3) == 0 ? random_() : pick(2) == 0 ? near + pick(7) - 3 : near ^ (1ull << pick(64));
  if (const auto status = mounted_.status(number); !status) expect_judgement(status.error());
  if (const auto slice = mounted_.read(number, pick(100), pick(1000)); !slice) expect_judgement(slice.error());
  if (const auto target = tree_.subtree(number).target({}, number); !target) expect_judgement(target.error());
  if (const auto found = waited([&] { return tree_.look_up_and_reference({}, number, any_name()); })) {
    ++lookups_[found->number];
  } else {
    expect_judgement(found.error());
  }
  list(number, pick(5), 20);
}

// Forgets a node with all its lookups.
void Wanderer::forget(std::size_t place) {
  const std::uint64_t number = seen_[place].number;
  const auto known = lookups_.find(number);
  if (known == lookups_.end()) return;
  tree_.forget(number, known->second);
  lookups_.erase(known);
  statuses_.erase(number);
  std::erase_if(seen_, [&](const Seen& seen) { return seen.number == number; });
}

void Wanderer::forget_all() {
  for (const auto& [number, lookups] : lookups_) tree_.forget(number, lookups);
}

}  // namespace recordfs::fuzz
