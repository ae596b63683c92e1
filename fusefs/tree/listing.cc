// ContainerTree's listings. A place in a listing is the number of entries before it.
#include <algorithm>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/names.h"
#include "fusefs/tree/static_entries.h"

namespace recordfs {
namespace {

// With attributes, an entry costs the kernel about 1 KiB and six times the time. A listing longer than kLongListing has
// attributes for its first kOfLongListing entries only.
constexpr std::uint64_t kLongListing = 1000000;
constexpr std::uint64_t kOfLongListing = 250000;

// Returns the result of a listing that cannot continue. Success if it has emitted entries: the next call starts here.
Result<void> stopped(const Error& error, bool came_forward) {
  if (came_forward || error.code == Code::kNotFound) return {};
  return error;
}

// `entries`: how many the listing has, as far as scanned.
bool has_attributes(std::uint64_t place, std::uint64_t entries) {
  return place < (entries > kLongListing ? kOfLongListing : kLongListing);
}

}  // namespace

Result<void> ContainerTree::list(Node directory, std::uint64_t place, const Emit& emit) const {
  switch (directory.kind) {
    case NodeKind::kChunk: return list_chunk(directory, place, emit);
    case NodeKind::kChunkRecords: return list_chunk_records(directory, place, emit);
    case NodeKind::kThousand: {
      const std::uint64_t first = directory.value * kThousandRecords;
      return list_ordinals(first, first + kThousandRecords, place, emit);
    }
    case NodeKind::kInsideRecord:
    case NodeKind::kPart: return list_parts(directory, place, emit);
    case NodeKind::kKeyFamily: return list_keys(static_cast<std::uint32_t>(directory.value), place, emit);
    case NodeKind::kStatic: break;
    default: return Error{.code = Code::kNotFound, .detail = "not a directory"};
  }
  switch (directory.value) {
    case kRecords: return list_ordinals(0, kEverything, place, emit);
    case kChunks: return list_chunks(place, emit);
    case kThousands: return list_thousands(place, emit);
    case kDamageRegions: return list_damage(place, emit);
    case kMetadata: return list_attributes(place, emit);
    case kInside: return list_insides(place, emit);
    case kKeys: return list_keys(0, place, emit);
    case kKeyFamilies: return list_key_families(place, emit);
    default: return list_static(directory, place, emit);
  }
}

Result<void> ContainerTree::list_static(Node directory, std::uint64_t place, const Emit& emit) const {
  std::uint64_t number = 0;
  for (const StaticEntry& entry : kStaticEntries) {
    if (entry.parent != directory.value || !entry.listed || !has(entry)) continue;
    if (number++ < place) continue;
    std::optional<std::uint64_t> size;
    if (entry.type == FileType::kDirectory) size = 0;
    if (entry.type == FileType::kLink) size = target_of(entry).size();
    if (entry.node == kWhole) size = store_->array()->size;
    if (entry.node == kInfo) {
      auto known = static_size(entry.node);
      if (known) size = *known;
    }
    if (!emit({name_of(entry), {NodeKind::kStatic, entry.node}, entry.type, size, number})) return {};
  }
  return {};
}

Result<bool> ContainerTree::emit_records(const ChunkInfo& chunk, std::uint64_t index, std::uint64_t first_ordinal,
                                         std::uint64_t end_ordinal, std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto records, store_->chunks().records_in(chunk));
  const bool in_chunk = end_ordinal == 0;  // names are indices in the chunk instead of ordinals
  const std::uint64_t end = in_chunk ? records : std::min(records, index + (end_ordinal - first_ordinal));
  const std::uint64_t entries = in_chunk ? records : store_->index().state().totals.records;
  const bool with_sizes = chunk.layout_cost == LayoutCost::kSmall && has_attributes(place, entries);
  std::shared_ptr<const Layout> layout;
  if (with_sizes) {
    if (auto known = store_->chunks().layout(chunk); known && (*known)->records() >= end) layout = *known;
  }
  for (std::uint64_t i = index; i < end; ++i, ++place) {
    std::string name = in_chunk ? chunk_record_name(i) : record_name(first_ordinal + (i - index));
    name += cache_.record_suffix;
    std::optional<std::uint64_t> size;
    if (layout) {
      size = layout->extent(i).size;
      // An unreadable record must not have size 0, and only the decoded chunk shows whether this one is readable.
      if (*size == 0) size.reset();
    }
    ASSIGN_OR_RETURN(const auto node, record_node(chunk, i));
    if (!emit({name, node, FileType::kRegular, size, place + 1})) return false;
  }
  return true;
}

