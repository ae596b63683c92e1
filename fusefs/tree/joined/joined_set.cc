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

// All but the root, in listing order.
constexpr std::array kSetEntries = {
    SetEntry{kSetInfo, "info.json", FileType::kRegular},
    SetEntry{kSetRecords, "records", FileType::kDirectory},
    SetEntry{kShardLinks, "shards", FileType::kDirectory},
    SetEntry{kThousandsOfSetLink, "thousands", FileType::kLink, kSetRoot, ".views/thousands"},
    SetEntry{kSetIndexLink, "index", FileType::kLink, kSetRoot, ".views/index"},
    SetEntry{kSetStreamsLink, "streams", FileType::kLink, kSetRoot, ".views/streams"},
    SetEntry{kSetViews, ".views", FileType::kDirectory, kSetRoot, {}, false},
    SetEntry{kShardDirectories, ".shards", FileType::kDirectory, kSetRoot, {}, false},
    SetEntry{kThousandsOfSet, "thousands", FileType::kDirectory, kSetViews},
    SetEntry{kSetIndex, "index", FileType::kDirectory, kSetViews},
    SetEntry{kSetStreams, "streams", FileType::kDirectory, kSetViews},
    SetEntry{kShardRows, "shards.tsv", FileType::kRegular, kSetIndex},
    SetEntry{kSetDamageRows, "damage.tsv", FileType::kRegular, kSetIndex},
    SetEntry{kSetSummary, "summary.json", FileType::kRegular, kSetIndex},
    SetEntry{kSetConcat, "concat", FileType::kRegular, kSetStreams},
    SetEntry{kSetLines, "lines", FileType::kRegular, kSetStreams},
};

constexpr std::uint64_t kRecordsOfThousand = 1000;  // per directory in thousands/
constexpr Node kRecordsOfShard{NodeKind::kStatic, kRecords};
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

Result<void> list_static(Node directory, std::uint64_t place, const EmitEntry& emit) {
  std::uint64_t next = 0;
  for (const SetEntry& entry : kSetEntries) {
    if (entry.parent != directory.value || !entry.is_listed || next++ < place) continue;
    if (!emit({.name = entry.name, .inode = number_of(entry.node), .type = entry.type, .next = next})) break;
  }
  return {};
}

}  // namespace

JoinedSet::JoinedSet(JoinedSource source, CachedFiles& cache)
    : shards_(std::move(source), cache), cache_(cache), streams_(shards_), tables_(shards_, cache) {}

bool JoinedSet::is_shard(std::uint64_t number) const {
  const auto found = shards_.resolve(number);
  return found && found->node == Node{};
}

Result<std::uint64_t> JoinedSet::first_ordinal(std::size_t shard) {
  ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(shard));
  return counts.first_ordinal;
}

// --- names

Result<JoinedSet::Named> JoinedSet::lookup(const RequestContext& context, std::uint64_t directory,
                                           std::string_view name) {
  const Node node = node_of(directory);
  if (is_thousand(node)) {
    const std::uint64_t first = node.value * kRecordsOfThousand;
    return lookup_record(context, name, {first, first + kRecordsOfThousand});
  }
  if (node.kind != NodeKind::kStatic) return no_such_name();
  if (node.value == kSetRecords) return lookup_record(context, name, {0, kEverything});
  const bool in_links = node.value == kShardLinks;
  auto number = in_links || node.value == kShardDirectories ? lookup_shard(name, in_links)
                : node.value == kThousandsOfSet             ? lookup_thousand(name)
                                                            : lookup_static(node, name);
  if (!number) return std::move(number).error();
  return Named{.number = *number};
}

// The shard's container decides what follows the ordinal in a name: ".json", for example.
Result<JoinedSet::Named> JoinedSet::lookup_record(const RequestContext& context, std::string_view name,
                                                  const Span& in) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const auto ordinal = number_from(name.substr(0, digits));
  if (!ordinal || *ordinal < in.begin || *ordinal >= in.end) return no_such_name();
  ASSIGN_OR_RETURN(const auto at, shards_.set().locate(*ordinal));
  ASSIGN_OR_RETURN(auto container, shards_.container(context, at.shard));
  const std::string in_shard = std::to_string(at.ordinal).append(name.substr(digits));
  const View& records = *container->tree->view(kRecordsOfShard);
  ASSIGN_OR_RETURN(const auto node, kept_open(container, records.lookup(context, kRecordsOfShard, in_shard)));
  return Named{.container = std::move(container), .node = node};
}

Result<std::uint64_t> JoinedSet::lookup_thousand(std::string_view name) {
  const auto thousand = number_from(name);
  if (!thousand || *thousand > kEverything / kRecordsOfThousand) return no_such_name();
  TRY(shards_.set().locate(*thousand * kRecordsOfThousand));
  const NodeKind kind = name == thousand_name(*thousand) ? NodeKind::kThousand : NodeKind::kThousandAlias;
  const std::uint64_t number = number_in(0, {kind, *thousand});
  if (!shards_.is_own(number)) return no_such_name();
  return number;
}

