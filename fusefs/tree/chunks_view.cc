// chunks/: a directory for each chunk. Its records/ is in RecordsView.
#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <utility>

#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/views.h"

namespace recordfs {
namespace {

struct ChunkFile {
  std::string_view name;
  NodeKind kind;
};
constexpr std::array kChunkFiles = {
    ChunkFile{"info.json", NodeKind::kChunkInfo},      ChunkFile{"raw", NodeKind::kChunkRaw},
    ChunkFile{"data", NodeKind::kChunkData},           ChunkFile{"records", NodeKind::kChunkRecords},
    ChunkFile{"records.jsonl", NodeKind::kChunkJsonl},
};

std::uint64_t new_id() {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1);
}

Error changed(const ChunkInfo& chunk) { return {Code::kChanged, chunk.begin, "the chunk's records have changed"}; }

class ChunksView : public View {
 public:
  using View::View;

  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override {
    if (directory.kind == NodeKind::kChunk) {
      const auto file = std::ranges::find(kChunkFiles, name, &ChunkFile::name);
      if (file == kChunkFiles.end()) return no_such_name();
      return Node{file->kind, directory.value};
    }
    const auto begin = number_from(name);
    if (!begin) return no_such_name();
    TRY(store().index().chunk_at(context, *begin));
    return Node{name == position_name(*begin) ? NodeKind::kChunk : NodeKind::kChunkAlias, *begin};
  }

  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    if (directory.kind != NodeKind::kChunk) return list_chunks(context, place, emit);
    ASSIGN_OR_RETURN(const auto chunk, store().index().chunk_at(context, directory.value));
    for (; place < kChunkFiles.size(); ++place) {
      const auto& [name, kind] = kChunkFiles[static_cast<std::size_t>(place)];
      const Node node{kind, chunk.begin};
      const FileType type = node_type(node)->type;
      std::optional<std::uint64_t> size;
      if (type == FileType::kDirectory) size = 0;
      if (kind == NodeKind::kChunkRaw) size = chunk.end - chunk.begin;
      if (!emit({name, node, type, size, place + 1})) break;
    }
    return {};
  }

  Result<std::uint64_t> size(const RequestContext& context, Node file) const override {
    ASSIGN_OR_RETURN(const auto chunk, store().index().chunk_at(context, file.value));
    if (file.kind == NodeKind::kChunkRaw) return chunk.end - chunk.begin;
    if (file.kind == NodeKind::kChunkData) return store().chunks().payload_size(context, chunk);
    if (file.kind == NodeKind::kChunkJsonl) {
      ASSIGN_OR_RETURN(const auto table, line_table(context, chunk));
      return table->size;
    }
    ASSIGN_OR_RETURN(const auto text, info(context, chunk));
    return std::uint64_t{text->bytes.size()};
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    if (node_type(file)->type != FileType::kRegular) return no_such_name();
    ASSIGN_OR_RETURN(const auto chunk, store().index().chunk_at(context, file.value));
    if (file.kind == NodeKind::kChunkRaw) return store().chunks().read_raw(context, chunk, offset, length);
    if (file.kind == NodeKind::kChunkData) return store().chunks().read_payload(context, chunk, offset, length);
    if (file.kind == NodeKind::kChunkJsonl) return read_lines(context, chunk, offset, length);
    ASSIGN_OR_RETURN(const auto text, info(context, chunk));
    return part_of({text->bytes.view(), text}, offset, length);
  }

  Result<std::string> extended_attribute(const RequestContext& context, Node node,
                                         std::string_view name) const override {
    if (node.kind == NodeKind::kChunkJsonl) return std::string("application/x-ndjson");
    ASSIGN_OR_RETURN(const auto chunk, store().index().chunk_at(context, node.value));
    return extended_of_chunk(context, chunk, name);
  }

  // The last chunk may have grown.
  void add_changed_since(const RequestContext& context, const RecordStore& shorter,
                         std::vector<Node>& nodes) const override {
    const auto counts = shorter.index().totals(ScanDetail::kCounts);
    Result<ChunkInfo> last = no_such_name();
    if (counts && counts->chunks > 0) {
      const auto indexed = shorter.index().find(context, SearchKey::kChunks, counts->chunks - 1);
      if (indexed) last = indexed->chunk;
    } else if (!counts && shorter.source().size() > 0) {
      last = store().index().chunk_covering(context, shorter.source().size() - 1);
    }
    if (!last) return;
    nodes.push_back({NodeKind::kChunk, last->begin});
    for (const ChunkFile& file : kChunkFiles) nodes.push_back({file.kind, last->begin});
  }