Result<void> ContainerTree::list_ordinals(std::uint64_t first, std::uint64_t end, std::uint64_t place,
                                          const Emit& emit) const {
  const std::uint64_t began_at = place;
  while (place < end - first) {
    const std::uint64_t ordinal = first + place;
    auto found = store_->index().find(SearchKey::kRecords, ordinal);
    if (!found) return stopped(found.error(), place > began_at);
    const std::uint64_t index = ordinal - found->before.records;
    auto all = emit_records(found->chunk, index, ordinal, end, place, emit);
    if (!all) return stopped(all.error(), place > began_at);
    if (!*all) return {};
    place = found->after().records - first;
  }
  return {};
}

Result<void> ContainerTree::list_chunk_records(Node directory, std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto chunk, store_->index().chunk_at(directory.value));
  TRY(emit_records(chunk, place, 0, 0, place, emit));
  return {};
}

Result<void> ContainerTree::list_chunks(std::uint64_t place, const Emit& emit) const {
  for (const std::uint64_t began_at = place;; ++place) {
    auto found = store_->index().find(SearchKey::kChunks, place);
    if (!found) return stopped(found.error(), place > began_at);
    const std::string name = position_name(found->chunk.begin);
    if (!emit({name, {NodeKind::kChunk, found->chunk.begin}, FileType::kDirectory, 0, place + 1})) return {};
  }
}

Result<void> ContainerTree::list_thousands(std::uint64_t place, const Emit& emit) const {
  for (const std::uint64_t began_at = place;; ++place) {
    auto found = store_->index().find(SearchKey::kRecords, place * kThousandRecords);
    if (!found) return stopped(found.error(), place > began_at);
    if (!emit({thousand_name(place), {NodeKind::kThousand, place}, FileType::kDirectory, 0, place + 1})) return {};
  }
}

Result<void> ContainerTree::list_insides(std::uint64_t place, const Emit& emit) const {
  for (const std::uint64_t began_at = place;;) {
    auto found = store_->index().find(SearchKey::kRecords, place);
    if (!found) return stopped(found.error(), place > began_at);
    for (const std::uint64_t end = found->after().records; place < end; ++place) {
      auto node = record_node(found->chunk, place - found->before.records, NodeKind::kInsideRecord);
      if (!node) return stopped(node.error(), place > began_at);
      std::optional<std::uint64_t> size;
      if (has_attributes(place, store_->index().state().totals.records)) size = 0;
      if (!emit({record_name(place), *node, FileType::kDirectory, size, place + 1})) return {};
    }
  }
}

Result<void> ContainerTree::list_damage(std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto rows, store_->index().damage());
  for (; place < rows->size(); ++place) {
    const DamagedRegion& found = (*rows)[static_cast<std::size_t>(place)].region;
    const std::string name = position_name(found.begin);
    if (!emit({name, {NodeKind::kDamage, found.begin}, FileType::kRegular, found.end - found.begin, place + 1})) break;
  }
  return {};
}

Result<void> ContainerTree::list_attributes(std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(auto files, attribute_files());
  const auto& names = files->names;
  for (; place < names.size(); ++place) {
    const auto i = static_cast<std::size_t>(place);
    const std::uint64_t size = (*files->values)[i].value.size();
    if (!emit({names[i], {NodeKind::kAttribute, place}, FileType::kRegular, size, place + 1})) return {};
  }
  const std::string& table = files->names_table;
  if (place == names.size() && !table.empty()) {
    emit({"names.tsv", {NodeKind::kStatic, kNames}, FileType::kRegular, table.size(), place + 1});
  }
  return {};
}

Result<void> ContainerTree::list_chunk(Node directory, std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto chunk, store_->index().chunk_at(directory.value));
  const DirectoryEntry entries[] = {
      {"info.json", {NodeKind::kChunkInfo, chunk.begin}, FileType::kRegular, std::nullopt, 1},
      {"raw", {NodeKind::kChunkRaw, chunk.begin}, FileType::kRegular, chunk.end - chunk.begin, 2},
      {"data", {NodeKind::kChunkData, chunk.begin}, FileType::kRegular, std::nullopt, 3},
      {"records", {NodeKind::kChunkRecords, chunk.begin}, FileType::kDirectory, 0, 4},
      {"records.jsonl", {NodeKind::kChunkJsonl, chunk.begin}, FileType::kRegular, std::nullopt, 5},
  };
  for (; place < std::size(entries); ++place) {
    if (!emit(entries[place])) break;
  }
  return {};
}

}  // namespace recordfs
