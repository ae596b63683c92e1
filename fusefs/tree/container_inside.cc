// ContainerTree's inside/: the parts of records, if the format has any.
#include <algorithm>
#include <utility>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

FileType type_of(PartKind kind) { return kind == PartKind::kDirectory ? FileType::kDirectory : FileType::kRegular; }

// Returns the node of a part in the record of `sibling`.
Node part_node(Node sibling, std::uint64_t part) {
  if (part == 0) return {NodeKind::kInsideRecord, sibling.value};
  return {NodeKind::kPart, sibling.value, part};
}

}  // namespace

// Parses the record of a kInsideRecord or a kPart. Fails with kNotFound if the record has no such part.
Result<std::shared_ptr<const Inside>> ContainerTree::inside(Node node) const {
  auto known = cache_.insides.get({number_, node.value}, [&]() -> Result<std::shared_ptr<const Inside>> {
    ASSIGN_OR_RETURN(const auto record, store_->records().record_at(node.value));
    ASSIGN_OR_RETURN(const auto size, store_->records().size(record));
    ASSIGN_OR_RETURN(const auto alone, lock_for(size, cache_.large_inside));
    ASSIGN_OR_RETURN(const auto parts, store_->records().parts(record));
    auto made = Inside::of(parts);
    if (!made) {
      made.error().position = record.chunk.begin;
      store_->log().report(made.error(), record.index + 1);
      return std::move(made).error();
    }
    return std::make_shared<const Inside>(std::move(*made));
  });
  if (known && !(*known)->contains(node.part)) return no_such_name();
  return known;
}

Result<Node> ContainerTree::lookup_inside(std::string_view name) const {
  const auto ordinal = number_from(name);
  if (!ordinal) return no_such_name();
  ASSIGN_OR_RETURN(const auto place, store_->index().find(SearchKey::kRecords, *ordinal));
  if (name != record_name(*ordinal)) return Node{NodeKind::kInsideAlias, *ordinal};
  return record_node(place.chunk, *ordinal - place.before.records, NodeKind::kInsideRecord);
}

Result<Node> ContainerTree::lookup_part(Node directory, std::string_view name) const {
  ASSIGN_OR_RETURN(const auto known, inside(directory));
  if (known->kind(directory.part) != PartKind::kDirectory) return no_such_name();
  const auto part = known->find(directory.part, name);
  if (!part) return no_such_name();
  return part_node(directory, *part);
}

// Only listings use this, and they report errors themselves.
Node ContainerTree::parent_of_part(Node part) const {
  auto known = inside(part);
  return part_node(part, known ? (*known)->parent(part.part) : 0);
}

Result<void> ContainerTree::list_parts(Node directory, std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto known, inside(directory));
  if (known->kind(directory.part) != PartKind::kDirectory) return no_such_name();
  for (; const auto part = known->at(directory.part, place); ++place) {
    const FileType type = type_of(known->kind(*part));
    if (!emit({known->name(*part), part_node(directory, *part), type, known->size(*part), place + 1})) break;
  }
  return {};
}

Result<NodeAttributes> ContainerTree::part_attributes(Node node) const {
  ASSIGN_OR_RETURN(const auto known, inside(node));
  if (const auto message = known->message_of(node.part)) {
    return text_attributes(part_document(node, *known, *message));
  }
  return NodeAttributes{type_of(known->kind(node.part)), known->size(node.part)};
}

Result<Slice> ContainerTree::read_part(Node node, std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto known, inside(node));
  if (const auto message = known->message_of(node.part)) {
    return read_text(part_document(node, *known, *message), offset, length);
  }
  const PartKind kind = known->kind(node.part);
  if (kind == PartKind::kDirectory) return no_such_name();
  const std::uint64_t size = known->size(node.part);
  if (offset >= size) return Slice{};
  const std::uint64_t wanted = std::min(length, size - offset);
  if (kind == PartKind::kText) {
    const std::string_view text = known->text(node.part);
    return Slice{as_bytes(text.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(wanted))), known};
  }
  ASSIGN_OR_RETURN(const auto record, store_->records().record_at(node.value));
  auto slice = store_->records().read(record, known->slice(node.part).begin + offset, wanted);
  if (slice && slice->bytes.size() != wanted) {
    return Error{Code::kChanged, record.chunk.begin, "the record's parts have changed"};
  }
  return slice;
}

}  // namespace recordfs