 private:
  Result<void> list_chunks(const RequestContext& context, std::uint64_t place, const Emit& emit) const {
    for (const std::uint64_t began_at = place;; ++place) {
      auto found = store().index().find(context, SearchKey::kChunks, place);
      if (!found) return stopped(found.error(), place > began_at);
      const Node node{NodeKind::kChunk, found->chunk.begin};
      if (!emit({position_name(node.value), node, FileType::kDirectory, 0, place + 1})) return {};
    }
  }

  Result<std::shared_ptr<const CachedBytes>> info(const RequestContext& context, const ChunkInfo& chunk) const {
    const auto make = [&]() -> Result<std::shared_ptr<const CachedBytes>> {
      ASSIGN_OR_RETURN(const auto text, chunk_info(context, store(), chunk));
      ASSIGN_OR_RETURN(auto made, Buffer::copy_of(context, as_bytes(text)));
      return std::make_shared<const CachedBytes>(CachedBytes{std::move(made)});
    };
    auto bytes = cache().contents.get(context, {tree().snapshot(), chunk.begin}, make);
    if (!bytes) store().log().report(context, bytes.error());
    return bytes;
  }

  // Of records.jsonl.

  Result<ChunkLines> lines(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t first_ordinal) const {
    return ChunkLines::open(context, store(), tree().decoder(), chunk, first_ordinal, cache().large_inside);
  }

  // Generates all lines once to measure them. The last blocks stay cached for the reads that follow.
  Result<std::shared_ptr<const LineTable>> line_table(const RequestContext& context, const ChunkInfo& chunk) const {
    const auto make = [&]() -> Result<std::shared_ptr<const LineTable>> {
      ASSIGN_OR_RETURN(const auto place, store().index().place_of(context, chunk));
      ASSIGN_OR_RETURN(const auto all, lines(context, chunk, place.before.records));
      LineTable table{.id = new_id(), .first_ordinal = place.before.records};
      for (std::uint64_t next = 0; next < all.lines();) {
        const LineTable::Block block{next, table.size};
        ASSIGN_OR_RETURN(const auto text,
                         cache().lines.get(context, {table.id, table.blocks.size()}, [&]() -> Document {
                           CachedText made;
                           ASSIGN_OR_RETURN(const auto after, all.write(context, block, made.text));
                           next = after;
                           made.text.shrink_to_fit();
                           return std::make_shared<const CachedText>(std::move(made));
                         }));
        table.blocks.push_back(block);
        table.size += text->text.size();
      }
      table.blocks.shrink_to_fit();
      return std::make_shared<const LineTable>(std::move(table));
    };
    return cache().line_tables.get(context, {tree().snapshot(), chunk.begin}, make);
  }

  Document block_text(const RequestContext& context, const ChunkInfo& chunk, const LineTable& table,
                      std::size_t block) const {
    return cache().lines.get(context, {table.id, block}, [&]() -> Document {
      ASSIGN_OR_RETURN(const auto all, lines(context, chunk, table.first_ordinal));
      const LineTable::Block& wanted = table.blocks[block];
      CachedText made;
      if (wanted.first >= all.lines()) return changed(chunk);
      TRY(all.write(context, wanted, made.text));
      if (made.text.size() != table.end_of(block) - wanted.begin) return changed(chunk);
      made.text.shrink_to_fit();
      return std::make_shared<const CachedText>(std::move(made));
    });
  }

  Result<Slice> read_lines(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t offset,
                           std::uint64_t length) const {
    ASSIGN_OR_RETURN(const auto table, line_table(context, chunk));
    return table->read(context, offset, length,
                       [&](std::size_t block) { return contents_of(block_text(context, chunk, *table, block)); });
  }
};

}  // namespace

ViewPointer make_chunks_view(const ContainerTree& tree) { return std::make_unique<ChunksView>(tree); }

}  // namespace recordfs
