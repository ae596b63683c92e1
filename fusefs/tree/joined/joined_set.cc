#include "fusefs/tree/joined/joined_set.h"

#include <algorithm>
#include <array>
#include <utility>

namespace recordfs {
namespace {

// The values of kStatic nodes. They are part of inode numbers, so they never change. The link to shard N is
// kFirstShardLink + N.
enum SetNode : std::uint64_t {
  kSetRoot = 1,
  kSetInfo,
  kSetRecords,
  kShardLinks,
  kThousandsOfSetLink,
  kSetIndexLink,
  kSetStreamsLink,
  kSetViews,
  kShardDirectories,
  kThousandsOfSet,
  kSetIndex,
  kSetStreams,
  kShardRows,
  kSetDamageRows,
  kSetSummary,
  kSetConcat,
  kSetLines,
  kInsideOfSetLink,
  kInsideOfSet,
  kFirstShardLink = 4096,
};

struct SetEntry {
  SetNode node;
  std::string_view name;
  FileType type;
  SetNode parent = kSetRoot;
  std::string_view target{};  // of a link
  bool is_listed = true;
};

// All but the root, in listing order. What links to unlisted directories is not listed either: a copy of a mount has no
// dangling links.
constexpr std::array kSetEntries = {
    SetEntry{kSetInfo, "info.json", FileType::kRegular},
    SetEntry{kSetRecords, "records", FileType::kDirectory},
    SetEntry{kShardLinks, "shards", FileType::kDirectory, kSetRoot, {}, false},
    SetEntry{kThousandsOfSetLink, "thousands", FileType::kLink, kSetRoot, ".views/thousands", false},
    SetEntry{kInsideOfSetLink, "inside", FileType::kLink, kSetRoot, ".views/inside", false},
    SetEntry{kSetIndexLink, "index", FileType::kLink, kSetRoot, ".views/index", false},
    SetEntry{kSetStreamsLink, "streams", FileType::kLink, kSetRoot, ".views/streams", false},
    SetEntry{kSetViews, ".views", FileType::kDirectory, kSetRoot, {}, false},
    SetEntry{kShardDirectories, ".shards", FileType::kDirectory, kSetRoot, {}, false},
    SetEntry{kThousandsOfSet, "thousands", FileType::kDirectory, kSetViews},
    SetEntry{kInsideOfSet, "inside", FileType::kDirectory, kSetViews},
    SetEntry{kSetIndex, "index", FileType::kDirectory, kSetViews},
    SetEntry{kSetStreams, "streams", FileType::kDirectory, kSetViews},
    SetEntry{kShardRows, "shards.tsv", FileType::kRegular, kSetIndex},
    SetEntry{kSetDamageRows, "damage.tsv", FileType::kRegular, kSetIndex},
    SetEntry{kSetSummary, "summary.json", FileType::kRegular, kSetIndex},
    SetEntry{kSetConcat, "concat", FileType::kRegular, kSetStreams},
    SetEntry{kSetLines, "lines", FileType::kRegular, kSetStreams},
};

constexpr std::string_view kLinkToShard = "../.shards/";

// REQUIRES: the number is in the data set's own range.
Node node_of(std::uint64_t number) { return {node_kind(number), number % kValuesOfAKind}; }
std::uint64_t number_of(SetNode node) { return number_in(0, {NodeKind::kStatic, node}); }

const SetEntry* entry_of(Node node) {
  if (node.kind != NodeKind::kStatic) return nullptr;
  const auto found = std::ranges::find(kSetEntries, static_cast<SetNode>(node.value), &SetEntry::node);
  return found == kSetEntries.end() ? nullptr : &*found;
}

bool is_thousand(Node node) { return node.kind == NodeKind::kThousand; }
bool is_inside(Node node) { return node == Node{NodeKind::kStatic, kInsideOfSet}; }

// Returns the ordinals of the records that are in a directory; nullopt for any other node.
std::optional<JoinedRecords::Span> records_in(Node node) {
  if (is_thousand(node)) return JoinedRecords::span_of_thousand(node.value);
  if (node == Node{NodeKind::kStatic, kSetRecords} || is_inside(node)) return JoinedRecords::Span{0, kEverything};
  return std::nullopt;
}

JoinedRecords::Shows shown_in(Node node) {
  return is_inside(node) ? JoinedRecords::Shows::kInsides : JoinedRecords::Shows::kRecords;
}

std::optional<Stream> stream_of(Node node) {
  if (node == Node{NodeKind::kStatic, kSetConcat}) return Stream::kConcat;
  if (node == Node{NodeKind::kStatic, kSetLines}) return Stream::kLines;
  return std::nullopt;
}

Result<std::uint64_t> lookup_static(Node directory, std::string_view name) {
  const auto found = std::ranges::find_if(
      kSetEntries, [&](const SetEntry& entry) { return entry.parent == directory.value && entry.name == name; });
  if (found == kSetEntries.end()) return no_such_name();
  return number_of(found->node);
}

Result<void> list_static(Node directory, bool has_parts, std::uint64_t place, const EmitEntry& emit) {
  std::uint64_t next = 0;
  for (const SetEntry& entry : kSetEntries) {
    if (entry.node == kInsideOfSet && !has_parts) continue;
    if (entry.parent != directory.value || !entry.is_listed || next++ < place) continue;
    if (!emit({.name = entry.name, .inode = number_of(entry.node), .type = entry.type, .next = next})) break;
  }
  return {};
}

}  // namespace

JoinedSet::JoinedSet(JoinedSource source, CachedFiles& cache)
    : shards_(std::move(source), cache), records_(shards_, cache), streams_(shards_), tables_(shards_, cache) {}

bool JoinedSet::is_shard(std::uint64_t number) const {
  const auto found = shards_.resolve(number);
  return found && found->node == Node{};
}

Result<std::uint64_t> JoinedSet::first_ordinal(std::size_t shard) {
  ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(shard));
  return counts.first_ordinal;
}

