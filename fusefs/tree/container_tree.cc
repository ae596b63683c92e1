#include "fusefs/tree/container_tree.h"

#include <algorithm>

#include "fusefs/tree/fixed.h"
#include "fusefs/tree/names.h"
#include "fusefs/tree/texts.h"

namespace recordfs {
namespace {

NodeAttributes regular(std::uint64_t size) { return {FileType::kRegular, size}; }

const FixedEntry* fixed_entry(std::uint64_t node) {
  const auto found = std::ranges::find(kFixedTree, static_cast<FixedNode>(node), &FixedEntry::node);
  return found == kFixedTree.end() ? nullptr : &*found;
}

Result<NodeAttributes> sized(const Result<std::uint64_t>& size) {
  if (!size) return size.error();
  return regular(*size);
}

}  // namespace

std::uint64_t ContainerTree::values() const {
  constexpr std::uint64_t kAttributeFiles = 1u << 26;  // a value each for a metadata of that many bytes
  constexpr std::uint64_t kFamilies = std::uint64_t{1} << 32;
  const std::uint64_t beside = store_->container().has_keys() ? kFamilies : kAttributeFiles;
  return std::max<std::uint64_t>(store_->address_limit(), beside) + kFixedEnd;
}

std::vector<Node> ContainerTree::changed_since(const ContainerTree& shorter) const {
  std::vector<Node> nodes = {Node{}};
  for (const FixedEntry& entry : kFixedTree) {
    if (entry.type != FileType::kLink) nodes.push_back({NodeKind::kFixed, entry.node});
  }
  Goal goal;
  const auto counts = shorter.store_->counts(goal);
  if (counts) nodes.push_back({NodeKind::kThousand, counts->records / kThousandRecords});
  Result<ChunkInfo> last = Error{.code = Code::kNotFound, .detail = {}};
  if (counts && counts->chunks > 0) {
    const auto place = shorter.store_->chunk_by_number(counts->chunks - 1, goal);
    if (place) last = place->chunk;
  } else if (!counts && shorter.store_->source().size() > 0) {
    last = store_->chunk_covering(shorter.store_->source().size() - 1, goal);
  }
  if (!last) return nodes;
  for (const NodeKind kind : {NodeKind::kChunk, NodeKind::kChunkRecords, NodeKind::kChunkInfo, NodeKind::kChunkRaw,
                              NodeKind::kChunkData, NodeKind::kChunkJsonl}) {
    nodes.push_back({kind, last->begin});
  }
  return nodes;
}

bool ContainerTree::has(const FixedEntry& entry) const {
  if (entry.node == kTrailer) return store_->container().has_trailer();
  if (entry.node == kInsideLink || entry.node == kInside) return store_->container().has_parts();
  if (entry.node == kKeysLink || entry.node == kKeys || entry.node == kKeyFamilies) {
    return store_->container().has_keys();
  }
  if (entry.node == kWhole || entry.node == kWholeLink) return store_->container().whole_stream() != nullptr;
  return true;
}

std::string_view ContainerTree::name_of(const FixedEntry& entry) const {
  return entry.name.empty() ? store_->container().whole_stream()->name : entry.name;
}

std::string ContainerTree::target_of(const FixedEntry& entry) const {
  return std::string(entry.target).append(entry.node == kWholeLink ? name_of(entry) : "");
}

Node ContainerTree::parent(Node directory) const {
  switch (directory.kind) {
    case NodeKind::kChunk: return {NodeKind::kFixed, kChunks};
    case NodeKind::kChunkRecords: return {NodeKind::kChunk, directory.value};
    case NodeKind::kThousand: return {NodeKind::kFixed, kThousands};
    case NodeKind::kInsideRecord: return {NodeKind::kFixed, kInside};
    case NodeKind::kPart: return parent_of_part(directory);
    case NodeKind::kKeyFamily: return {NodeKind::kFixed, kKeyFamilies};
    default: break;
  }
  const FixedEntry* entry = fixed_entry(directory.value);
  return {NodeKind::kFixed, entry == nullptr ? kRoot : entry->parent};
}

// --- names

Result<Node> ContainerTree::lookup(Node directory, std::string_view name, Goal& goal) const {
  switch (directory.kind) {
    case NodeKind::kFixed: return lookup_fixed(directory, name, goal);
    case NodeKind::kChunk:
    case NodeKind::kChunkRecords: return lookup_in_chunk(directory, name, goal);
    case NodeKind::kThousand: {
      const auto file = record_file(name);
      if (!file || file->number / kThousandRecords != directory.value) return no_such_name();
      return lookup_ordinal(*file, goal);
    }
    case NodeKind::kInsideRecord:
    case NodeKind::kPart: return lookup_part(directory, name, goal);
    case NodeKind::kKeyFamily: return lookup_key(static_cast<std::uint32_t>(directory.value), name, goal);
    default: return no_such_name();
  }
}

Result<Node> ContainerTree::lookup_fixed(Node directory, std::string_view name, Goal& goal) const {
  switch (directory.value) {
    case kRecords: {
      const auto file = record_file(name);
      if (!file) return no_such_name();
      return lookup_ordinal(*file, goal);
    }
    case kChunks: return lookup_chunk(name, goal);
    case kThousands: return lookup_thousand(name, goal);
    case kDamageRegions: return lookup_damage(name, goal);
    case kMetadata: return lookup_attribute(name, goal);
    case kInside: return lookup_inside(name, goal);
    case kKeys: return lookup_key(0, name, goal);
    case kKeyFamilies: return lookup_key_family(name, goal);
    default: break;
  }
  for (const FixedEntry& entry : kFixedTree) {
    if (entry.parent != directory.value || !has(entry) || name_of(entry) != name) continue;
    return Node{NodeKind::kFixed, entry.node};
  }
  return no_such_name();
}

Result<Node> ContainerTree::record_node(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind) const {
  auto address = store_->address(chunk, index);
  if (!address) return std::move(address).error();
  return Node{kind, *address};
}

// A record's name is a number with the suffix of records, as they are listed, or without. Behind that ".json" means
// what it says, where all of it is no record's name itself.
std::optional<ContainerTree::RecordFile> ContainerTree::record_file(std::string_view name) const {
  const auto record = [this](std::string_view its_name) {
    if (its_name.ends_with(kept_.record_suffix)) its_name.remove_suffix(kept_.record_suffix.size());
    return number_from(its_name);
  };
  if (const auto number = record(name)) return RecordFile{*number, NodeKind::kRecord};
  if (!name.ends_with(kJsonSuffix)) return std::nullopt;
  name.remove_suffix(kJsonSuffix.size());
  if (const auto number = record(name)) return RecordFile{*number, NodeKind::kRecordJson};
  return std::nullopt;
}

Result<Node> ContainerTree::lookup_record(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind,
                                          Goal& goal) const {
  auto record = record_node(chunk, index);
  if (!record || kind == NodeKind::kRecord) return record;
  return lookup_document(*record, goal);
}

Result<Node> ContainerTree::lookup_ordinal(const RecordFile& file, Goal& goal) const {
  auto place = store_->chunk_by_ordinal(file.number, goal);
  if (!place) return std::move(place).error();
  return lookup_record(place->chunk, file.number - place->before.records, file.kind, goal);
}

Result<Node> ContainerTree::lookup_chunk(std::string_view name, Goal& goal) const {
  const auto begin = number_from(name);
  if (!begin) return no_such_name();
  auto chunk = store_->chunk_at(*begin, goal);
  if (!chunk) return std::move(chunk).error();
  return Node{name == position_name(*begin) ? NodeKind::kChunk : NodeKind::kChunkAlias, *begin};
}

Result<Node> ContainerTree::lookup_thousand(std::string_view name, Goal& goal) const {
  const auto thousand = number_from(name);
  if (!thousand || *thousand > kEverything / kThousandRecords) return no_such_name();
  auto first = store_->chunk_by_ordinal(*thousand * kThousandRecords, goal);
  if (!first) return std::move(first).error();
  return Node{name == thousand_name(*thousand) ? NodeKind::kThousand : NodeKind::kThousandAlias, *thousand};
}

Result<Node> ContainerTree::lookup_damage(std::string_view name, Goal& goal) const {
  const auto begin = number_from(name);
  if (!begin) return no_such_name();
  auto found = region(*begin, goal);
  if (!found) return std::move(found).error();
  return Node{NodeKind::kDamage, *begin};
}

Result<Node> ContainerTree::lookup_attribute(std::string_view name, Goal& goal) const {
  auto files = attribute_files(goal);
  if (!files) return std::move(files).error();
  if (const auto place = (*files)->by_name.find(name)) return Node{NodeKind::kAttribute, *place};
  if (name == "names.tsv" && !(*files)->names_table.empty()) return Node{NodeKind::kFixed, kNames};
  return no_such_name();
}

Result<Node> ContainerTree::lookup_in_chunk(Node directory, std::string_view name, Goal& goal) const {
  const Position begin = directory.value;
  if (directory.kind == NodeKind::kChunk) {
    if (name == "info.json") return Node{NodeKind::kChunkInfo, begin};
    if (name == "raw") return Node{NodeKind::kChunkRaw, begin};
    if (name == "data") return Node{NodeKind::kChunkData, begin};
    if (name == "records") return Node{NodeKind::kChunkRecords, begin};
    if (name == "records.jsonl") return Node{NodeKind::kChunkJsonl, begin};
    return no_such_name();
  }
  const auto file = record_file(name);
  if (!file) return no_such_name();
  auto chunk = store_->chunk_at(begin, goal);
  if (!chunk) return std::move(chunk).error();
  auto records = store_->records_in(*chunk);
  if (!records) return std::move(records).error();
  if (file->number >= *records) return no_such_name();
  return lookup_record(*chunk, file->number, file->kind, goal);
}

// --- attributes

Result<std::shared_ptr<const ContainerTree::DamageFiles>> ContainerTree::damage_files(Goal& goal) const {
  {
    const std::lock_guard lock(mutex_);
    if (damage_files_) return damage_files_;
  }
  auto rows = store_->damage(goal);
  if (!rows) return std::move(rows).error();
  std::vector<Position> begins;
  begins.reserve((*rows)->size());
  for (const DamageRow& row : **rows) begins.push_back(row.region.begin);
  auto files = std::make_shared<DamageFiles>();
  files->rows = *rows;
  files->by_begin = FirstIndex(std::move(begins));
  const std::lock_guard lock(mutex_);
  if (!damage_files_) damage_files_ = std::move(files);
  return damage_files_;
}

Result<DamagedRegion> ContainerTree::region(Position begin, Goal& goal) const {
  auto files = damage_files(goal);
  if (!files) return std::move(files).error();
  const auto place = (*files)->by_begin.find(begin);
  if (!place) return no_such_name();
  return (*(*files)->rows)[*place].region;
}

Result<NodeAttributes> ContainerTree::attributes(Node node, Goal& goal) const {
  switch (node.kind) {
    case NodeKind::kFixed: return fixed_attributes(static_cast<FixedNode>(node.value), goal);
    case NodeKind::kChunk:
    case NodeKind::kChunkRecords:
    case NodeKind::kThousand:
    case NodeKind::kInsideRecord:
    case NodeKind::kKeyFamily: return NodeAttributes{FileType::kDirectory, 0};
    case NodeKind::kChunkAlias: return NodeAttributes{FileType::kLink, position_name(node.value).size()};
    case NodeKind::kThousandAlias: return NodeAttributes{FileType::kLink, thousand_name(node.value).size()};
    case NodeKind::kInsideAlias: return NodeAttributes{FileType::kLink, record_name(node.value).size()};
    case NodeKind::kPart: return part_attributes(node, goal);
    case NodeKind::kKey:
    case NodeKind::kKeyNames: return key_attributes(node, goal);
    case NodeKind::kRecord: {
      auto found = store_->record_at(node.value, goal);
      if (!found) return std::move(found).error();
      return sized(store_->record_size(*found));
    }
    case NodeKind::kRecordJson: return text_attributes(document(node, goal));
    case NodeKind::kDamage: {
      auto found = region(node.value, goal);
      if (!found) return std::move(found).error();
      return regular(found->end - found->begin);
    }
    case NodeKind::kAttribute: {
      auto files = attribute_files(goal);
      if (!files) return std::move(files).error();
      if (node.value >= (*files)->values->size()) return no_such_name();
      return regular((*(*files)->values)[static_cast<std::size_t>(node.value)].value.size());
    }
    default: break;
  }
  auto chunk = store_->chunk_at(node.value, goal);
  if (!chunk) return std::move(chunk).error();
  if (node.kind == NodeKind::kChunkRaw) return regular(chunk->end - chunk->begin);
  if (node.kind == NodeKind::kChunkData) return sized(store_->payload_size(*chunk));
  if (node.kind == NodeKind::kChunkJsonl) return sized(lines_size(*chunk, goal));
  auto info = chunk_text(*chunk);
  if (!info) return std::move(info).error();
  return regular((*info)->bytes.size());
}

Result<NodeAttributes> ContainerTree::fixed_attributes(FixedNode node, Goal& goal) const {
  const FixedEntry* entry = fixed_entry(node);
  if (node == kRoot) return NodeAttributes{FileType::kDirectory, 0};
  if (entry == nullptr || !has(*entry)) return no_such_name();
  if (entry->type == FileType::kDirectory) return NodeAttributes{FileType::kDirectory, 0};
  if (entry->type == FileType::kLink) return NodeAttributes{FileType::kLink, target_of(*entry).size()};
  return sized(fixed_size(node, goal));
}

Result<std::uint64_t> ContainerTree::fixed_size(FixedNode node, Goal& goal) const {
  if (node == kConcat) return store_->stream_size(Stream::kConcat, goal);
  if (node == kLines) return store_->stream_size(Stream::kLines, goal);
  if (node == kChunkRows) return store_->rows_size(goal);
  if (node == kWhole) return store_->container().whole_stream()->size;
  if (node == kTrailer) {
    auto bytes = trailer();
    if (bytes) return (*bytes)->bytes.size();
    if (!lies_in_the_bytes(bytes.error().code)) return std::move(bytes).error();
    return std::uint64_t{1};  // never 0: a read of it then says why
  }
  auto content = text(node, goal);
  if (!content) return std::move(content).error();
  return (*content)->size();
}

// --- contents

Result<std::string> ContainerTree::target(Node link) const {
  if (link.kind == NodeKind::kChunkAlias) return position_name(link.value);
  if (link.kind == NodeKind::kThousandAlias) return thousand_name(link.value);
  if (link.kind == NodeKind::kInsideAlias) return record_name(link.value);
  const FixedEntry* entry = link.kind == NodeKind::kFixed ? fixed_entry(link.value) : nullptr;
  if (entry == nullptr || entry->type != FileType::kLink || !has(*entry)) return no_such_name();
  return target_of(*entry);
}

Result<ContainerTree::Text> ContainerTree::make_text(FixedNode node, Goal& goal) const {
  if (node == kInfo) {
    auto content = container_info(*store_);
    if (!content) {
      store_->report(content.error());
      return std::move(content).error();
    }
    return std::make_shared<const std::string>(std::move(*content));
  }
  if (node == kNames) {
    auto files = attribute_files(goal);
    if (!files) return std::move(files).error();
    return Text(*files, &(*files)->names_table);
  }
  auto damage = store_->damage(goal);
  if (!damage) return std::move(damage).error();
  if (node == kDamageRows) return std::make_shared<const std::string>(damage_table(**damage));
  auto totals = store_->totals(goal);
  if (!totals) return std::move(totals).error();
  return std::make_shared<const std::string>(summary(*store_, *totals, **damage));
}

Result<ContainerTree::Text> ContainerTree::text(FixedNode node, Goal& goal) const {
  Text none;
  Text& kept = node == kInfo ? info_ : node == kSummary ? summary_ : node == kDamageRows ? damage_ : none;
  {
    const std::lock_guard lock(mutex_);
    if (kept) return kept;
  }
  auto made = make_text(node, goal);
  if (!made) return made;
  const std::lock_guard lock(mutex_);
  if (!kept) kept = *made;
  return kept;
}

Result<std::shared_ptr<const ContainerTree::AttributeFiles>> ContainerTree::attribute_files(Goal& goal) const {
  {
    const std::lock_guard lock(mutex_);
    if (attribute_files_) return attribute_files_;
  }
  auto values = store_->attributes(goal);
  if (!values) return std::move(values).error();
  std::vector<std::string_view> keys;
  for (const Attribute& attribute : **values) keys.emplace_back(attribute.key);
  auto files = std::make_shared<AttributeFiles>();
  files->values = *values;
  files->names = names_for(keys, {"names.tsv"});
  files->by_name = FirstIndex(std::vector<std::string_view>(files->names.begin(), files->names.end()));
  if (!std::ranges::equal(keys, files->names)) files->names_table = names_table(keys, files->names);
  const std::lock_guard lock(mutex_);
  if (!attribute_files_) attribute_files_ = std::move(files);
  return attribute_files_;
}

Result<std::shared_ptr<const KeptBytes>> ContainerTree::trailer() const {
  constexpr Position kTrailerKey = kEverything;  // where no chunk begins
  auto bytes = kept_.contents.get({snapshot_, kTrailerKey}, [&]() -> Result<std::shared_ptr<const KeptBytes>> {
    auto made = store_->container().trailer();
    if (!made) return std::move(made).error();
    return std::make_shared<const KeptBytes>(KeptBytes{std::move(*made)});
  });
  if (!bytes) store_->report(bytes.error());
  return bytes;
}

Result<std::shared_ptr<const KeptBytes>> ContainerTree::chunk_text(const ChunkInfo& chunk) const {
  auto bytes = kept_.contents.get({snapshot_, chunk.begin}, [&]() -> Result<std::shared_ptr<const KeptBytes>> {
    auto text = chunk_info(*store_, chunk);
    if (!text) return std::move(text).error();
    auto made = Buffer::copy_of(as_bytes(*text));
    if (!made) return std::move(made).error();
    return std::make_shared<const KeptBytes>(KeptBytes{std::move(*made)});
  });
  if (!bytes) store_->report(bytes.error());
  return bytes;
}

Slice ContainerTree::part_of(Bytes whole, std::shared_ptr<const void> owner, std::uint64_t offset,
                             std::uint64_t length) {
  if (offset >= whole.size()) return {};
  const auto begin = static_cast<std::size_t>(offset);
  return {whole.subspan(begin, static_cast<std::size_t>(std::min<std::uint64_t>(length, whole.size() - begin))),
          std::move(owner)};
}

Result<Slice> ContainerTree::read_fixed(FixedNode node, std::uint64_t offset, std::uint64_t length, Goal& goal) const {
  if (node == kConcat) return store_->read_stream(Stream::kConcat, offset, length, goal);
  if (node == kLines) return store_->read_stream(Stream::kLines, offset, length, goal);
  if (node == kChunkRows) return store_->read_rows(offset, length, goal);
  if (node == kWhole) {
    if (store_->container().whole_stream() == nullptr) return no_such_name();
    return store_->read_whole_stream(offset, length, goal);
  }
  if (node == kTrailer) {
    auto bytes = trailer();
    if (!bytes) return std::move(bytes).error();
    return part_of((*bytes)->bytes.view(), *bytes, offset, length);
  }
  auto content = text(node, goal);
  if (!content) return std::move(content).error();
  return part_of(as_bytes(**content), *content, offset, length);
}

Result<Slice> ContainerTree::read(Node file, std::uint64_t offset, std::uint64_t length, Goal& goal) const {
  switch (file.kind) {
    case NodeKind::kFixed: return read_fixed(static_cast<FixedNode>(file.value), offset, length, goal);
    case NodeKind::kPart: return read_part(file, offset, length, goal);
    case NodeKind::kKey:
    case NodeKind::kKeyNames: return read_key(file, offset, length, goal);
    case NodeKind::kRecord: {
      auto found = store_->record_at(file.value, goal);
      if (!found) return std::move(found).error();
      return store_->read_record(*found, offset, length);
    }
    case NodeKind::kRecordJson: return read_text(document(file, goal), offset, length);
    case NodeKind::kDamage: {
      auto found = region(file.value, goal);
      if (!found) return std::move(found).error();
      return store_->read_raw(found->begin, found->end, offset, length);
    }
    case NodeKind::kAttribute: {
      auto files = attribute_files(goal);
      if (!files) return std::move(files).error();
      if (file.value >= (*files)->values->size()) return no_such_name();
      return part_of(as_bytes((*(*files)->values)[static_cast<std::size_t>(file.value)].value), *files, offset, length);
    }
    default: break;
  }
  auto chunk = store_->chunk_at(file.value, goal);
  if (!chunk) return std::move(chunk).error();
  if (file.kind == NodeKind::kChunkRaw) return store_->read_raw(*chunk, offset, length);
  if (file.kind == NodeKind::kChunkData) return store_->read_payload(*chunk, offset, length);
  if (file.kind == NodeKind::kChunkJsonl) return read_lines(*chunk, offset, length, goal);
  if (file.kind != NodeKind::kChunkInfo) return no_such_name();
  auto info = chunk_text(*chunk);
  if (!info) return std::move(info).error();
  return part_of((*info)->bytes.view(), *info, offset, length);
}

}  // namespace recordfs