// A link has its shard's number as an unlisted name.
Result<std::uint64_t> JoinedSet::lookup_shard(std::string_view name, bool in_links) const {
  auto shard = shards_.find(name);
  if (!shard && in_links) shard = number_from(name);
  if (!shard || *shard >= shards_.size()) return no_such_name();
  return in_links ? number_in(0, {NodeKind::kStatic, kFirstShardLink + *shard}) : shards_.number(*shard);
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
  if (is_thousand(node)) {
    const std::uint64_t first = node.value * kRecordsOfThousand;
    return list_records(context, {first, first + kRecordsOfThousand}, place, emit);
  }
  const SetEntry* entry = entry_of(node);
  if (node != Node{} && (entry == nullptr || entry->type != FileType::kDirectory)) {
    return Error{.code = Code::kNotFound, .detail = "not a directory"};
  }
  switch (node.value) {
    case kSetRecords: return list_records(context, {0, kEverything}, place, emit);
    case kShardLinks: return list_shards(true, place, emit);
    case kShardDirectories: return list_shards(false, place, emit);
    case kThousandsOfSet: return list_thousands(place, emit);
    default: return list_static(node, place, emit);
  }
}

Result<void> JoinedSet::list_shards(bool as_links, std::uint64_t place, const EmitEntry& emit) const {
  for (; place < shards_.size(); ++place) {
    const auto shard = static_cast<std::size_t>(place);
    MountEntry entry{.name = shards_.name(shard), .inode = shards_.number(shard), .type = FileType::kDirectory};
    if (as_links) {
      entry.inode = number_in(0, {NodeKind::kStatic, kFirstShardLink + place});
      entry.type = FileType::kLink;
    }
    entry.next = place + 1;
    if (!emit(entry)) break;
  }
  return {};
}

Result<void> JoinedSet::list_thousands(std::uint64_t place, const EmitEntry& emit) {
  for (const std::uint64_t began_at = place;; ++place) {
    const auto found = shards_.set().locate(place * kRecordsOfThousand);
    if (!found) return stopped(found.error(), place > began_at);
    const std::string name = thousand_name(place);
    if (!emit({.name = name,
               .inode = number_in(0, {NodeKind::kThousand, place}),
               .type = FileType::kDirectory,
               .next = place + 1})) {
      return {};
    }
  }
}

// A place is the number of entries before it.
Result<void> JoinedSet::list_records(const RequestContext& context, const Span& in, std::uint64_t place,
                                     const EmitEntry& emit) {
  const std::uint64_t began_at = place;
  while (place < in.end - in.begin) {
    const std::uint64_t ordinal = in.begin + place;
    auto at = shards_.set().locate(ordinal);
    if (!at) return stopped(at.error(), place > began_at);
    ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(at->shard));
    const std::uint64_t end = std::min(in.end, counts.first_ordinal + counts.records);
    bool is_full = false;
    auto reached = list_records_of(context, *at, end, in, emit, is_full);
    if (!reached) return stopped(reached.error(), place > began_at);
    if (is_full) return {};
    if (*reached == ordinal) {
      return stopped({.code = Code::kChanged, .detail = "the shard has fewer records than when it was counted"},
                     place > began_at);
    }
    place = *reached - in.begin;
  }
  return {};
}

// Emits records of one shard, up to the ordinal `end` of the set. Returns the ordinal of the next one to emit.
Result<std::uint64_t> JoinedSet::list_records_of(const RequestContext& context, const RecordInShard& from,
                                                 std::uint64_t end, const Span& in, const EmitEntry& emit,
                                                 bool& is_full) {
  ASSIGN_OR_RETURN(const auto container, shards_.container(context, from.shard));
  ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(from.shard));
  const std::uint64_t records = shards_.set().progress().totals.records;
  std::uint64_t reached = counts.first_ordinal + from.ordinal;
  const auto renumbered = [&](const DirectoryEntry& entry) {
    if (reached == end) return false;
    const std::string name = record_name(reached).append(cache_.record_suffix);
    MountEntry shown{.name = name,
                     .inode = container->inode(entry.node),
                     .type = entry.type,
                     .size = entry.size,
                     .next = reached + 1 - in.begin,
                     .container = container.get(),
                     .node = entry.node};
    if (!has_attributes(reached - in.begin, records)) shown.size.reset();
    is_full = !emit(shown);
    if (!is_full) ++reached;
    return !is_full;
  };
  const View& view = *container->tree->view(kRecordsOfShard);
  TRY(kept_open(container, view.list(context, kRecordsOfShard, from.ordinal, renumbered)));
  return reached;
}

}  // namespace recordfs
