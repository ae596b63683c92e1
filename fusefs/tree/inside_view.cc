// inside/: the parts of records.
#include <algorithm>
#include <utility>

#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

FileType type_of(Inside::Kind kind) {
  return kind == Inside::Kind::kDirectory ? FileType::kDirectory : FileType::kRegular;
}

// Returns the node of a part in the record of `sibling`.
Node part_node(Node sibling, std::uint64_t part) {
  if (part == 0) return {NodeKind::kInsideRecord, sibling.value};
  return {NodeKind::kPart, sibling.value, part};
}

class InsideView : public ContainerView {
 public:
  using ContainerView::ContainerView;

  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override {
    return directory.kind == NodeKind::kStatic ? lookup_record(context, name) : lookup_part(context, directory, name);
  }
  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    return directory.kind == NodeKind::kStatic ? list_records(context, place, emit)
                                               : list_parts(context, directory, place, emit);
  }

  Result<NodeAttributes> attributes(const RequestContext& context, Node node) const override {
    if (node.kind != NodeKind::kPart) return View::attributes(context, node);
    ASSIGN_OR_RETURN(const auto known, inside(context, node));
    if (const auto message = known->message_of(node.part)) {
      ASSIGN_OR_RETURN(const auto size, shown_size(contents_of(document(context, node, *known, *message))));
      return NodeAttributes{FileType::kRegular, size};
    }
    return NodeAttributes{type_of(known->kind(node.part)), known->size(node.part)};
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    if (file.kind != NodeKind::kPart) return no_such_name();
    ASSIGN_OR_RETURN(const auto known, inside(context, file));
    if (const auto message = known->message_of(file.part)) {
      ASSIGN_OR_RETURN(auto text, contents_of(document(context, file, *known, *message)));
      return part_of(std::move(text), offset, length);
    }
    const Inside::Kind kind = known->kind(file.part);
    if (kind == Inside::Kind::kDirectory) return no_such_name();
    if (kind == Inside::Kind::kText) return part_of({as_bytes(known->text(file.part)), known}, offset, length);
    const std::uint64_t size = known->size(file.part);
    if (offset >= size) return Slice{};
    const std::uint64_t wanted = std::min(length, size - offset);
    ASSIGN_OR_RETURN(const auto record, store().records().record_at(context, file.value));
    auto slice = store().records().read(context, record, known->slice(file.part).begin + offset, wanted);
    if (slice && slice->bytes.size() != wanted) {
      return Error{Code::kChanged, record.chunk.begin, "the record's parts have changed"};
    }
    return slice;
  }

  // Only listings use this for parts, and they report errors themselves.
  Node parent(const RequestContext& context, Node directory) const override {
    if (directory.kind != NodeKind::kPart) return View::parent(context, directory);
    const auto known = inside(context, directory);
    return part_node(directory, known ? (*known)->parent(directory.part) : 0);
  }

 private:
  Result<Node> lookup_record(const RequestContext& context, std::string_view name) const {
    const auto ordinal = number_from(name);
    if (!ordinal) return no_such_name();
    ASSIGN_OR_RETURN(const auto place, store().index().find(context, SearchKey::kRecords, *ordinal));
    if (name != record_name(*ordinal)) return Node{NodeKind::kInsideAlias, *ordinal};
    return record_node(place.chunk, *ordinal - place.before.records, NodeKind::kInsideRecord);
  }

  Result<void> list_records(const RequestContext& context, std::uint64_t place, const Emit& emit) const {
    for (const std::uint64_t began_at = place;;) {
      auto found = store().index().find(context, SearchKey::kRecords, place);
      if (!found) return stopped(found.error(), place > began_at);
      for (const std::uint64_t end = found->after().records; place < end; ++place) {
        auto node = record_node(found->chunk, place - found->before.records, NodeKind::kInsideRecord);
        if (!node) return stopped(node.error(), place > began_at);
        std::optional<std::uint64_t> size;
        if (has_attributes(place, store().index().state().totals.records)) size = 0;
        if (!emit({record_name(place), *node, FileType::kDirectory, size, place + 1})) return {};
      }
    }
  }

  Result<Node> lookup_part(const RequestContext& context, Node directory, std::string_view name) const {
    ASSIGN_OR_RETURN(const auto known, inside(context, directory));
    if (known->kind(directory.part) != Inside::Kind::kDirectory) return no_such_name();
    const auto part = known->find(directory.part, name);
    if (!part) return no_such_name();
    return part_node(directory, *part);
  }

  Result<void> list_parts(const RequestContext& context, Node directory, std::uint64_t place, const Emit& emit) const {
    ASSIGN_OR_RETURN(const auto known, inside(context, directory));
    if (known->kind(directory.part) != Inside::Kind::kDirectory) return no_such_name();
    for (; const auto part = known->at(directory.part, place); ++place) {
      const FileType type = type_of(known->kind(*part));
      if (!emit({known->name(*part), part_node(directory, *part), type, known->size(*part), place + 1})) break;
    }
    return {};
  }

  // Parses the record of a kInsideRecord or a kPart. Fails with kNotFound if the record has no such part.
  Result<std::shared_ptr<const Inside>> inside(const RequestContext& context, Node node) const {
    auto known =
        cache().insides.get(context, {tree().number(), node.value}, [&]() -> Result<std::shared_ptr<const Inside>> {
          ASSIGN_OR_RETURN(const auto record, store().records().record_at(context, node.value));
          ASSIGN_OR_RETURN(const auto size, store().records().size(context, record));
          ASSIGN_OR_RETURN(const auto alone, lock_for(context, size, cache().large_inside));
          ASSIGN_OR_RETURN(const auto parts, store().records().parts(context, record));
          return std::make_shared<const Inside>(Inside::of(parts.value, parts.record.bytes));
        });
    if (known && !(*known)->contains(node.part)) return no_such_name();
    return known;
  }

  // Returns the document of a message inside the record of a kPart.
  Document document(const RequestContext& context, Node part, const Inside& inside, std::uint64_t message) const {
    return cache().part_documents.get(context, {inside.id(), message}, [&]() -> Document {
      ASSIGN_OR_RETURN(const auto record, store().records().record_at(context, part.value));
      const Extent slice = inside.slice(message);
      ASSIGN_OR_RETURN(const auto alone, lock_for(context, slice.size, cache().large_inside));
      ASSIGN_OR_RETURN(const auto bytes, store().records().read(context, record, slice.begin, slice.size));
      if (bytes.bytes.size() != slice.size) {
        return Error{Code::kChanged, record.chunk.begin, "the chunk's records have changed"};
      }
      return made_document(
          tree().decoder().document_of_message(context, record.chunk, {inside.type(message), bytes.bytes}));
    });
  }
};

}  // namespace

ViewPointer make_inside_view(const ContainerTree& tree) {
  return tree.store().schema().parts == RecordSchema::Parts::kNone ? nullptr : std::make_unique<InsideView>(tree);
}

}  // namespace recordfs
