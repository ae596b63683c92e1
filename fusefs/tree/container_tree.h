// The tree of one container (DESIGN §1): what names mean, what directories list, what files hold.
//
// All functions may be called from any thread. One with a WaitTicket can answer kPending, as RecordStore's do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/cancellable_mutex.h"
#include "core/decoding/record_decoder.h"
#include "core/decoding/user_types.h"
#include "core/store/record_store.h"
#include "core/store/shared_cache.h"
#include "fusefs/tree/chunk_lines.h"
#include "fusefs/tree/first_index.h"
#include "fusefs/tree/inside.h"
#include "fusefs/tree/key_names.h"
#include "fusefs/tree/node.h"

namespace recordfs {

enum class FileType : std::uint8_t { kDirectory, kRegular, kLink };

struct NodeAttributes {
  FileType type = FileType::kRegular;
  std::uint64_t size = 0;  // bytes
};

// An entry of a directory, as a listing hands it out.
struct DirectoryEntry {
  std::string_view name;
  Node node;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size;  // nullopt: not worth its price in a listing
  std::uint64_t next = 0;             // the place in the listing behind this entry
};

struct StaticEntry;

// Takes an entry; false: no room for it, stop here.
using Emit = std::function<bool(const DirectoryEntry&)>;

// Bytes that were made for a file, as a cache holds them.
struct CachedBytes {
  Buffer bytes;
  std::uint64_t memory() const { return bytes.size(); }
};

// The same as text.
struct CachedText {
  std::string text;
  std::uint64_t memory() const { return text.capacity(); }
};

// Whether a chunk passes its checksums, as its info.json says it.
struct CachedState {
  std::string_view word;
  static std::uint64_t memory() { return 0; }
};

// What all containers of a mount have in common, and what was made last for any of them.
struct CachedFiles {
  const std::string record_suffix{};                 // stands behind the listed names of records; begins with no digit
  const UserTypes types{};                           // of the records, where the user names them
  SharedCache<Inside> insides{4u << 20};             // of records
  SharedCache<CachedBytes> contents{4u << 20};       // of chunks' info.json, and trailers
  SharedCache<CachedState> checksums{1u << 20};      // of chunks
  SharedCache<CachedText> documents{4u << 20};       // of records: what they say
  SharedCache<CachedText> part_documents{4u << 20};  // of messages in them
  SharedCache<LineTable> line_tables{1u << 20};      // of chunks
  SharedCache<CachedText> lines{8u << 20};           // of tables
  CancellableMutex large_inside{};  // held while a large record is looked into, which takes many times its size
};

class ContainerTree {
 public:
  // `cache` has to outlive the tree; `number` is the container's own among those that share it, and the same for all
  // snapshots of a file that grows.
  ContainerTree(std::shared_ptr<const RecordStore> store, CachedFiles& cache, std::uint64_t number)
      : store_(std::move(store)), cache_(cache), decoder_(store_->container(), cache.types), number_(number) {}

  const RecordStore& store() const { return *store_; }

  // How many values its nodes take at the most, for InodeMap::add.
  std::uint64_t values() const;

  // The nodes of which another tree of the same file, when it was shorter, told something else or may have: what the
  // last chunk shows, and what sums up the whole. Records are the same.
  std::vector<Node> changed_since(const ContainerTree& shorter) const;

  // What `name` is in a directory. kNotFound, kPending, and the passing failures of reading.
  Result<Node> lookup(Node directory, std::string_view name, WaitTicket& ticket) const;

  // Type and exact size. Fails like lookup.
  Result<NodeAttributes> attributes(Node node, WaitTicket& ticket) const;

