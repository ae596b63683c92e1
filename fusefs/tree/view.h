// NodeTree: the tree of one container, or a data set's own: its names, listings, sizes and contents. View: a directory
// of it, or a few directories that show the same things.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/cancellable_mutex.h"
#include "core/decoding/descriptor_set.h"
#include "core/decoding/inside.h"
#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"
#include "core/store/shared_cache.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/node_types.h"

namespace recordfs {

class View;
struct ContainerNode;
struct TreeContext;

// Nodes, and the views that serve them. Immutable once it has its views.
class NodeTree {
 public:
  // `filesystem`: of the source, as Source::filesystem() returns it.
  NodeTree(const NodeTable& table, std::uint64_t filesystem);
  virtual ~NodeTree();
  NodeTree(const NodeTree&) = delete;
  NodeTree& operator=(const NodeTree&) = delete;

  // Null: the tree has no such view.
  void set_view(ViewId id, std::unique_ptr<const View> view);

  // Returns null if the tree has no such node.
  const NodeType* type(const Node& node) const {
    if (node.kind == NodeKind::kStatic) return table_.static_type(node);
    const NodeType* const found = types_[static_cast<std::size_t>(node.kind)];
    return found;
  }
  // Returns the view that serves a node; null if the tree has no such node.
  const View* view(const Node& node) const {
    const NodeType* type = this->type(node);
    return type == nullptr ? nullptr : views_[static_cast<std::size_t>(type->view)].get();
  }
  const NodeTable& table() const { return table_; }
  std::uint64_t filesystem() const { return filesystem_; }
  virtual std::string_view name_of(const StaticEntry& entry) const { return entry.name; }
  // Returns the root and all other directories and files with fixed names.
  std::vector<Node> static_nodes() const;

 protected:
  using Views = std::array<std::unique_ptr<const View>, static_cast<std::size_t>(ViewId::kEnd)>;

  const Views& views() const { return views_; }
  // A derived class whose views use its own members calls this first in its destructor.
  void destroy_views();

 private:
  const NodeTable table_;
  std::array<const NodeType*, kMostNodeKinds> types_{};  // by NodeKind, of table_; null: the tree has no such nodes
  const std::uint64_t filesystem_;
  Views views_;  // by ViewId; null: the tree has no such view
};

// A snapshot of a container as a tree of nodes. A Node is valid for the lifetime of the tree. Nodes whose
// NodeType::is_permanent is set mean the same in every later snapshot of the file. Thread-safe.
class ContainerTree final : public NodeTree {
 public:
  // `cache` must outlive the tree. `number` is unique among the containers that share `cache`, and the same for all
  // snapshots of a followed file.
  ContainerTree(std::shared_ptr<const RecordStore> store, TreeContext& cache, std::uint64_t number);
  ~ContainerTree() override { destroy_views(); }  // joins the thread of keys/, which reads the store
  ContainerTree(const ContainerTree&) = delete;
  ContainerTree& operator=(const ContainerTree&) = delete;

  // Returns an upper bound on the values of its nodes, for InodeTable::wanted().
  std::uint64_t values() const;
  // Returns the nodes whose attributes, entries or contents may differ from those in `shorter`, an earlier snapshot of
  // the same file. These are the last chunk and everything that sums up the container. May read the file.
  std::vector<Node> changed_since(const RequestContext& context, const ContainerTree& shorter) const;
  // Only the array has no name in the table.
  std::string_view name_of(const StaticEntry& entry) const override;

  const RecordStore& store() const { return *store_; }
  const RecordDecoder& decoder() const { return decoder_; }
  TreeContext& cache() const { return cache_; }
  // Returns the cache key of what is the same in all snapshots of a followed file.
  std::uint64_t number() const { return number_; }
  // Returns the cache key of what differs between snapshots.
  std::uint64_t snapshot() const { return snapshot_; }

 private:
  static inline std::atomic<std::uint64_t> next_snapshot_{0};

  const std::shared_ptr<const RecordStore> store_;
  TreeContext& cache_;
  const std::uint64_t number_;
  const std::uint64_t snapshot_ = next_snapshot_.fetch_add(1);
  const RecordDecoder decoder_;
};

struct NodeAttributes {
  FileType type = FileType::kRegular;
  std::uint64_t size = 0;  // bytes
  CachePolicy cache_policy = CachePolicy::kPermanent;
};

// A directory entry, valid during the call of Emit.
struct DirectoryEntry {
  std::string_view name;
  Node node;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size;         // bytes, exact; nullopt: too expensive in a listing
  std::uint64_t next = 0;                    // place of the following entry
  const ContainerNode* container = nullptr;  // that `node` is of; null: of the listed directory's tree
  std::uint64_t inode = 0;                   // 0: that of the node
};

// Returns false to reject the entry and to stop the listing.
using Emit = std::function<bool(const DirectoryEntry&)>;

struct CachedBytes {
  Buffer bytes;
  std::uint64_t memory() const { return bytes.size(); }
};

struct CachedText {
  std::string text;
  std::uint64_t memory() const { return text.capacity(); }
};

// Returns a lock of `large` for a record of more than 256 KiB, because one thread at a time parses such, and nullopt
// otherwise. May wait for the lock. Fails as RequestContext::spend() and CancellableMutex::lock() do.
Result<std::optional<CancellableMutex::Lock>> lock_for(const RequestContext& context, std::uint64_t size,
                                                       CancellableMutex& large);

// The positions of lines in a text that is generated when read. Blocks of a few lines, or of one long line, make up the
// text, which is never in memory as a whole.
struct LineTable {
  struct Block {
    std::uint64_t first = 0;  // index of its first line
    std::uint64_t begin = 0;  // position in the text, in bytes
  };

