// The nodes of a tree, as two tables: one of kinds, and one of the nodes with fixed names. The numbers of kinds and of
// static nodes are part of inode numbers, so they never change.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/decoding/file_names.h"

namespace recordfs {

enum class NodeKind : std::uint8_t {
  kStatic,  // value: StaticNode
  kRecord,  // value: RecordReader::address()
  kChunk,   // value of this and the next four: begin of the chunk
  kChunkRecords,
  kChunkInfo,
  kChunkRaw,
  kChunkData,
  kChunkAlias,  // link from another spelling of the chunk's name to its directory
  kThousand,    // value: the ordinal in thousands
  kThousandAlias,
  kDamage,        // value: begin of the damaged region
  kAttribute,     // value: index into the container's attributes
  kInsideRecord,  // the record's directory in inside/; value as for kRecord
  kInsideAlias,   // link from another spelling of the name; value: ordinal
  kRecordJson,    // the decoded record; value as for kRecord
  kChunkJsonl,    // value: begin of the chunk
  kKeyFamily,     // directory of the keys of one column family; value: the family's number
  kKeyNames,      // names.tsv in the directory of a family's keys; value: the family's number

  kComputedEnd,        // the numbers of the kinds above are computed
  kDatabaseNode = 27,  // key, version or text of a mounted database (database_view.cc)
  kDatabase,           // directory of it
  kKey,                // value: key_number(), 64 bits
  kPart,               // value as for kRecord; `part`: number in Inside
  kMirrored,           // node of a mirrored directory (InodeTable)
};
inline constexpr std::size_t kMostNodeKinds = 32;

// Returns whether the numbers of the kind are counted: InodeTable has a row while the kernel has references to one.
constexpr bool is_counted(NodeKind kind) {
  return kind == NodeKind::kKey || kind == NodeKind::kPart || kind == NodeKind::kDatabaseNode;
}

// Nodes that a container has at most once. kRoot is the container's own directory.
enum StaticNode : std::uint64_t {
  kRoot = 1,
  kInfo,
  kRecords,
  kMetadata,
  kNames,
  kTrailer,
  kChunksLink,
  kThousandsLink,
  kIndexLink,
  kDamageLink,
  kStreamsLink,
  kViews,
  kChunks,
  kThousands,
  kIndex,
  kDamageRegions,
  kStreams,
  kChunkRows,
  kDamageRows,
  kSummary,
  kConcat,
  kLines,
  kInsideLink,
  kInside,
  kWholeLink,
  kWhole,
  kKeysLink,
  kKeys,
  kKeyFamilies,
  kStaticEnd,
};

// What distinguishes nodes with the same kind and value. Views derive from it.
struct NodeKey {
  std::string text;
};

struct Node {
  NodeKind kind = NodeKind::kStatic;
  std::uint64_t value = kRoot;
  std::uint64_t part = 0;                // of kPart only
  std::shared_ptr<const NodeKey> key{};  // of kKey and kDatabaseNode

