// chunks/: a directory for each chunk. Its records/ is in RecordsView.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/cancellable_mutex.h"
#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"
#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

constexpr std::size_t kBlockSize = 64u << 10;
// A type can turn a few bytes into any amount of text, and a chunk may consist of such records. Therefore nothing is
// decoded after this many bytes of a chunk's lines.
constexpr std::uint64_t kLeastText = 256u << 20;
constexpr std::uint64_t kTextOfAByte = 16;
constexpr std::uint64_t kTextOfARecord = 1024;

void write_error(JsonWriter& json, std::string_view detail) { json.member("error", printable(detail)); }

// Generates records.jsonl: the records of a chunk as JSON lines. Thread-safe.
//
// A line has a record's ordinal and index, its size, its bytes as "text" or "base64", and the decoded record:
//
//   {"ordinal":42,"index":3,"size":5,"text":"hello"}
//
// The line of an unreadable record has "error" after the index. A chunk whose number of records is unknown has one
// line: {"chunk":65536,"error":"..."}.
class ChunkLines {
 public:
  // The line of a larger record omits its bytes.
  static constexpr std::uint64_t kLargestRecord = 64u << 20;

  // Decodes the chunk. If the chunk is damaged, succeeds and its lines show the error. Fails only for reasons that may
  // pass. The references must outlive the result. `large` is held while a large record is parsed.
  static Result<ChunkLines> open(const RequestContext& context, const RecordStore& store, const RecordDecoder& decoder,
                                 const ChunkInfo& chunk, std::uint64_t first_ordinal, CancellableMutex& large) {
    ChunkLines lines(store, decoder, chunk, first_ordinal, large);
    auto decoded = store.chunks().get(context, chunk);
    if (decoded) {
      lines.chunk_ = std::move(*decoded);
      lines.records_ = lines.chunk_->layout().records();
      lines.most_text_ = kLeastText + kTextOfAByte * lines.chunk_->layout().total() +
                         kTextOfARecord * lines.chunk_->layout().records();
      return lines;
    }
    if (!is_permanent(decoded.error().code)) return std::move(decoded).error();
    lines.failure_ = decoded.error().detail;
    auto records = store.chunks().records_in(context, chunk);
    if (!records && !is_permanent(records.error().code)) return std::move(records).error();
    if (records && *records > 0) lines.records_ = *records;
    return lines;
  }

  std::uint64_t lines() const { return records_.value_or(1); }

  // Appends the lines of a block to `text`, which must be empty. Returns the index of the next line. The same block
  // always gives the same text. Fails only for reasons that may pass. REQUIRES: block.first < lines().
  Result<std::uint64_t> write(const RequestContext& context, const LineTable::Block& block, std::string& text) const {
    std::uint64_t line = block.first;
    while (line < lines() && text.size() < kBlockSize) {
      const bool is_decoded = block.begin + text.size() < most_text_;
      const std::size_t before = text.size();
      TRY(write_line(context, line, is_decoded, text));
      TRY(context.spend(text.size() - before));
      ++line;
    }
    return line;
  }

 private:
  ChunkLines(const RecordStore& store, const RecordDecoder& decoder, const ChunkInfo& info, std::uint64_t first_ordinal,
             CancellableMutex& large)
      : store_(store), decoder_(decoder), info_(info), first_ordinal_(first_ordinal), large_(large) {}

  Result<void> write_line(const RequestContext& context, std::uint64_t index, bool is_decoded,
                          std::string& text) const {
    JsonWriter json(text);
    json.begin_object();
    if (!records_) {
      json.member("chunk", info_.begin);
    } else {
      json.member("ordinal", first_ordinal_ + index);
      json.member("index", index);
    }
    if (chunk_ == nullptr) {
      write_error(json, failure_);
    } else if (const Error* failure = chunk_->layout().failure(index)) {
      write_error(json, failure->detail);
    } else {
      const std::uint64_t size = chunk_->layout().extent(index).size;
      ASSIGN_OR_RETURN(const auto alone, lock_for(context, size, large_));
      TRY(write_record(context, index, size, is_decoded, text, json));
    }
    json.end_object();
    text += '\n';
    return {};
  }
  // `json` writes to `text`.
  Result<void> write_record(const RequestContext& context, std::uint64_t index, std::uint64_t size, bool is_decoded,
                            std::string& text, JsonWriter& json) const {
    if (size > kLargestRecord) {
      json.member("size", size);
      write_error(json, "record too large for a line");
      return {};
    }
    auto record = store_.records().read(context, *chunk_, index, 0, size);
    if (!record) {
      if (!is_permanent(record.error().code)) return std::move(record).error();
      write_error(json, record.error().detail);
      return {};
    }
    json.member("size", size);
    json.bytes("text", "base64", record->bytes);
    if (is_decoded) return decoder_.append_members(context, text, info_, record->bytes);
    write_error(json, "decoded content of the preceding records too large");
    return {};
  }

  const RecordStore& store_;
  const RecordDecoder& decoder_;
  const ChunkInfo info_;
  const std::uint64_t first_ordinal_;
  CancellableMutex& large_;
  std::shared_ptr<const Chunk> chunk_;  // null if unreadable
  std::string failure_;                 // why it is unreadable
  std::optional<std::uint64_t> records_;
  std::uint64_t most_text_ = 0;  // nothing is decoded after so many bytes of text
};

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

class ChunksView : public ContainerView {
 public:
  using ContainerView::ContainerView;

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
      const FileType type = node_type(node).type;
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
    if (node_type(file).type != FileType::kRegular) return no_such_name();
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