  std::uint64_t id = 0;             // unique in the process
  std::uint64_t first_ordinal = 0;  // of the chunk's first record
  std::vector<Block> blocks{};
  std::uint64_t size = 0;  // of the text, in bytes

  // Returns the text of a block. Its owner keeps it alive.
  using MakeText = std::function<Result<Slice>(std::size_t block)>;
  // Returns up to `length` bytes of the text from `offset`, fewer only at its end.
  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length,
                     const MakeText& make_text) const;
  std::uint64_t end_of(std::size_t block) const { return block + 1 < blocks.size() ? blocks[block + 1].begin : size; }
  std::uint64_t memory() const { return blocks.capacity() * sizeof(Block); }
};

// Options and caches that all containers of a mount share. Each cache is bounded in bytes. Thread-safe.
struct TreeContext {
  const std::string record_suffix{};                 // of record names in listings; starts with no digit
  const UserTypes types{};                           // of records, as set by the user
  SharedCache<Inside> insides{4u << 20};             // by record
  SharedCache<CachedBytes> contents{4u << 20};       // info.json by chunk, and trailers
  SharedCache<CachedText> checksums{1u << 20};       // checksum_of() by chunk
  SharedCache<CachedText> documents{4u << 20};       // decoded records
  SharedCache<CachedText> part_documents{4u << 20};  // decoded messages inside records
  SharedCache<LineTable> line_tables{1u << 20};      // by chunk
  SharedCache<CachedText> lines{8u << 20};           // blocks of line tables
  // The largest distance between the values of the last record of a chunk and of the first one of the next, if both are
  // small.
  std::atomic<std::uint64_t> record_reach{0};
  CancellableMutex large_inside{};  // held while a large record is parsed, which takes many times its size
};

// Values of a view that are made on first use, by key: the last kMost that were used. Thread-safe. If several threads
// make the same value, the first one is kept.
template <class Value>
class LazyMap {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // `make` returns Result<Value>.
  template <class Make>
  Result<Pointer> get(std::uint64_t key, const Make& make) const {
    if (auto known = values_.find(key)) return *std::move(known);
    ASSIGN_OR_RETURN(Value made, make());
    return values_.add(key, std::make_shared<const Value>(std::move(made)));
  }

 private:
  static constexpr std::size_t kMost = 16;
  mutable BoundedLru<std::uint64_t, Pointer> values_{kMost};
};

// A decoded record or message.
using Document = Result<std::shared_ptr<const CachedText>>;
// If the text is a permanent failure to decode, returns a text that says so.
Document made_document(Result<std::string> text);
Result<Slice> contents_of(const Document& document);

Slice part_of(Slice whole, std::uint64_t offset, std::uint64_t length);

// Returns 1 for a file that the container's bytes make unreadable: the kernel does not read empty files, and a read has
// to return the error.
Result<std::uint64_t> shown_size(const Result<Slice>& contents);

// Returns the result of a listing that cannot continue. Success if it has emitted entries: the next call starts here.
Result<void> stopped(const Error& error, bool came_forward);
// Returns whether the entry at a place has attributes in a listing of so many entries, as far as scanned.
bool has_attributes(std::uint64_t place, std::uint64_t entries);

// Serves the nodes whose NodeType names this view. By default, a directory has the entries of the table, and a function
// behaves as for a node without contents or attributes.
//
// Thread-safe. A function that returns a Result may return kPending in two cases, and the caller repeats the call
// later:
// - The scan has not reached the data. Error::wait names what to wait for: a Catalog or another BackgroundWork.
// - The function would block or do slow work, and RequestContext does not permit that. Error::wait is then null, and
//   RequestContext::was_refused() is true.
// These functions may read and decode, as far as RequestContext permits, but never wait for a scan. They also fail as
// the functions of RecordStore do.
class View {
 public:
  explicit View(const NodeTree& nodes) : nodes_(nodes) {}
  virtual ~View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // Returns the node that `name` means in a directory. Fails with kNotFound if there is none. Looking up NAME.json
  // decodes the record.
  virtual Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const;

