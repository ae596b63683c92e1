// The table of nodes that a container has at most once.
#pragma once

#include <array>
#include <string_view>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/node.h"

namespace recordfs {

struct StaticEntry {
  StaticNode node;
  StaticNode parent;
  std::string_view name;
  FileType type;
  bool listed;
  std::string_view target;  // of a link
};

// In listing order. Only some containers have kTrailer, kNames, kWhole, kWholeLink, or those of inside/ and keys/. The
// container names kWhole and kWholeLink.
inline constexpr std::array kStaticEntries = {
    StaticEntry{kInfo, kRoot, "info.json", FileType::kRegular, true, {}},
    StaticEntry{kRecords, kRoot, "records", FileType::kDirectory, true, {}},
    StaticEntry{kMetadata, kRoot, "metadata", FileType::kDirectory, true, {}},
    StaticEntry{kTrailer, kRoot, "trailer", FileType::kRegular, true, {}},
    StaticEntry{kChunksLink, kRoot, "chunks", FileType::kLink, true, ".views/chunks"},
    StaticEntry{kThousandsLink, kRoot, "thousands", FileType::kLink, true, ".views/thousands"},
    StaticEntry{kInsideLink, kRoot, "inside", FileType::kLink, true, ".views/inside"},
    StaticEntry{kKeysLink, kRoot, "keys", FileType::kLink, true, ".views/keys"},
    StaticEntry{kIndexLink, kRoot, "index", FileType::kLink, true, ".views/index"},
    StaticEntry{kDamageLink, kRoot, "damage", FileType::kLink, true, ".views/damage"},
    StaticEntry{kStreamsLink, kRoot, "streams", FileType::kLink, true, ".views/streams"},
    StaticEntry{kWholeLink, kRoot, {}, FileType::kLink, true, ".views/streams/"},
    StaticEntry{kViews, kRoot, ".views", FileType::kDirectory, false, {}},
    StaticEntry{kChunks, kViews, "chunks", FileType::kDirectory, true, {}},
    StaticEntry{kThousands, kViews, "thousands", FileType::kDirectory, true, {}},
    StaticEntry{kInside, kViews, "inside", FileType::kDirectory, true, {}},
    StaticEntry{kKeys, kViews, "keys", FileType::kDirectory, true, {}},
    StaticEntry{kIndex, kViews, "index", FileType::kDirectory, true, {}},
    StaticEntry{kDamageRegions, kViews, "damage", FileType::kDirectory, true, {}},
    StaticEntry{kStreams, kViews, "streams", FileType::kDirectory, true, {}},
    StaticEntry{kChunkRows, kIndex, "chunks.tsv", FileType::kRegular, true, {}},
    StaticEntry{kDamageRows, kIndex, "damage.tsv", FileType::kRegular, true, {}},
    StaticEntry{kSummary, kIndex, "summary.json", FileType::kRegular, true, {}},
    StaticEntry{kConcat, kStreams, "concat", FileType::kRegular, true, {}},
    StaticEntry{kLines, kStreams, "lines", FileType::kRegular, true, {}},
    StaticEntry{kWhole, kStreams, {}, FileType::kRegular, true, {}},
    StaticEntry{kKeyFamilies, kKeys, "column-families", FileType::kDirectory, true, {}},
    StaticEntry{kNames, kMetadata, "names.tsv", FileType::kRegular, true, {}},
};

}  // namespace recordfs
