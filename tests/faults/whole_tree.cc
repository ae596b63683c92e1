#include "tests/faults/whole_tree.h"

#include <utility>

#include <fmt/format.h>

#include "tests/unit/support/signal.h"

namespace recordfs::faults {
namespace {

Shown failed(Shown shown, Error why) {
  shown.failure = std::move(why);
  return shown;
}

using Names = std::vector<std::string>;

Result<Names> names_in(const ContainerTree& tree, Node directory) {
  Names names;
  std::uint64_t place = 0;
  for (bool more = true; more;) {
    more = false;
    const auto emit = [&](const DirectoryEntry& entry) {
      names.emplace_back(entry.name);
      place = entry.next;
      return more = true;
    };
    TRY(wait_for([&] { return tree.view(directory)->list({}, directory, place, emit); }));
  }
  return names;
}

// Reads a whole file in pieces.
Result<std::string> bytes_of(const ContainerTree& tree, Node file) {
  constexpr std::uint64_t kPiece = 64 << 10;
  std::string text;
  for (;;) {
    ASSIGN_OR_RETURN(const auto slice, wait_for([&] { return tree.view(file)->read({}, file, text.size(), kPiece); }));
    text += as_text(slice.bytes);
    if (slice.bytes.size() < kPiece) return text;
  }
}

Result<std::string> text_of(const ContainerTree& tree, Node node, FileType type) {
  if (type == FileType::kLink) return tree.view(node)->target(node);
  if (type == FileType::kRegular) return bytes_of(tree, node);
  ASSIGN_OR_RETURN(const auto names, names_in(tree, node));
  std::string text;
  for (const std::string& name : names) (text += name) += '\n';
  return text;
}

Shown show(const ContainerTree& tree, Node node) {
  Shown shown;
  auto attributes = wait_for([&] { return tree.view(node)->attributes({}, node); });
  if (!attributes) return failed(std::move(shown), std::move(attributes).error());
  shown.type = attributes->type;
  shown.size = attributes->size;
  auto text = text_of(tree, node, shown.type);
  if (!text) return failed(std::move(shown), std::move(text).error());
  shown.text = std::move(*text);
  return shown;
}

Result<Node> look_up(const ContainerTree& tree, Node directory, const std::string& name) {
  return wait_for([&] { return tree.view(directory)->lookup({}, directory, name); });
}

Names split(const std::string& text) {
  Names names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

void read_below(const ContainerTree& tree, Node node, const std::string& path, std::size_t directory, WholeTree& all) {
  const std::size_t self = all.size();
  all.push_back({path, directory, show(tree, node)});
  if (all.back().shown.type != FileType::kDirectory || all.back().shown.failure) return;
  for (const std::string& name : split(all.back().shown.text)) {
    const std::string below = path.empty() ? name : path + '/' + name;
    auto entry = look_up(tree, node, name);
    if (entry) {
      read_below(tree, *entry, below, self, all);
    } else {
      all.push_back({below, self, failed({}, std::move(entry).error())});
    }
  }
}

std::string describe(const Shown& shown) {
  if (shown.failure) return fmt::format("fails with {}: {}", to_string(shown.failure->code), to_string(*shown.failure));
  return fmt::format("{} bytes, \"{}\"", shown.size, shown.text.substr(0, 200));
}

// Finds the nodes of a WholeTree's entries, and looks up each name only once.
class Nodes {
 public:
  Nodes(const ContainerTree& tree, const WholeTree& whole) : tree_(tree), whole_(whole), known_(whole.size()) {}

  Result<Node> find(std::size_t entry) {
    if (entry == 0) return Node{};
    if (known_[entry]) return *known_[entry];
    const std::string& path = whole_[entry].path;
    ASSIGN_OR_RETURN(const auto above, find(whole_[entry].directory));
    auto node = look_up(tree_, above, path.substr(path.rfind('/') + 1));
    if (node) known_[entry] = *node;
    return node;
  }

 private:
  const ContainerTree& tree_;
  const WholeTree& whole_;
  std::vector<std::optional<Node>> known_;
};

}  // namespace

bool Shown::operator==(const Shown& other) const {
  if (failure.has_value() != other.failure.has_value()) return false;
  if (failure) return failure->code == other.failure->code;
  return type == other.type && text == other.text && size == other.size;
}

WholeTree read_whole(const ContainerTree& tree) {
  WholeTree all;
  read_below(tree, Node{}, "", 0, all);
  return all;
}

Difference read_again(const ContainerTree& tree, const WholeTree& whole) {
  Difference found;
  Nodes nodes(tree, whole);
  for (std::size_t entry = 0; entry < whole.size(); ++entry) {
    const auto& [path, directory, was] = whole[entry];
    auto node = nodes.find(entry);
    const Shown now = node ? show(tree, *node) : failed({}, std::move(node).error());
    if (now == was) continue;
    if (now.failure && !is_permanent(now.failure->code) && now.failure->code != Code::kNotFound) {
      found.failed.push_back(path);
      found.failures.push_back(*now.failure);
    } else {
      found.wrong.push_back(fmt::format("/{}: {}; before: {}", path, describe(now), describe(was)));
    }
  }
  return found;
}

}  // namespace recordfs::faults
