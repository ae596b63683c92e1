#include "fusefs/tree/container_tree.h"

#include <algorithm>

#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/names.h"
#include "fusefs/tree/static_entries.h"

namespace recordfs {
namespace {

NodeAttributes regular(std::uint64_t size) { return {FileType::kRegular, size}; }

const StaticEntry* static_entry(std::uint64_t node) {
  const auto found = std::ranges::find(kStaticEntries, static_cast<StaticNode>(node), &StaticEntry::node);
  return found == kStaticEntries.end() ? nullptr : &*found;
}

Result<NodeAttributes> sized(const Result<std::uint64_t>& size) {
  if (!size) return size.error();
  return regular(*size);
}

}  // namespace

std::uint64_t ContainerTree::values() const {
  constexpr std::uint64_t kAttributeFiles = 1u << 26;  // one value per attribute, for metadata of that many bytes
  constexpr std::uint64_t kFamilies = std::uint64_t{1} << 32;
  const std::uint64_t beside = store_->keys() != nullptr ? kFamilies : kAttributeFiles;
  return std::max<std::uint64_t>(store_->records().address_limit(), beside) + kStaticEnd;
}

std::vector<Node> ContainerTree::changed_since(const ContainerTree& shorter) const {
  std::vector<Node> nodes = {Node{}};
  for (const StaticEntry& entry : kStaticEntries) {
    if (entry.type != FileType::kLink) nodes.push_back({NodeKind::kStatic, entry.node});
  }
  const auto counts = shorter.store_->index().totals(ScanDetail::kCounts);
  if (counts) nodes.push_back({NodeKind::kThousand, counts->records / kThousandRecords});
  Result<ChunkInfo> last = Error{.code = Code::kNotFound, .detail = {}};
  if (counts && counts->chunks > 0) {
    const auto indexed = shorter.store_->index().find(SearchKey::kChunks, counts->chunks - 1);
    if (indexed) last = indexed->chunk;
  } else if (!counts && shorter.store_->source().size() > 0) {
    last = store_->index().chunk_covering(shorter.store_->source().size() - 1);
  }
  if (!last) return nodes;
  for (const NodeKind kind : {NodeKind::kChunk, NodeKind::kChunkRecords, NodeKind::kChunkInfo, NodeKind::kChunkRaw,
                              NodeKind::kChunkData, NodeKind::kChunkJsonl}) {
    nodes.push_back({kind, last->begin});
  }
  return nodes;
}

bool ContainerTree::has(const StaticEntry& entry) const {
  if (entry.node == kTrailer) return store_->trailer() != nullptr;
  if (entry.node == kInsideLink || entry.node == kInside) return store_->schema().parts != nullptr;
  if (entry.node == kKeysLink || entry.node == kKeys || entry.node == kKeyFamilies) {
    return store_->keys() != nullptr;
  }
  if (entry.node == kWhole || entry.node == kWholeLink) return store_->array() != nullptr;
  return true;
}

std::string_view ContainerTree::name_of(const StaticEntry& entry) const {
  return entry.name.empty() ? store_->array()->name : entry.name;
}

std::string ContainerTree::target_of(const StaticEntry& entry) const {
  return std::string(entry.target).append(entry.node == kWholeLink ? name_of(entry) : "");
}

Node ContainerTree::parent(Node directory) const {
  switch (directory.kind) {
    case NodeKind::kChunk: return {NodeKind::kStatic, kChunks};
    case NodeKind::kChunkRecords: return {NodeKind::kChunk, directory.value};
    case NodeKind::kThousand: return {NodeKind::kStatic, kThousands};
    case NodeKind::kInsideRecord: return {NodeKind::kStatic, kInside};
    case NodeKind::kPart: return parent_of_part(directory);
    case NodeKind::kKeyFamily: return {NodeKind::kStatic, kKeyFamilies};
    default: break;
  }
  const StaticEntry* entry = static_entry(directory.value);
  return {NodeKind::kStatic, entry == nullptr ? kRoot : entry->parent};
}

// --- names

Result<Node> ContainerTree::lookup(Node directory, std::string_view name) const {
  switch (directory.kind) {
    case NodeKind::kStatic: return lookup_static(directory, name);
    case NodeKind::kChunk:
    case NodeKind::kChunkRecords: return lookup_in_chunk(directory, name);
    case NodeKind::kThousand: {
      const auto file = record_file(name);
      if (!file || file->number / kThousandRecords != directory.value) return no_such_name();
      return lookup_ordinal(*file);
    }
    case NodeKind::kInsideRecord:
    case NodeKind::kPart: return lookup_part(directory, name);
    case NodeKind::kKeyFamily: return lookup_key(static_cast<std::uint32_t>(directory.value), name);
    default: return no_such_name();
  }
}

Result<Node> ContainerTree::lookup_static(Node directory, std::string_view name) const {
  switch (directory.value) {
    case kRecords: {
      const auto file = record_file(name);
      if (!file) return no_such_name();
      return lookup_ordinal(*file);
    }
    case kChunks: return lookup_chunk(name);
    case kThousands: return lookup_thousand(name);
    case kDamageRegions: return lookup_damage(name);
    case kMetadata: return lookup_attribute(name);
    case kInside: return lookup_inside(name);
    case kKeys: return lookup_key(0, name);
    case kKeyFamilies: return lookup_key_family(name);
    default: break;
  }
  for (const StaticEntry& entry : kStaticEntries) {
    if (entry.parent != directory.value || !has(entry) || name_of(entry) != name) continue;
    return Node{NodeKind::kStatic, entry.node};
  }
  return no_such_name();
}

Result<Node> ContainerTree::record_node(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind) const {
  ASSIGN_OR_RETURN(const auto address, store_->records().address(chunk, index));
  return Node{kind, address};
}

// The name of a record is a number, with or without the suffix of listed names. Such a name plus ".json" is the decoded
// record, unless all of it is a record's name.
std::optional<ContainerTree::RecordFile> ContainerTree::record_file(std::string_view name) const {
  const auto record = [this](std::string_view its_name) {
    if (its_name.ends_with(cache_.record_suffix)) its_name.remove_suffix(cache_.record_suffix.size());
    return number_from(its_name);
  };
  if (const auto number = record(name)) return RecordFile{*number, NodeKind::kRecord};
  if (!name.ends_with(kJsonSuffix)) return std::nullopt;
  name.remove_suffix(kJsonSuffix.size());
  if (const auto number = record(name)) return RecordFile{*number, NodeKind::kRecordJson};
  return std::nullopt;
}

Result<Node> ContainerTree::lookup_record(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind) const {
  auto record = record_node(chunk, index);
  if (!record || kind == NodeKind::kRecord) return record;
  return lookup_document(*record);
}

Result<Node> ContainerTree::lookup_ordinal(const RecordFile& file) const {
  ASSIGN_OR_RETURN(const auto indexed, store_->index().find(SearchKey::kRecords, file.number));
  return lookup_record(indexed.chunk, file.number - indexed.before.records, file.kind);
}

Result<Node> ContainerTree::lookup_chunk(std::string_view name) const {
  const auto begin = number_from(name);
  if (!begin) return no_such_name();
  TRY(store_->index().chunk_at(*begin));
  return Node{name == position_name(*begin) ? NodeKind::kChunk : NodeKind::kChunkAlias, *begin};
}

Result<Node> ContainerTree::lookup_thousand(std::string_view name) const {
  const auto thousand = number_from(name);
  if (!thousand || *thousand > kEverything / kThousandRecords) return no_such_name();
  TRY(store_->index().find(SearchKey::kRecords, *thousand * kThousandRecords));
  return Node{name == thousand_name(*thousand) ? NodeKind::kThousand : NodeKind::kThousandAlias, *thousand};
}

Result<Node> ContainerTree::lookup_damage(std::string_view name) const {
  const auto begin = number_from(name);
  if (!begin) return no_such_name();
  TRY(region(*begin));
  return Node{NodeKind::kDamage, *begin};
}

Result<Node> ContainerTree::lookup_attribute(std::string_view name) const {
  ASSIGN_OR_RETURN(const auto files, attribute_files());
  if (const auto place = files->by_name.find(name)) return Node{NodeKind::kAttribute, *place};
  if (name == "names.tsv" && !files->names_table.empty()) return Node{NodeKind::kStatic, kNames};
  return no_such_name();
}

Result<Node> ContainerTree::lookup_in_chunk(Node directory, std::string_view name) const {
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
  ASSIGN_OR_RETURN(const auto chunk, store_->index().chunk_at(begin));
  ASSIGN_OR_RETURN(const auto records, store_->chunks().records_in(chunk));
  if (file->number >= records) return no_such_name();
  return lookup_record(chunk, file->number, file->kind);
}

// --- attributes

Result<std::shared_ptr<const ContainerTree::DamageFiles>> ContainerTree::damage_files() const {
  {
    const std::lock_guard lock(mutex_);
    if (damage_files_) return damage_files_;
  }
  ASSIGN_OR_RETURN(const auto rows, store_->index().damage());
  std::vector<Position> begins;
  begins.reserve(rows->size());
  for (const DamageRow& row : *rows) begins.push_back(row.region.begin);
  auto files = std::make_shared<DamageFiles>();
  files->rows = rows;
  files->by_begin = FirstIndex(std::move(begins));
  const std::lock_guard lock(mutex_);
  if (!damage_files_) damage_files_ = std::move(files);
  return damage_files_;
}

Result<DamagedRegion> ContainerTree::region(Position begin) const {
  ASSIGN_OR_RETURN(const auto files, damage_files());
  const auto place = files->by_begin.find(begin);
  if (!place) return no_such_name();
  return (*files->rows)[*place].region;
}

Result<NodeAttributes> ContainerTree::attributes(Node node) const {
  switch (node.kind) {
    case NodeKind::kStatic: return static_attributes(static_cast<StaticNode>(node.value));
    case NodeKind::kChunk:
    case NodeKind::kChunkRecords:
    case NodeKind::kThousand:
    case NodeKind::kInsideRecord:
    case NodeKind::kKeyFamily: return NodeAttributes{FileType::kDirectory, 0};
    case NodeKind::kChunkAlias: return NodeAttributes{FileType::kLink, position_name(node.value).size()};
    case NodeKind::kThousandAlias: return NodeAttributes{FileType::kLink, thousand_name(node.value).size()};
    case NodeKind::kInsideAlias: return NodeAttributes{FileType::kLink, record_name(node.value).size()};
    case NodeKind::kPart: return part_attributes(node);
    case NodeKind::kKey:
    case NodeKind::kKeyNames: return key_attributes(node);
    case NodeKind::kRecord: {
      ASSIGN_OR_RETURN(const auto found, store_->records().record_at(node.value));
      return sized(store_->records().size(found));
    }
    case NodeKind::kRecordJson: return text_attributes(document(node));
    case NodeKind::kDamage: {
      ASSIGN_OR_RETURN(const auto found, region(node.value));
      return regular(found.end - found.begin);
    }
    case NodeKind::kAttribute: {
      ASSIGN_OR_RETURN(const auto files, attribute_files());
      if (node.value >= files->values->size()) return no_such_name();
      return regular((*files->values)[static_cast<std::size_t>(node.value)].value.size());
    }
    default: break;
  }
  ASSIGN_OR_RETURN(const auto chunk, store_->index().chunk_at(node.value));
  if (node.kind == NodeKind::kChunkRaw) return regular(chunk.end - chunk.begin);
  if (node.kind == NodeKind::kChunkData) return sized(store_->chunks().payload_size(chunk));
  if (node.kind == NodeKind::kChunkJsonl) return sized(lines_size(chunk));
  ASSIGN_OR_RETURN(const auto info, chunk_text(chunk));
  return regular(info->bytes.size());
}

Result<NodeAttributes> ContainerTree::static_attributes(StaticNode node) const {
  const StaticEntry* entry = static_entry(node);
  if (node == kRoot) return NodeAttributes{FileType::kDirectory, 0};
  if (entry == nullptr || !has(*entry)) return no_such_name();
  if (entry->type == FileType::kDirectory) return NodeAttributes{FileType::kDirectory, 0};
  if (entry->type == FileType::kLink) return NodeAttributes{FileType::kLink, target_of(*entry).size()};
  return sized(static_size(node));
}

Result<std::uint64_t> ContainerTree::static_size(StaticNode node) const {
  if (node == kConcat) return store_->streams().size(Stream::kConcat);
  if (node == kLines) return store_->streams().size(Stream::kLines);
  if (node == kChunkRows) return store_->streams().size(Stream::kChunkRows);
  if (node == kWhole) return store_->array()->size;
  if (node == kTrailer) {
    auto bytes = trailer();
    if (bytes) return (*bytes)->bytes.size();
    if (!is_permanent(bytes.error().code)) return std::move(bytes).error();
    return std::uint64_t{1};  // never 0, so that the kernel sends a read, which returns the error
  }
  ASSIGN_OR_RETURN(const auto content, text(node));
  return content->size();
}

// --- contents

Result<std::string> ContainerTree::target(Node link) const {
  if (link.kind == NodeKind::kChunkAlias) return position_name(link.value);
  if (link.kind == NodeKind::kThousandAlias) return thousand_name(link.value);
  if (link.kind == NodeKind::kInsideAlias) return record_name(link.value);
  const StaticEntry* entry = link.kind == NodeKind::kStatic ? static_entry(link.value) : nullptr;
  if (entry == nullptr || entry->type != FileType::kLink || !has(*entry)) return no_such_name();
  return target_of(*entry);
}

Result<ContainerTree::Text> ContainerTree::make_text(StaticNode node) const {
  if (node == kInfo) {
    ASSIGN_OR_RETURN(const auto info, store_->log().reported(container_info(*store_)));
    return std::make_shared<const std::string>(to_json(info, JsonLayout::kIndented));
  }
  if (node == kNames) {
    ASSIGN_OR_RETURN(auto files, attribute_files());
    return Text(files, &files->names_table);
  }
  ASSIGN_OR_RETURN(const auto damage, store_->index().damage());
  if (node == kDamageRows) return std::make_shared<const std::string>(damage_table(*damage));
  ASSIGN_OR_RETURN(const auto totals, store_->index().totals(ScanDetail::kSizes));
  JsonObject summary;
  add_totals(summary, *store_, totals, *damage);
  return std::make_shared<const std::string>(to_json(summary, JsonLayout::kIndented));
}

Result<ContainerTree::Text> ContainerTree::text(StaticNode node) const {
  Text none;
  Text& kept = node == kInfo ? info_ : node == kSummary ? summary_ : node == kDamageRows ? damage_ : none;
  {
    const std::lock_guard lock(mutex_);
    if (kept) return kept;
  }
  ASSIGN_OR_RETURN(const auto made, make_text(node));
  const std::lock_guard lock(mutex_);
  if (!kept) kept = made;
  return kept;
}

Result<std::shared_ptr<const ContainerTree::AttributeFiles>> ContainerTree::attribute_files() const {
  {
    const std::lock_guard lock(mutex_);
    if (attribute_files_) return attribute_files_;
  }
  ASSIGN_OR_RETURN(const auto values, store_->attributes());
  std::vector<std::string_view> keys;
  for (const Attribute& attribute : *values) keys.emplace_back(attribute.key);
  auto files = std::make_shared<AttributeFiles>();
  files->values = values;
  files->names = names_for(keys, {"names.tsv"});
  files->by_name = FirstIndex(std::vector<std::string_view>(files->names.begin(), files->names.end()));
  if (!std::ranges::equal(keys, files->names)) files->names_table = names_table(keys, files->names);
  const std::lock_guard lock(mutex_);
  if (!attribute_files_) attribute_files_ = std::move(files);
  return attribute_files_;
}

Result<std::shared_ptr<const CachedBytes>> ContainerTree::trailer() const {
  constexpr Position kTrailerKey = kEverything;  // no chunk begins there
  auto bytes = cache_.contents.get({snapshot_, kTrailerKey}, [&]() -> Result<std::shared_ptr<const CachedBytes>> {
    if (store_->trailer() == nullptr) return no_such_name();
    ASSIGN_OR_RETURN(auto made, (*store_->trailer())());
    return std::make_shared<const CachedBytes>(CachedBytes{std::move(made)});
  });
  if (!bytes) store_->log().report(bytes.error());
  return bytes;
}

Result<std::shared_ptr<const CachedBytes>> ContainerTree::chunk_text(const ChunkInfo& chunk) const {
  auto bytes = cache_.contents.get({snapshot_, chunk.begin}, [&]() -> Result<std::shared_ptr<const CachedBytes>> {
    ASSIGN_OR_RETURN(const auto text, chunk_info(*store_, chunk));
    ASSIGN_OR_RETURN(auto made, Buffer::copy_of(as_bytes(text)));
    return std::make_shared<const CachedBytes>(CachedBytes{std::move(made)});
  });
  if (!bytes) store_->log().report(bytes.error());
  return bytes;
}

Slice ContainerTree::part_of(Bytes whole, std::shared_ptr<const void> owner, std::uint64_t offset,
                             std::uint64_t length) {
  if (offset >= whole.size()) return {};
  const auto begin = static_cast<std::size_t>(offset);
  return {whole.subspan(begin, static_cast<std::size_t>(std::min<std::uint64_t>(length, whole.size() - begin))),
          std::move(owner)};
}

Result<Slice> ContainerTree::read_static(StaticNode node, std::uint64_t offset, std::uint64_t length) const {
  if (node == kConcat) return store_->streams().read(Stream::kConcat, offset, length);
  if (node == kLines) return store_->streams().read(Stream::kLines, offset, length);
  if (node == kChunkRows) return store_->streams().read(Stream::kChunkRows, offset, length);
  if (node == kWhole) {
    if (store_->array() == nullptr) return no_such_name();
    return store_->streams().read(Stream::kArray, offset, length);
  }
  if (node == kTrailer) {
    ASSIGN_OR_RETURN(const auto bytes, trailer());
    return part_of(bytes->bytes.view(), bytes, offset, length);
  }
  ASSIGN_OR_RETURN(const auto content, text(node));
  return part_of(as_bytes(*content), content, offset, length);
}

Result<Slice> ContainerTree::read(Node file, std::uint64_t offset, std::uint64_t length) const {
  switch (file.kind) {
    case NodeKind::kStatic: return read_static(static_cast<StaticNode>(file.value), offset, length);
    case NodeKind::kPart: return read_part(file, offset, length);
    case NodeKind::kKey:
    case NodeKind::kKeyNames: return read_key(file, offset, length);
    case NodeKind::kRecord: return store_->records().read_at(file.value, offset, length);
    case NodeKind::kRecordJson: return read_text(document(file), offset, length);
    case NodeKind::kDamage: {
      ASSIGN_OR_RETURN(const auto found, region(file.value));
      return store_->chunks().read_raw(found.begin, found.end, offset, length);
    }
    case NodeKind::kAttribute: {
      ASSIGN_OR_RETURN(const auto files, attribute_files());
      if (file.value >= files->values->size()) return no_such_name();
      return part_of(as_bytes((*files->values)[static_cast<std::size_t>(file.value)].value), files, offset, length);
    }
    default: break;
  }
  ASSIGN_OR_RETURN(const auto chunk, store_->index().chunk_at(file.value));
  if (file.kind == NodeKind::kChunkRaw) return store_->chunks().read_raw(chunk, offset, length);
  if (file.kind == NodeKind::kChunkData) return store_->chunks().read_payload(chunk, offset, length);
  if (file.kind == NodeKind::kChunkJsonl) return read_lines(chunk, offset, length);
  if (file.kind != NodeKind::kChunkInfo) return no_such_name();
  ASSIGN_OR_RETURN(const auto info, chunk_text(chunk));
  return part_of(info->bytes.view(), info, offset, length);
}

}  // namespace recordfs