  // Emits the entries of a directory without "." and "..". Starts at `place`: 0, or the `next` of an entry. A place
  // stays valid as long as the tree; it is the number of entries before it, but for what follows the keys of keys/.
  // Succeeds once `emit` returned false or every entry was emitted. Also succeeds if it has to wait or fails after its
  // first entries; the next call reports that.
  //
  // A listing of records reads the headers of their chunks, and their record sizes. It decodes a chunk only if the
  // format does not state the number of records, if LayoutCost is kDecode and the chunk is small, or if its layout
  // would cost as much (ChunkReader::layout()). In a listing of more than 1,000,000 records, only the first 250,000
  // have sizes; so do the first 250,000 keys. inside/ORDINAL parses the record. keys/ is pending until the file
  // is open as a database, which reads all of a log, and damage/ until the scan is over.
  virtual Result<void> list(const RequestContext& context, Node directory, std::uint64_t place, const Emit& emit) const;

  // Returns the type and the exact size. For data that cannot be read, the size is the declared one or 1, and never 0.
  // The size of a chunk's info.json costs verifying its checksums; that of records.jsonl, generating all its lines.
  // Fails with kNotFound if a file does not exist. Directories and links are not checked.
  virtual Result<NodeAttributes> attributes(const RequestContext& context,
                                            Node node) const;  // by default of the node's type, with size()
  virtual Result<std::uint64_t> size(const RequestContext& context,
                                     Node file) const;  // by default that of contents(); so does read()

  // Returns up to `length` bytes of a file from `offset`, and fewer only at its end. Fails with kNotFound if the node
  // is not a file.
  virtual Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                             std::uint64_t length) const;
  virtual Result<Slice> contents(const RequestContext& context, Node file) const;

  // Returns the parent of a directory. For a directory inside a record this may parse the record. If that fails,
  // returns the record's directory in inside/.
  virtual Node parent(const RequestContext&, Node directory) const {
    return {NodeKind::kStatic, node_type(directory).parent};
  }
  // Fails with kNotFound if the node is not a link. Does not block.
  virtual Result<std::string> target(Node link) const;
  // Returns the names of a node's extended attributes, each terminated by a zero byte.
  virtual std::string extended_names(const RequestContext& context, Node node) const;
  // REQUIRES: NodeType::extended has the name.
  virtual Result<std::string> extended_attribute(const RequestContext& context, Node node, std::string_view name) const;

  // Returns whether names of its nodes are found. kPending until that is known.
  virtual Result<bool> is_shown(const RequestContext&) const { return true; }

  // Returns an upper bound on the values of its nodes, unless RecordReader::address_limit() is one.
  virtual std::uint64_t values() const { return 0; }
  // Adds the nodes that differ from those in a shorter snapshot, except static nodes.
  virtual void add_changed_since(const RequestContext&, const RecordStore&, std::vector<Node>&) const {}

 protected:
  const NodeType& node_type(const Node& node) const { return *nodes_.type(node); }

 private:
  const NodeTree& nodes_;
};

// A view of a container.
class ContainerView : public View {
 public:
  explicit ContainerView(const ContainerTree& tree) : View(tree), tree_(tree) {}

 protected:
  const ContainerTree& tree() const { return tree_; }
  const RecordStore& store() const { return tree_.store(); }
  TreeContext& cache() const { return tree_.cache(); }

  // Returns a node whose value is a record's address.
  Result<Node> record_node(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind) const;
  // Returns kCodecName or kChecksumName of a chunk.
  Result<std::string> extended_of_chunk(const RequestContext& context, const ChunkInfo& chunk,
                                        std::string_view name) const;

 private:
  const ContainerTree& tree_;
};

// The views of a container's tree. Each factory returns null if the container has no such view.
//
// A new view is a class in a .cc file of its own, a factory here, a ViewId with rows in the tables of node_types.h
// (append kinds and static nodes, never insert), and a line in CMakeLists.txt.
using ViewPointer = std::unique_ptr<const View>;

ViewPointer make_static_view(const ContainerTree& tree);    // the root, .views/, index/, streams/; generated texts
ViewPointer make_records_view(const ContainerTree& tree);   // records/, thousands/ and chunks/OFFSET/records/
ViewPointer make_chunks_view(const ContainerTree& tree);    // chunks/ without the records
ViewPointer make_metadata_view(const ContainerTree& tree);  // metadata/
ViewPointer make_damage_view(const ContainerTree& tree);    // damage/
ViewPointer make_inside_view(const ContainerTree& tree);    // inside/
ViewPointer make_keys_view(const ContainerTree& tree);      // keys/
ViewPointer make_streams_view(const ContainerTree& tree);   // files in streams/, and index/chunks.tsv
ViewPointer make_array_view(const ContainerTree& tree);     // array.npy
ViewPointer make_trailer_view(const ContainerTree& tree);   // trailer

// By ViewId.
inline constexpr std::array kViewFactories = {
    make_static_view, make_records_view, make_chunks_view,  make_metadata_view, make_damage_view,
    make_inside_view, make_keys_view,    make_streams_view, make_array_view,    make_trailer_view,
};

}  // namespace recordfs
