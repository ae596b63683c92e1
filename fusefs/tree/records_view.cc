// records/, thousands/ and chunks/OFFSET/records/: the records, and the decoded ones as NAME.json.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargestDecoded = 128u << 20;
constexpr std::uint64_t kSmallChunk = 64u << 10;

const Node kThousandsDirectory{NodeKind::kStatic, kThousands};

// What the name of a file means: a record or a decoded one, by ordinal or index.
struct RecordFile {
  std::uint64_t number = 0;
  NodeKind kind = NodeKind::kRecord;
};

class RecordsView : public ContainerView {
 public:
  using ContainerView::ContainerView;

  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override {
    if (directory == kThousandsDirectory) return lookup_thousand(context, name);
    const auto file = record_file(name);
    if (!file) return no_such_name();
    if (directory.kind == NodeKind::kChunkRecords) return lookup_index(context, directory.value, *file);
    if (directory.kind == NodeKind::kThousand && file->number / kThousandRecords != directory.value)
      return no_such_name();
    return lookup_ordinal(context, *file);
  }

  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    if (directory == kThousandsDirectory) return list_thousands(context, place, emit);
    if (directory.kind == NodeKind::kStatic) return list_ordinals(context, 0, kEverything, place, emit);
    if (directory.kind == NodeKind::kThousand) {
      const std::uint64_t first = directory.value * kThousandRecords;
      return list_ordinals(context, first, first + kThousandRecords, place, emit);
    }
    if (directory.kind != NodeKind::kChunkRecords) return View::list(context, directory, place, emit);
    ASSIGN_OR_RETURN(const auto chunk, store().index().chunk_at(context, directory.value));
    TRY(emit_records(context, chunk, place, 0, 0, place, emit));
    return {};
  }

  Result<std::uint64_t> size(const RequestContext& context, Node file) const override {
    if (file.kind == NodeKind::kRecordJson) return shown_size(contents(context, file));
    return store().records().size_at(context, file.value);
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    if (file.kind != NodeKind::kRecord) return View::read(context, file, offset, length);
    return store().records().read_at(context, file.value, offset, length);
  }

  Result<Slice> contents(const RequestContext& context, Node file) const override {
    if (file.kind != NodeKind::kRecordJson) return no_such_name();
    return contents_of(document(context, file));
  }

  Node parent(const RequestContext& context, Node directory) const override {
    return directory.kind == NodeKind::kChunkRecords ? Node{NodeKind::kChunk, directory.value}
                                                     : View::parent(context, directory);
  }

  Result<std::string> extended_attribute(const RequestContext& context, Node node,
                                         std::string_view name) const override {
    if (node.kind == NodeKind::kRecordJson) return std::string("application/json");
    ASSIGN_OR_RETURN(const auto record, store().records().record_at(context, node.value));
    const ChunkInfo& chunk = record.chunk;
    if (name == kChunkBeginName) return fmt::format("{}", chunk.begin);
    if (name == kIndexInChunkName) return fmt::format("{}", record.index);
    if (name == kMediaTypeName) return media_type_of(context, record);
    if (name == kOrdinalName) {
      ASSIGN_OR_RETURN(const auto place, store().index().place_of(context, chunk));
      return fmt::format("{}", place.before.records + record.index);
    }
    if (name != kOffsetName) return extended_of_chunk(context, chunk, name);
    ASSIGN_OR_RETURN(const auto layout, store().chunks().layout(context, chunk));
    if (record.index >= layout->records()) return Error{.code = Code::kNotFound, .detail = "no such record"};
    return fmt::format("{}", layout->extent(record.index).begin);
  }

  void add_changed_since(const RequestContext&, const RecordStore& shorter, std::vector<Node>& nodes) const override {
    const auto counts = shorter.index().totals(ScanDetail::kCounts);
    if (counts) nodes.push_back({NodeKind::kThousand, counts->records / kThousandRecords});
  }

 private:
  // The name of a record is a number, with or without the suffix of listed names. Such a name plus ".json" is the
  // decoded record, unless all of it is a record's name.
  std::optional<RecordFile> record_file(std::string_view name) const {
    const auto record = [this](std::string_view its_name) {
      if (its_name.ends_with(cache().record_suffix)) its_name.remove_suffix(cache().record_suffix.size());
      return number_from(its_name);
    };
    if (const auto number = record(name)) return RecordFile{*number, NodeKind::kRecord};
    if (!name.ends_with(kJsonSuffix)) return std::nullopt;
    name.remove_suffix(kJsonSuffix.size());
    if (const auto number = record(name)) return RecordFile{*number, NodeKind::kRecordJson};
    return std::nullopt;
  }

  Result<Node> lookup_thousand(const RequestContext& context, std::string_view name) const {
    const auto thousand = number_from(name);
    if (!thousand || *thousand > kEverything / kThousandRecords) return no_such_name();
    TRY(store().index().find(context, SearchKey::kRecords, *thousand * kThousandRecords));
    return Node{name == thousand_name(*thousand) ? NodeKind::kThousand : NodeKind::kThousandAlias, *thousand};
  }

  Result<Node> lookup_ordinal(const RequestContext& context, const RecordFile& file) const {
    ASSIGN_OR_RETURN(const auto indexed, store().index().find(context, SearchKey::kRecords, file.number));
    return lookup_record(context, indexed.chunk, file.number - indexed.before.records, file.kind);
  }

  Result<Node> lookup_index(const RequestContext& context, Position chunk_begin, const RecordFile& file) const {
    ASSIGN_OR_RETURN(const auto chunk, store().index().chunk_at(context, chunk_begin));
    ASSIGN_OR_RETURN(const auto records, store().chunks().records_in(context, chunk));
    if (file.number >= records) return no_such_name();
    return lookup_record(context, chunk, file.number, file.kind);
  }

  Result<Node> lookup_record(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t index,
                             NodeKind kind) const {
    ASSIGN_OR_RETURN(const auto node, record_node(chunk, index, kind));
    if (kind == NodeKind::kRecord) return node;
    if (!tree().decoder().decodes(context)) return no_such_name();
    auto made = document(context, node);
    if (made || is_permanent(made.error().code)) return node;
    return std::move(made).error();
  }

  Result<void> list_thousands(const RequestContext& context, std::uint64_t place, const Emit& emit) const {
    // A scan that would request too much fails before anything is listed.
    if (place == 0 && store().source().is_remote()) TRY(store().index().totals(ScanDetail::kCounts));
    for (const std::uint64_t began_at = place;; ++place) {
      auto found = store().index().find(context, SearchKey::kRecords, place * kThousandRecords);
      if (!found) return stopped(found.error(), place > began_at);
      if (!emit({thousand_name(place), {NodeKind::kThousand, place}, FileType::kDirectory, 0, place + 1})) return {};
    }
  }

  Result<void> list_ordinals(const RequestContext& context, std::uint64_t first, std::uint64_t end, std::uint64_t place,
                             const Emit& emit) const {
    const std::uint64_t began_at = place;
    while (place < end - first) {
      const std::uint64_t ordinal = first + place;
      auto found = store().index().find(context, SearchKey::kRecords, ordinal);
      if (!found) return stopped(found.error(), place > began_at);
      const std::uint64_t index = ordinal - found->before.records;
      auto all = emit_records(context, found->chunk, index, ordinal, end, place, emit);
      if (!all) return stopped(all.error(), place > began_at);
      if (!*all) return {};
      place = found->after().records - first;
    }
    return {};
  }

  Result<bool> emit_records(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t index,
                            std::uint64_t first_ordinal, std::uint64_t end_ordinal, std::uint64_t place,
                            const Emit& emit) const {
    ASSIGN_OR_RETURN(const auto records, store().chunks().records_in(context, chunk));
    const bool in_chunk = end_ordinal == 0;  // names are indices in the chunk instead of ordinals
    const std::uint64_t end = in_chunk ? records : std::min(records, index + (end_ordinal - first_ordinal));
    const std::uint64_t entries = in_chunk ? records : store().index().state().totals.records;
    const bool is_cheap = chunk.layout_cost == LayoutCost::kSmall || chunk.stored_size <= kSmallChunk;
    const bool with_sizes = is_cheap && has_attributes(place, entries);
    // The header of a chunk with one record states its size.
    const std::optional<std::uint64_t> only = with_sizes && records == 1 ? chunk.decoded_size : std::nullopt;
    std::shared_ptr<const Layout> layout;
    if (with_sizes && !only) {
      if (auto known = store().chunks().layout(context, chunk); known && (*known)->records() >= end) layout = *known;
    }
    for (std::uint64_t i = index; i < end; ++i, ++place) {
      std::string name = in_chunk ? chunk_record_name(i) : record_name(first_ordinal + (i - index));
      name += cache().record_suffix;
      std::optional<std::uint64_t> size = layout ? layout->extent(i).size : only;
      // An unreadable record must not have size 0, and only the decoded chunk shows whether this one is readable.
      if (size == 0u) size.reset();
      ASSIGN_OR_RETURN(const auto node, record_node(chunk, i, NodeKind::kRecord));
      if (!emit({name, node, FileType::kRegular, size, place + 1})) return false;
    }
    return true;
  }

  // Returns the document of a kRecordJson. Fails with kNotFound if nothing is decoded, and as reading the record does.
  Document document(const RequestContext& context, Node node) const {
    return cache().documents.get(context, {tree().number(), node.value}, [&]() -> Document {
      ASSIGN_OR_RETURN(const auto record, store().records().record_at(context, node.value));
      return make_document(context, record);
    });
  }

  Document make_document(const RequestContext& context, const RecordRef& record) const {
    ASSIGN_OR_RETURN(const auto size, store().records().size(context, record));
    ASSIGN_OR_RETURN(const auto alone, lock_for(context, size, cache().large_inside));
    if (size > kLargestDecoded) {
      return made_document(Error{.code = Code::kLimit, .detail = fmt::format("{} bytes, too large to decode", size)});
    }
    ASSIGN_OR_RETURN(const auto bytes, store().records().read(context, record, 0, size));
    return made_document(tree().decoder().document(context, record.chunk, bytes.bytes));
  }

  // Returns the media type that the metadata declares for all records, if that is readable now. Otherwise guesses it.
  Result<std::string> media_type_of(const RequestContext& context, const RecordRef& record) const {
    if (cache().record_suffix == ".pb") return std::string("application/x-protobuf");
    const Metadata* const metadata = store().metadata();
    const auto stated = metadata == nullptr ? std::string_view{} : metadata->record_media_type(context).value_or("");
    if (!stated.empty()) return std::string(stated);
    ASSIGN_OR_RETURN(const auto first, store().records().read(context, record, 0, kBytesOfMediaType));
    return std::string(media_type(first.bytes, first.bytes.size() < kBytesOfMediaType));
  }
};

}  // namespace

ViewPointer make_records_view(const ContainerTree& tree) { return std::make_unique<RecordsView>(tree); }

}  // namespace recordfs