// --- more shards

void JoinedSet::append(const RequestContext& context, AppendedShards more, const Notify& notify) {
  // The last directory of thousands/ may get more records.
  const std::uint64_t thousand = JoinedRecords::thousand_of(progress().totals.records);
  const auto notify_all = [&] {
    notify(number_of(kSetRoot));
    for (const SetEntry& entry : kSetEntries) {
      if (entry.type != FileType::kLink) notify(number_of(entry.node));
    }
    notify(number_in(0, {NodeKind::kThousand, thousand}));
  };
  if (shards_.prepare(more)) notify_all();
  shards_.append(context, std::move(more));
  do {
    tables_.renew();
    shards_.set_modified();
    notify_all();
  } while (shards_.append_sizes(context));
}

// --- names

Result<JoinedSet::Named> JoinedSet::lookup(const RequestContext& context, std::uint64_t directory,
                                           std::string_view name) {
  const Node node = node_of(directory);
  if (const auto span = records_in(node)) {
    const auto ordinal = is_inside(node) ? number_from(name) : std::nullopt;
    if (ordinal && name != record_name(*ordinal)) return lookup_inside_alias(*ordinal);
    ASSIGN_OR_RETURN(auto found, records_.lookup(context, shown_in(node), name, *span));
    return Named{.container = std::move(found.container), .node = found.node};
  }
  if (node.kind != NodeKind::kStatic) return no_such_name();
  const bool in_links = node.value == kShardLinks;
  auto number = in_links || node.value == kShardDirectories ? lookup_shard(name, in_links)
                : node.value == kThousandsOfSet             ? records_.lookup_thousand(name)
                                                            : lookup_static(node, name);
  if (!number) return std::move(number).error();
  if (*number == number_of(kInsideOfSetLink) || *number == number_of(kInsideOfSet)) {
    ASSIGN_OR_RETURN(const bool has_parts, this->has_parts(context));
    if (!has_parts) return no_such_name();
  }
  return Named{.number = *number};
}

// Returns a link to the listed name of an ordinal in inside/.
Result<JoinedSet::Named> JoinedSet::lookup_inside_alias(std::uint64_t ordinal) {
  TRY(shards_.set().locate(ordinal));
  const std::uint64_t number = number_in(0, {NodeKind::kInsideAlias, ordinal});
  if (!shards_.numbers().is_own(number)) return no_such_name();
  return Named{.number = number};
}

// Returns whether the records of the first shard that can be opened have parts.
Result<bool> JoinedSet::has_parts(const RequestContext& context) {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    if (shards_.set().shard(shard).is_missing) continue;
    const auto container = shards_.container(context, shard);
    if (container) return (*container)->tree->view({NodeKind::kStatic, kInside}) != nullptr;
    const Code why = container.error().code;
    if (why == Code::kPending || why == Code::kInterrupted || why == Code::kOutOfMemory) return container.error();
  }
  return false;
}

// A link has its shard's number as an unlisted name.
Result<std::uint64_t> JoinedSet::lookup_shard(std::string_view name, bool in_links) const {
  auto shard = shards_.find(name);
  if (!shard && in_links) shard = number_from(name);
  if (!shard || *shard >= shards_.size()) return no_such_name();
  return in_links ? number_in(0, {NodeKind::kStatic, kFirstShardLink + *shard}) : shards_.numbers().directory(*shard);
}

