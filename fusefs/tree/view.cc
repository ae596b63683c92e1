#include "fusefs/tree/view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/utf8.h"
#include "core/decoding/file_names.h"
#include "core/decoding/json_writer.h"
#include "fusefs/tree/generated_files.h"

namespace recordfs {
namespace {

// With attributes, an entry costs the kernel about 1 KiB and six times the time. A listing longer than kLongListing has
// attributes for its first kOfLongListing entries only.
constexpr std::uint64_t kLongListing = 1000000;
constexpr std::uint64_t kOfLongListing = 250000;

// Replaces a document whose bytes are readable but cannot be decoded.
std::string error_document(std::string_view detail) {
  JsonObject object;
  object.set("error", printable(detail));
  return to_json(object, JsonLayout::kIndented);
}

// Parsing a record takes at least as long as decompressing so many times its bytes.
constexpr std::uint64_t kWorkOfAByte = 8;
constexpr std::uint64_t kLargeRecord = 256u << 10;

}  // namespace

NodeTree::NodeTree(const NodeTable& table, std::uint64_t filesystem) : table_(table), filesystem_(filesystem) {
  for (const auto& [kind, type] : table_.kinds) types_[static_cast<std::size_t>(kind)] = &type;
}

NodeTree::~NodeTree() = default;

void NodeTree::destroy_views() {
  for (auto& view : views_) view.reset();
}

void NodeTree::set_view(ViewId id, std::unique_ptr<const View> view) {
  views_[static_cast<std::size_t>(id)] = std::move(view);
}

std::vector<Node> NodeTree::static_nodes() const {
  std::vector<Node> nodes = {Node{}};
  for (const StaticEntry& entry : table_.entries) {
    if (entry.type.type != FileType::kLink) nodes.push_back({NodeKind::kStatic, entry.node});
  }
  return nodes;
}

ContainerTree::ContainerTree(std::shared_ptr<const RecordStore> store, TreeContext& cache, std::uint64_t number)
    : NodeTree(kContainerNodes, store->source().filesystem()),
      store_(std::move(store)),
      cache_(cache),
      number_(number),
      decoder_(store_->schema(), store_->metadata(), cache.types) {
  for (std::size_t id = 0; id < kViewFactories.size(); ++id) {
    set_view(static_cast<ViewId>(id), kViewFactories[id](*this));
  }
  constexpr std::uint64_t kReachInBytes = 64u << 10;
  const std::uint64_t reach = store_->records().address_distance(kReachInBytes);
  std::uint64_t known = cache.record_reach;
  while (known < reach && !cache.record_reach.compare_exchange_weak(known, reach)) {
  }
}

std::string_view ContainerTree::name_of(const StaticEntry& entry) const {
  return entry.name.empty() ? store_->traits().array->name : entry.name;
}

std::uint64_t ContainerTree::values() const {
  std::uint64_t values = store().records().address_limit();
  for (const auto& view : views()) values = std::max(values, view == nullptr ? 0 : view->values());
  return values + kStaticEnd;
}

std::vector<Node> ContainerTree::changed_since(const RequestContext& context, const ContainerTree& shorter) const {
  std::vector<Node> nodes = static_nodes();
  for (const auto& view : views()) {
    if (view != nullptr) view->add_changed_since(context, shorter.store(), nodes);
  }
  return nodes;
}

Result<std::optional<CancellableMutex::Lock>> lock_for(const RequestContext& context, std::uint64_t size,
                                                       CancellableMutex& large) {
  std::optional<CancellableMutex::Lock> held;
  if (size <= kLargeRecord) return held;
  TRY(context.spend(size * kWorkOfAByte));
  ASSIGN_OR_RETURN(auto alone, large.lock(context));
  held.emplace(std::move(alone));
  return held;
}

Result<Slice> LineTable::read(const RequestContext& context, std::uint64_t offset, std::uint64_t length,
                              const MakeText& make_text) const {
  if (offset >= size) return Slice{};
  const std::uint64_t end = offset + std::min(length, size - offset);
  ASSIGN_OR_RETURN(auto joined, Buffer::allocate(context, static_cast<std::size_t>(end - offset)));
  MutableBytes rest = joined.span();
  const auto after = std::ranges::upper_bound(blocks, offset, {}, &Block::begin);
  for (auto block = static_cast<std::size_t>(after - blocks.begin()) - 1; !rest.empty(); ++block) {
    ASSIGN_OR_RETURN(const auto text, make_text(block));
    const std::uint64_t at = end - rest.size() - blocks[block].begin;
    const Bytes piece = text.bytes.subspan(static_cast<std::size_t>(at));
    const std::size_t taken = std::min(piece.size(), rest.size());
    std::memcpy(rest.data(), piece.data(), taken);
    rest = rest.subspan(taken);
  }
  return owned(std::move(joined));
}

Document made_document(Result<std::string> text) {
  if (!text && !is_permanent(text.error().code)) return std::move(text).error();
  return std::make_shared<const CachedText>(CachedText{text ? std::move(*text) : error_document(text.error().detail)});
}

Result<Slice> contents_of(const Document& document) {
  if (!document) return document.error();
  return Slice{as_bytes((*document)->text), *document};
}

Slice part_of(Slice whole, std::uint64_t offset, std::uint64_t length) {
  if (offset >= whole.bytes.size()) return {};
  const auto begin = static_cast<std::size_t>(offset);
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(length, whole.bytes.size() - begin));
  return {whole.bytes.subspan(begin, size), std::move(whole.owner)};
}