  // Hands out the entries of a directory from `place` on (0: the first), without "." and "..". Ends well
  // when all were handed out or `emit` has had enough. kPending only when nothing was handed out.
  Result<void> list(Node directory, std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;

  // Where a link points to.
  Result<std::string> target(Node link) const;

  // Up to `length` bytes of a file from `offset`: fewer only at its end.
  Result<Slice> read(Node file, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  // The names of a node's extended attributes: of records, and of the directories of chunks.
  static std::span<const std::string_view> extended_names(Node node);

  // The value of one. kNotFound where there is none of that name; fails like read where it can't be told.
  Result<std::string> extended_attribute(Node node, std::string_view name, WaitTicket& ticket) const;

  // The directory that a directory stands in; the root for the root.
  Node parent(Node directory) const;

 private:
  using Text = std::shared_ptr<const std::string>;
  struct AttributeFiles {
    std::shared_ptr<const std::vector<Attribute>> values;
    std::vector<std::string> names;
    FirstIndex<std::string_view> by_name;
    std::string names_table;  // empty when every file has its key's name
  };
  struct DamageFiles {
    std::shared_ptr<const std::vector<DamageRow>> rows;
    FirstIndex<Position> by_begin;
  };

  // Whether this container has a node of the fixed tree; its name, and where it points to, if it is a link.
  bool has(const StaticEntry& entry) const;
  std::string_view name_of(const StaticEntry& entry) const;
  std::string target_of(const StaticEntry& entry) const;

  Result<Node> lookup_static(Node directory, std::string_view name, WaitTicket& ticket) const;
  struct RecordFile {
    std::uint64_t number = 0;
    NodeKind kind = NodeKind::kRecord;
  };
  std::optional<RecordFile> record_file(std::string_view name) const;
  Result<Node> lookup_ordinal(const RecordFile& file, WaitTicket& ticket) const;
  Result<Node> lookup_record(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind, WaitTicket& ticket) const;
  Result<Node> lookup_chunk(std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_thousand(std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_damage(std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_attribute(std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_in_chunk(Node directory, std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_inside(std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_part(Node directory, std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_key(std::uint32_t family, std::string_view name, WaitTicket& ticket) const;
  Result<Node> lookup_key_family(std::string_view name, WaitTicket& ticket) const;

  Result<void> list_static(Node directory, std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_ordinals(std::uint64_t first, std::uint64_t end, std::uint64_t place, const Emit& emit,
                             WaitTicket& ticket) const;
  Result<void> list_chunks(std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_thousands(std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_damage(std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_attributes(std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_chunk(Node directory, std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_chunk_records(Node directory, std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_insides(std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_parts(Node directory, std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_keys(std::uint32_t family, std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<void> list_key_families(std::uint64_t place, const Emit& emit, WaitTicket& ticket) const;
  Result<bool> emit_records(const ChunkInfo& chunk, std::uint64_t index, std::uint64_t first_ordinal,
                            std::uint64_t end_ordinal, std::uint64_t place, const Emit& emit) const;

  Result<NodeAttributes> static_attributes(StaticNode node, WaitTicket& ticket) const;
  Result<std::uint64_t> static_size(StaticNode node, WaitTicket& ticket) const;
  Node parent_of_part(Node part) const;
  Result<Node> record_node(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind = NodeKind::kRecord) const;
  Result<std::shared_ptr<const Inside>> inside(Node node, WaitTicket& ticket) const;
  Result<NodeAttributes> part_attributes(Node node, WaitTicket& ticket) const;
  Result<Slice> read_part(Node node, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  using Document = Result<std::shared_ptr<const CachedText>>;
  Result<Node> lookup_document(Node record, WaitTicket& ticket) const;
  // Where a document can't be made for what lies in the record's bytes, its file has one byte, and reading it fails.
  static Result<NodeAttributes> text_attributes(const Document& text);
  static Result<Slice> read_text(const Document& text, std::uint64_t offset, std::uint64_t length);
  Document document(Node node, WaitTicket& ticket) const;
  Document make_document(const RecordRef& record) const;
  Document part_document(Node node, const Inside& inside, std::uint64_t message, WaitTicket& ticket) const;
  Result<ChunkLines> chunk_lines(const ChunkInfo& chunk, std::uint64_t first_ordinal) const;
  Result<std::shared_ptr<const LineTable>> line_table(const ChunkInfo& chunk, WaitTicket& ticket) const;
  Document block_text(const ChunkInfo& chunk, const LineTable& table, std::size_t block) const;
  Result<std::uint64_t> lines_size(const ChunkInfo& chunk, WaitTicket& ticket) const;
  Result<Slice> read_lines(const ChunkInfo& chunk, std::uint64_t offset, std::uint64_t length,
                           WaitTicket& ticket) const;
  Result<std::shared_ptr<const KeyTable>> key_table(WaitTicket& ticket) const;
  Result<FoundKey> key(std::uint64_t number, WaitTicket& ticket) const;
  Result<std::shared_ptr<const KeyNames>> key_names(std::uint32_t family, WaitTicket& ticket) const;
  Result<NodeAttributes> key_attributes(Node node, WaitTicket& ticket) const;
  Result<Slice> read_key(Node node, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;
  Result<std::shared_ptr<const DamageFiles>> damage_files(WaitTicket& ticket) const;
  Result<DamagedRegion> region(Position begin, WaitTicket& ticket) const;
  Result<Text> text(StaticNode node, WaitTicket& ticket) const;
  Result<Text> make_text(StaticNode node, WaitTicket& ticket) const;
  Result<std::shared_ptr<const AttributeFiles>> attribute_files(WaitTicket& ticket) const;
  Result<Slice> read_static(StaticNode node, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;
  Result<std::string> extended_of_record(std::string_view name, const RecordRef& record, WaitTicket& ticket) const;
  Result<std::string> checksum_word(const ChunkInfo& chunk) const;
  std::string_view stated_media_type() const;
  Result<std::string> media_type_of(const RecordRef& record) const;
  Result<std::shared_ptr<const CachedBytes>> trailer() const;
  Result<std::shared_ptr<const CachedBytes>> chunk_text(const ChunkInfo& chunk) const;

  static Slice part_of(Bytes whole, std::shared_ptr<const void> owner, std::uint64_t offset, std::uint64_t length);

  const std::shared_ptr<const RecordStore> store_;
  CachedFiles& cache_;
  const RecordDecoder decoder_;
  static inline std::atomic<std::uint64_t> next_snapshot_{0};

  const std::uint64_t number_;
  const std::uint64_t snapshot_ = next_snapshot_.fetch_add(1);  // the tree's own in CachedFiles::contents
  mutable std::mutex mutex_;                                    // guards what follows: made once, when first asked for
  mutable Text info_, summary_, damage_;
  mutable std::shared_ptr<const AttributeFiles> attribute_files_;
  mutable std::shared_ptr<const DamageFiles> damage_files_;
  mutable std::map<std::uint32_t, std::shared_ptr<const KeyNames>> key_names_;  // by family
};

}  // namespace recordfs
