// ContainerTree's decoded views as JSON: records, messages inside them, and all records of a chunk.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/json_text.h"
#include "fusefs/tree/container_tree.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargestRecord = 128u << 20;

std::uint64_t new_id() {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1);
}

// Replaces a document whose bytes are readable but cannot be decoded.
std::string error_document(std::string_view detail) {
  std::string text = "{\n  \"error\": ";
  append_json_string(text, printable(detail));
  return text + "\n}\n";
}

Result<std::shared_ptr<const CachedText>> cached_text(Result<std::string> text) {
  if (!text && !is_permanent(text.error().code)) return std::move(text).error();
  return std::make_shared<const CachedText>(CachedText{text ? std::move(*text) : error_document(text.error().detail)});
}

Error changed(const ChunkInfo& chunk) { return {Code::kChanged, chunk.begin, "the chunk's records have changed"}; }

}  // namespace

Result<NodeAttributes> ContainerTree::text_attributes(const Document& text) {
  if (text) return NodeAttributes{FileType::kRegular, (*text)->text.size()};
  if (!is_permanent(text.error().code)) return text.error();
  return NodeAttributes{FileType::kRegular, 1};
}

Result<Slice> ContainerTree::read_text(const Document& text, std::uint64_t offset, std::uint64_t length) {
  if (!text) return text.error();
  return part_of(as_bytes((*text)->text), *text, offset, length);
}

ContainerTree::Document ContainerTree::make_document(const RecordRef& record) const {
  ASSIGN_OR_RETURN(const auto size, store_->records().size(record));
  ASSIGN_OR_RETURN(const auto alone, lock_for(size, cache_.large_inside));
  if (size > kLargestRecord) return cached_text(fmt::format("{} bytes, too large to decode", size));
  ASSIGN_OR_RETURN(const auto bytes, store_->records().read(record, 0, size));
  return cached_text(decoder_.document(record.chunk, bytes.bytes));
}

// Returns the document of a kRecordJson. Fails with kNotFound if nothing is decoded, and as reading the record does.
ContainerTree::Document ContainerTree::document(Node node) const {
  return cache_.documents.get({number_, node.value}, [&]() -> Document {
    ASSIGN_OR_RETURN(const auto record, store_->records().record_at(node.value));
    return make_document(record);
  });
}

Result<Node> ContainerTree::lookup_document(Node record) const {
  const Node node{NodeKind::kRecordJson, record.value};
  if (!decoder_.decodes()) return Error{.code = Code::kNotFound, .detail = "no such name"};
  auto made = document(node);
  if (made || is_permanent(made.error().code)) return node;
  return std::move(made).error();
}

// Returns the document of a message inside the record of a kPart.
ContainerTree::Document ContainerTree::part_document(Node node, const Inside& inside, std::uint64_t message) const {
  return cache_.part_documents.get({inside.id(), message}, [&]() -> Document {
    ASSIGN_OR_RETURN(const auto record, store_->records().record_at(node.value));
    const Extent slice = inside.slice(message);
    ASSIGN_OR_RETURN(const auto alone, lock_for(slice.size, cache_.large_inside));
    ASSIGN_OR_RETURN(const auto bytes, store_->records().read(record, slice.begin, slice.size));
    if (bytes.bytes.size() != slice.size) return changed(record.chunk);
    return cached_text(decoder_.document_of_message(record.chunk, {inside.type(message), bytes.bytes}));
  });
}

Result<ChunkLines> ContainerTree::chunk_lines(const ChunkInfo& chunk, std::uint64_t first_ordinal) const {
  return ChunkLines::open(*store_, decoder_, chunk, first_ordinal, cache_.large_inside);
}

// Generates all lines once to measure them. The last blocks stay cached for the reads that follow.
Result<std::shared_ptr<const LineTable>> ContainerTree::line_table(const ChunkInfo& chunk) const {
  return cache_.line_tables.get({snapshot_, chunk.begin}, [&]() -> Result<std::shared_ptr<const LineTable>> {
    ASSIGN_OR_RETURN(const auto place, store_->index().place_of(chunk));
    ASSIGN_OR_RETURN(const auto lines, chunk_lines(chunk, place.before.records));
    LineTable table{.id = new_id(), .first_ordinal = place.before.records};
    for (std::uint64_t next = 0; next < lines.lines();) {
      const LineTable::Block block{next, table.size};
      ASSIGN_OR_RETURN(const auto text, cache_.lines.get({table.id, table.blocks.size()}, [&]() -> Document {
        CachedText made;
        ASSIGN_OR_RETURN(const auto after, lines.write(block, made.text));
        next = after;
        made.text.shrink_to_fit();
        return std::make_shared<const CachedText>(std::move(made));
      }));
      table.blocks.push_back(block);
      table.size += text->text.size();
    }
    table.blocks.shrink_to_fit();
    return std::make_shared<const LineTable>(std::move(table));
  });
}

Result<std::uint64_t> ContainerTree::lines_size(const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(const auto table, line_table(chunk));
  return table->size;
}

ContainerTree::Document ContainerTree::block_text(const ChunkInfo& chunk, const LineTable& table,
                                                  std::size_t block) const {
  return cache_.lines.get({table.id, block}, [&]() -> Document {
    ASSIGN_OR_RETURN(const auto lines, chunk_lines(chunk, table.first_ordinal));
    const LineTable::Block& wanted = table.blocks[block];
    CachedText made;
    if (wanted.first >= lines.lines()) return changed(chunk);
    TRY(lines.write(wanted, made.text));
    if (made.text.size() != table.end_of(block) - wanted.begin) return changed(chunk);
    made.text.shrink_to_fit();
    return std::make_shared<const CachedText>(std::move(made));
  });
}

Result<Slice> ContainerTree::read_lines(const ChunkInfo& chunk, std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto table, line_table(chunk));
  const std::uint64_t size = table->size;
  if (offset >= size) return Slice{};
  const std::uint64_t end = offset + std::min(length, size - offset);
  ASSIGN_OR_RETURN(auto joined, Buffer::allocate(static_cast<std::size_t>(end - offset)));
  MutableBytes rest = joined.span();
  for (std::size_t block = table->block_at(offset); !rest.empty(); ++block) {
    ASSIGN_OR_RETURN(const auto text, block_text(chunk, *table, block));
    const std::uint64_t at = end - rest.size() - table->blocks[block].begin;
    const Bytes piece = as_bytes(text->text).subspan(static_cast<std::size_t>(at));
    const std::size_t taken = std::min(piece.size(), rest.size());
    std::memcpy(rest.data(), piece.data(), taken);
    rest = rest.subspan(taken);
  }
  auto owner = std::make_shared<const Buffer>(std::move(joined));
  return Slice{owner->view(), owner};
}

}  // namespace recordfs