std::uint64_t JoinedSet::parent(std::uint64_t directory) const {
  if (is_shard(directory)) return number_of(kShardDirectories);
  const Node node = node_of(directory);
  if (is_thousand(node)) return number_of(kThousandsOfSet);
  const SetEntry* entry = entry_of(node);
  return number_of(entry == nullptr ? kSetRoot : entry->parent);
}

Result<std::string> JoinedSet::target(std::uint64_t link) const {
  const Node node = node_of(link);
  if (node.kind == NodeKind::kThousandAlias) return thousand_name(node.value);
  if (node.kind == NodeKind::kInsideAlias) return record_name(node.value);
  if (node.kind != NodeKind::kStatic) return no_such_name();
  if (node.value >= kFirstShardLink && node.value - kFirstShardLink < shards_.size()) {
    return std::string(kLinkToShard).append(shards_.name(static_cast<std::size_t>(node.value - kFirstShardLink)));
  }
  const SetEntry* entry = entry_of(node);
  if (entry == nullptr || entry->type != FileType::kLink) return no_such_name();
  return std::string(entry->target);
}

// --- attributes and contents

Result<FileStatus> JoinedSet::status(const RequestContext& context, std::uint64_t number) {
  FileStatus status{number, number, FileType::kDirectory, 0, shards_.ownership()};
  if (is_shard(number)) {
    const auto shard = static_cast<std::size_t>(shards_.resolve(number)->container);
    if (shards_.set().shard(shard).is_missing) return shards_.container(context, shard).error();
    status.ownership = shards_.ownership(shard);
    return status;
  }
  if (is_followed()) status.cache_policy = CachePolicy::kSnapshot;
  const Node node = node_of(number);
  if (is_thousand(node) || node == Node{}) return status;
  const SetEntry* entry = entry_of(node);
  if (entry != nullptr && entry->type == FileType::kDirectory) return status;
  if (entry != nullptr && entry->type == FileType::kRegular) {
    status.type = FileType::kRegular;
    ASSIGN_OR_RETURN(status.size, size(context, number));
    return status;
  }
  status.type = FileType::kLink;
  status.ownership.modified = shards_.first_modified();
  status.cache_policy = CachePolicy::kPermanent;
  ASSIGN_OR_RETURN(const auto path, target(number));
  status.size = path.size();
  return status;
}

Result<std::uint64_t> JoinedSet::size(const RequestContext& context, std::uint64_t file) {
  if (const auto stream = stream_of(node_of(file))) return streams_.size(*stream);
  ASSIGN_OR_RETURN(const auto text, contents(context, file));
  return std::uint64_t{text.bytes.size()};
}

Result<Slice> JoinedSet::contents(const RequestContext& context, std::uint64_t file) {
  const Node node = node_of(file);
  if (node.kind != NodeKind::kStatic) return no_such_name();
  switch (node.value) {
    case kSetInfo: return tables_.info();
    case kSetSummary: return tables_.summary();
    case kShardRows: return tables_.shard_rows(context);
    case kSetDamageRows: return tables_.damage_rows(context);
    default: return no_such_name();
  }
}

Result<Slice> JoinedSet::read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                              std::uint64_t length) {
  if (const auto stream = stream_of(node_of(file))) return streams_.read(context, *stream, offset, length);
  ASSIGN_OR_RETURN(auto all, contents(context, file));
  return part_of(std::move(all), offset, length);
}

// --- listings

Result<void> JoinedSet::list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                             const EmitEntry& emit) {
  const Node node = node_of(directory);
  if (const auto span = records_in(node)) return records_.list(context, shown_in(node), *span, place, emit);
  const SetEntry* entry = entry_of(node);
  if (node != Node{} && (entry == nullptr || entry->type != FileType::kDirectory)) {
    return Error{.code = Code::kNotFound, .detail = "not a directory"};
  }
  switch (node.value) {
    case kShardLinks: return list_shards(true, place, emit);
    case kShardDirectories: return list_shards(false, place, emit);
    case kThousandsOfSet: return records_.list_thousands(place, emit);
    case kSetViews: {
      ASSIGN_OR_RETURN(const bool has_parts, this->has_parts(context));
      return list_static(node, has_parts, place, emit);
    }
    default: return list_static(node, false, place, emit);
  }
}

Result<void> JoinedSet::list_shards(bool as_links, std::uint64_t place, const EmitEntry& emit) const {
  for (; place < shards_.size(); ++place) {
    const auto shard = static_cast<std::size_t>(place);
    MountEntry entry{
        .name = shards_.name(shard), .inode = shards_.numbers().directory(shard), .type = FileType::kDirectory};
    if (as_links) {
      entry.inode = number_in(0, {NodeKind::kStatic, kFirstShardLink + place});
      entry.type = FileType::kLink;
    }
    entry.next = place + 1;
    if (!emit(entry)) break;
  }
  return {};
}

}  // namespace recordfs