Result<std::uint64_t> shown_size(const Result<Slice>& contents) {
  if (contents) return std::uint64_t{contents->bytes.size()};
  if (!is_permanent(contents.error().code)) return contents.error();
  return std::uint64_t{1};
}

Result<void> stopped(const Error& error, bool came_forward) {
  if (came_forward || error.code == Code::kNotFound) return {};
  return error;
}

bool has_attributes(std::uint64_t place, std::uint64_t entries) {
  return place < (entries > kLongListing ? kOfLongListing : kLongListing);
}

Result<Node> View::lookup(const RequestContext& context, Node directory, std::string_view name) const {
  if (directory.kind != NodeKind::kStatic) return no_such_name();
  for (const StaticEntry& entry : nodes_.table().entries) {
    const Node node{NodeKind::kStatic, entry.node};
    const View* view = entry.type.parent == directory.value ? nodes_.view(node) : nullptr;
    if (view == nullptr || nodes_.name_of(entry) != name) continue;
    ASSIGN_OR_RETURN(const bool is_shown, view->is_shown(context));
    if (is_shown) return node;
  }
  return no_such_name();
}

Result<void> View::list(const RequestContext& context, Node directory, std::uint64_t place, const Emit& emit) const {
  const NodeType* of = nodes_.type(directory);
  if (directory.kind != NodeKind::kStatic || of == nullptr || of->type != FileType::kDirectory) {
    return Error{.code = Code::kNotFound, .detail = "not a directory"};
  }
  std::uint64_t number = 0;
  for (const StaticEntry& entry : nodes_.table().entries) {
    if (entry.type.parent != directory.value || entry.listed == Listed::kNever) continue;
    const Node node{NodeKind::kStatic, entry.node};
    const View* view = nodes_.view(node);
    if (view == nullptr) continue;
    const auto is_shown = view->is_shown(context);
    if (!is_shown) return stopped(is_shown.error(), number > place);
    if (!*is_shown || number++ < place) continue;
    std::optional<std::uint64_t> size;
    if (entry.type.type != FileType::kRegular || entry.listed == Listed::kWithSize) {
      if (const auto known = view->attributes(context, node)) size = known->size;
    }
    if (!emit({nodes_.name_of(entry), node, entry.type.type, size, number})) return {};
  }
  return {};
}

Result<Slice> View::contents(const RequestContext&, Node) const { return no_such_name(); }

Result<std::uint64_t> View::size(const RequestContext& context, Node file) const {
  ASSIGN_OR_RETURN(const auto all, contents(context, file));
  return std::uint64_t{all.bytes.size()};
}

Result<Slice> View::read(const RequestContext& context, Node file, std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(auto all, contents(context, file));
  return part_of(std::move(all), offset, length);
}

Result<NodeAttributes> View::attributes(const RequestContext& context, Node node) const {
  const FileType type = node_type(node).type;
  if (type == FileType::kDirectory) return NodeAttributes{type, 0};
  if (type == FileType::kLink) {
    ASSIGN_OR_RETURN(const auto path, target(node));
    return NodeAttributes{type, path.size()};
  }
  ASSIGN_OR_RETURN(const auto bytes, size(context, node));
  return NodeAttributes{type, bytes};
}

Result<std::string> View::target(Node link) const {
  const NodeType& type = node_type(link);
  if (type.target != nullptr) return type.target(link.value);
  const StaticEntry* entry = nodes_.table().entry(link);
  if (type.type != FileType::kLink || entry == nullptr) return no_such_name();
  return std::string(entry->target).append(entry->name.empty() ? nodes_.name_of(*entry) : "");
}

std::string View::extended_names(const RequestContext&, Node node) const {
  std::string names;
  for (const std::string_view name : node_type(node).extended) names.append(name).append(1, '\0');
  return names;
}

Result<std::string> View::extended_attribute(const RequestContext&, Node, std::string_view) const {
  return no_such_name();
}

Result<Node> ContainerView::record_node(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind) const {
  ASSIGN_OR_RETURN(const auto address, store().records().address(chunk, index));
  return Node{kind, address};
}

Result<std::string> ContainerView::extended_of_chunk(const RequestContext& context, const ChunkInfo& chunk,
                                                     std::string_view name) const {
  if (name == kCodecName) return std::string(chunk.codec);
  const auto make = [&]() -> Document {
    ASSIGN_OR_RETURN(const auto word, checksum_of(context, store(), chunk));
    return std::make_shared<const CachedText>(CachedText{std::string(word)});
  };
  const auto known = cache().checksums.get(context, {tree_.snapshot(), chunk.begin}, make);
  if (known) return (*known)->text;
  store().log().report(context, known.error());
  return known.error();
}

}  // namespace recordfs
