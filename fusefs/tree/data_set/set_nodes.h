// A data set's own nodes, as the tables of node_types.h. Their values are part of inode numbers, so they never change.
#pragma once

#include <array>
#include <cstdint>

#include "fusefs/tree/node_types.h"

namespace recordfs {

// Values of kStatic nodes. The link to shard N is kFirstShardLink + N.
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

// All but the root, in listing order. What links to unlisted directories is not listed either: a copy of a mount has no
// dangling links.
inline constexpr std::array kSetEntries = {
    StaticEntry{kSetInfo, "info.json", {ViewId::kStatic}},
    StaticEntry{kSetRecords, "records", {ViewId::kRecords, FileType::kDirectory}},
    StaticEntry{kShardLinks, "shards", {ViewId::kShards, FileType::kDirectory}, {}, Listed::kNever},
    StaticEntry{
        kThousandsOfSetLink, "thousands", {ViewId::kRecords, FileType::kLink}, ".views/thousands", Listed::kNever},
    StaticEntry{kInsideOfSetLink, "inside", {ViewId::kInside, FileType::kLink}, ".views/inside", Listed::kNever},
    StaticEntry{kSetIndexLink, "index", {ViewId::kStatic, FileType::kLink}, ".views/index", Listed::kNever},
    StaticEntry{kSetStreamsLink, "streams", {ViewId::kStatic, FileType::kLink}, ".views/streams", Listed::kNever},
    StaticEntry{kSetViews, ".views", {ViewId::kStatic, FileType::kDirectory}, {}, Listed::kNever},
    StaticEntry{kShardDirectories, ".shards", {ViewId::kShards, FileType::kDirectory}, {}, Listed::kNever},
    StaticEntry{kThousandsOfSet, "thousands", {ViewId::kRecords, FileType::kDirectory, kSetViews}},
    StaticEntry{kInsideOfSet, "inside", {ViewId::kInside, FileType::kDirectory, kSetViews}},
    StaticEntry{kSetIndex, "index", {ViewId::kStatic, FileType::kDirectory, kSetViews}},
    StaticEntry{kSetStreams, "streams", {ViewId::kStatic, FileType::kDirectory, kSetViews}},
    StaticEntry{kShardRows, "shards.tsv", {ViewId::kStatic, FileType::kRegular, kSetIndex}},
    StaticEntry{kSetDamageRows, "damage.tsv", {ViewId::kStatic, FileType::kRegular, kSetIndex}},
    StaticEntry{kSetSummary, "summary.json", {ViewId::kStatic, FileType::kRegular, kSetIndex}},
    StaticEntry{kSetConcat, "concat", {ViewId::kStreams, FileType::kRegular, kSetStreams}},
    StaticEntry{kSetLines, "lines", {ViewId::kStreams, FileType::kRegular, kSetStreams}},
};

inline constexpr std::array kSetKinds = {
    KindEntry{NodeKind::kThousand, {ViewId::kRecords, FileType::kDirectory, kThousandsOfSet}},
    KindEntry{NodeKind::kThousandAlias, {.view = ViewId::kRecords, .type = FileType::kLink, .target = thousand_name}},
    KindEntry{NodeKind::kInsideAlias, {.view = ViewId::kInside, .type = FileType::kLink, .target = record_name}},
};

inline constexpr NodeType kShardLinkType{ViewId::kShards, FileType::kLink};

inline constexpr NodeTable kSetNodes{kSetEntries, kSetKinds, &kShardLinkType};

}  // namespace recordfs