  bool operator==(const Node& other) const {
    return kind == other.kind && value == other.value && part == other.part && text() == other.text();
  }
  std::string_view text() const { return key == nullptr ? std::string_view() : std::string_view(key->text); }
};

// An index into kViewFactories (view.h), and for a data set into the views of DataSetTree.
enum class ViewId : std::uint8_t {
  kStatic,
  kRecords,
  kChunks,
  kMetadata,
  kDamage,
  kInside,
  kKeys,
  kStreams,
  kArray,
  kTrailer,
  kShards,  // of a data set only
  kEnd,
};

enum class FileType : std::uint8_t {
  kDirectory,
  kRegular,
  kLink,
  kUnknown,  // only in a listing: a lookup tells
};

// Names of extended attributes.
inline constexpr std::string_view kOrdinalName = "user.recordfs.ordinal";
inline constexpr std::string_view kChunkBeginName = "user.recordfs.chunk";
inline constexpr std::string_view kIndexInChunkName = "user.recordfs.index";
inline constexpr std::string_view kOffsetName = "user.recordfs.offset";
inline constexpr std::string_view kCodecName = "user.recordfs.codec";
inline constexpr std::string_view kChecksumName = "user.recordfs.checksum";
inline constexpr std::string_view kMediaTypeName = "user.mime_type";
inline constexpr std::string_view kShardName = "user.recordfs.shard";  // of records, only in a data set

inline constexpr std::array kNamesOfRecord = {kOrdinalName, kChunkBeginName, kIndexInChunkName, kOffsetName,
                                              kCodecName,   kChecksumName,   kMediaTypeName};
inline constexpr std::array kNamesOfChunk = {kCodecName, kChecksumName};
inline constexpr std::array kNamesOfJson = {kMediaTypeName};

struct NodeType {
  ViewId view = ViewId::kStatic;                   // serves the node; a tree without it has no such node
  FileType type = FileType::kRegular;              // a kPart can also be a directory
  std::uint64_t parent = kRoot;                    // static node: of a directory, unless View::parent() returns another
  bool is_permanent = false;                       // the node is the same in all later snapshots of a followed file
  std::span<const std::string_view> extended{};    // names of its extended attributes
  std::string (*target)(std::uint64_t) = nullptr;  // of an alias: returns the listed name
};

struct KindEntry {
  NodeKind kind;
  NodeType type;
};

inline constexpr std::array kKinds = {
    KindEntry{NodeKind::kRecord, {.view = ViewId::kRecords, .is_permanent = true, .extended = kNamesOfRecord}},
    KindEntry{NodeKind::kRecordJson, {.view = ViewId::kRecords, .is_permanent = true, .extended = kNamesOfJson}},
    KindEntry{NodeKind::kThousand, {ViewId::kRecords, FileType::kDirectory, kThousands}},
    KindEntry{NodeKind::kThousandAlias, {.view = ViewId::kRecords, .type = FileType::kLink, .target = thousand_name}},
    KindEntry{NodeKind::kChunkRecords, {ViewId::kRecords, FileType::kDirectory}},
    KindEntry{NodeKind::kChunk, {ViewId::kChunks, FileType::kDirectory, kChunks, false, kNamesOfChunk}},
    KindEntry{NodeKind::kChunkAlias, {.view = ViewId::kChunks, .type = FileType::kLink, .target = position_name}},
    KindEntry{NodeKind::kChunkInfo, {ViewId::kChunks}},
    KindEntry{NodeKind::kChunkRaw, {ViewId::kChunks}},
    KindEntry{NodeKind::kChunkData, {ViewId::kChunks}},
    KindEntry{NodeKind::kChunkJsonl, {.view = ViewId::kChunks, .extended = kNamesOfJson}},
    KindEntry{NodeKind::kDamage, {ViewId::kDamage}},
    KindEntry{NodeKind::kAttribute, {ViewId::kMetadata}},
    KindEntry{NodeKind::kInsideRecord, {ViewId::kInside, FileType::kDirectory, kInside, true}},
    KindEntry{NodeKind::kInsideAlias, {.view = ViewId::kInside, .type = FileType::kLink, .target = record_name}},
    KindEntry{NodeKind::kPart, {.view = ViewId::kInside, .is_permanent = true}},
    KindEntry{NodeKind::kKey, {ViewId::kKeys}},
    KindEntry{NodeKind::kKeyFamily, {ViewId::kKeys, FileType::kDirectory, kKeyFamilies}},
    KindEntry{NodeKind::kKeyNames, {ViewId::kKeys}},
};

enum class Listed : std::uint8_t { kWithoutSize, kWithSize, kNever };

struct StaticEntry {
  std::uint64_t node;     // StaticNode, or that of another tree
  std::string_view name;  // empty: DenseArray::name
  NodeType type;
  std::string_view target{};  // of a link; the array's name follows if the entry has none
  Listed listed = Listed::kWithoutSize;
};

// All but the root, in listing order. The links of the root are not listed: they would dangle in a copy of a mount.
inline constexpr std::array kStaticEntries = {
    StaticEntry{kInfo, "info.json", {ViewId::kStatic}, {}, Listed::kWithSize},
    StaticEntry{kRecords, "records", {ViewId::kRecords, FileType::kDirectory}},
    StaticEntry{kMetadata, "metadata", {ViewId::kMetadata, FileType::kDirectory}},
    StaticEntry{kTrailer, "trailer", {ViewId::kTrailer}},
    StaticEntry{kChunksLink, "chunks", {ViewId::kChunks, FileType::kLink}, ".views/chunks", Listed::kNever},
    StaticEntry{kThousandsLink, "thousands", {ViewId::kRecords, FileType::kLink}, ".views/thousands", Listed::kNever},
    StaticEntry{kInsideLink, "inside", {ViewId::kInside, FileType::kLink}, ".views/inside", Listed::kNever},
    StaticEntry{kKeysLink, "keys", {ViewId::kKeys, FileType::kLink}, ".views/keys", Listed::kNever},
    StaticEntry{kIndexLink, "index", {ViewId::kStatic, FileType::kLink}, ".views/index", Listed::kNever},
    StaticEntry{kDamageLink, "damage", {ViewId::kDamage, FileType::kLink}, ".views/damage", Listed::kNever},
    StaticEntry{kStreamsLink, "streams", {ViewId::kStatic, FileType::kLink}, ".views/streams", Listed::kNever},
    StaticEntry{kWholeLink, {}, {ViewId::kArray, FileType::kLink}, ".views/streams/", Listed::kNever},
    StaticEntry{kViews, ".views", {ViewId::kStatic, FileType::kDirectory}, {}, Listed::kNever},
    StaticEntry{kChunks, "chunks", {ViewId::kChunks, FileType::kDirectory, kViews}},
    StaticEntry{kThousands, "thousands", {ViewId::kRecords, FileType::kDirectory, kViews}},
    StaticEntry{kInside, "inside", {ViewId::kInside, FileType::kDirectory, kViews}},
    StaticEntry{kKeys, "keys", {ViewId::kKeys, FileType::kDirectory, kViews}},
    StaticEntry{kIndex, "index", {ViewId::kStatic, FileType::kDirectory, kViews}},
    StaticEntry{kDamageRegions, "damage", {ViewId::kDamage, FileType::kDirectory, kViews}},
    StaticEntry{kStreams, "streams", {ViewId::kStatic, FileType::kDirectory, kViews}},
    StaticEntry{kChunkRows, "chunks.tsv", {ViewId::kStreams, FileType::kRegular, kIndex}},
    StaticEntry{kDamageRows, "damage.tsv", {ViewId::kStatic, FileType::kRegular, kIndex}},
    StaticEntry{kSummary, "summary.json", {ViewId::kStatic, FileType::kRegular, kIndex}},
    StaticEntry{kConcat, "concat", {ViewId::kStreams, FileType::kRegular, kStreams}},
    StaticEntry{kLines, "lines", {ViewId::kStreams, FileType::kRegular, kStreams}},
    StaticEntry{kWhole, {}, {ViewId::kArray, FileType::kRegular, kStreams}, {}, Listed::kWithSize},
    StaticEntry{kKeyFamilies, "column-families", {ViewId::kKeys, FileType::kDirectory, kKeys}},
    StaticEntry{kNames, kNamesTable, {ViewId::kMetadata, FileType::kRegular, kMetadata}},
};

inline constexpr NodeType kRootType{ViewId::kStatic, FileType::kDirectory};

// The nodes that a tree can have.
struct NodeTable {
  std::span<const StaticEntry> entries;  // all but the root, in listing order
  std::span<const KindEntry> kinds;
  const NodeType* others = nullptr;  // type of static nodes that are not among the entries; null: there are none

  // Returns null for the root, and if there is no such node.
  const StaticEntry* entry(const Node& node) const {
    if (node.kind != NodeKind::kStatic) return nullptr;
    const auto found = std::ranges::find(entries, node.value, &StaticEntry::node);
    return found == entries.end() ? nullptr : &*found;
  }
  // Returns the type of a static node; null if there is no such node.
  const NodeType* static_type(const Node& node) const {
    if (node.value == kRoot) return &kRootType;
    const StaticEntry* entry = this->entry(node);
    return entry == nullptr ? others : &entry->type;
  }
};

inline constexpr NodeTable kContainerNodes{kStaticEntries, kKinds};

}  // namespace recordfs
