// ContainerTree: the tree of one container: its names, listings, sizes and contents.
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

// A directory entry, valid during the call of Emit.
struct DirectoryEntry {
  std::string_view name;
  Node node;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size;  // bytes, exact; nullopt: too expensive in a listing
  std::uint64_t next = 0;             // place of the following entry
};

struct StaticEntry;

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

// The state of a chunk's checksums, as checksum_of() returns it.
struct CachedState {
  std::string_view word;
  static std::uint64_t memory() { return 0; }
};

// Options and caches that all containers of a mount share. Each cache is bounded in bytes. Thread-safe.
struct CachedFiles {
  const std::string record_suffix{};                 // of record names in listings; starts with no digit
  const UserTypes types{};                           // of records, as set by the user
  SharedCache<Inside> insides{4u << 20};             // by record
  SharedCache<CachedBytes> contents{4u << 20};       // info.json by chunk, and trailers
  SharedCache<CachedState> checksums{1u << 20};      // by chunk
  SharedCache<CachedText> documents{4u << 20};       // decoded records
  SharedCache<CachedText> part_documents{4u << 20};  // decoded messages inside records
  SharedCache<LineTable> line_tables{1u << 20};      // by chunk
  SharedCache<CachedText> lines{8u << 20};           // blocks of line tables
  CancellableMutex large_inside{};  // held while a large record is parsed, which takes many times its size
};

// A snapshot of a container as a tree of nodes. A Node is valid for the lifetime of the tree. kRecord, kRecordJson,
// kInsideRecord and kPart mean the same in every later snapshot of the file.
//
// Thread-safe. A function that returns a Result may return kPending in two cases, and the caller repeats the call
// later:
// - The scan has not reached the data. Error::wait names what to wait for: a Catalog or KeyIndex.
// - The function would block or do slow work, and RequestContext does not permit that. Error::wait is then null, and
//   RequestContext::was_refused() is true.
// These functions may read and decode, as far as RequestContext permits, but never wait for a scan. They also fail as
// the functions of RecordStore do.
class ContainerTree {
 public:
  // `cache` must outlive the tree. `number` is unique among the containers that share `cache`, and the same for all
  // snapshots of a followed file.
  ContainerTree(std::shared_ptr<const RecordStore> store, CachedFiles& cache, std::uint64_t number)
      : store_(std::move(store)),
        cache_(cache),
        decoder_(store_->schema(), store_->metadata(), cache.types),
        number_(number) {}

  const RecordStore& store() const { return *store_; }

  // Returns an upper bound on the values of its nodes, for InodeMap::add().
  std::uint64_t values() const;

  // Returns the nodes whose attributes, entries or contents may differ from those in `shorter`, an earlier snapshot of
  // the same file. These are the last chunk and everything that sums up the container. May read the file.
  std::vector<Node> changed_since(const ContainerTree& shorter) const;

  // Returns the node that `name` means in a directory. Fails with kNotFound if there is none. Looking up NAME.json
  // decodes the record. A key beyond the listed ones is pending until all records have been read once more for it.
  Result<Node> lookup(Node directory, std::string_view name) const;

  // Returns the type and the exact size. For data that cannot be read, the size is the declared one or 1, and never 0.
  // The size of a chunk's info.json costs verifying its checksums; that of records.jsonl, generating all its lines.
  // Fails with kNotFound if a file does not exist. Directories and links are not checked.
  Result<NodeAttributes> attributes(Node node) const;

  // Emits the entries of a directory without "." and "..". Starts at `place`: 0, or the `next` of an entry. A place is
  // the number of entries before it, and stays valid as long as the tree. Succeeds once `emit` returned false or every
  // entry was emitted. Also succeeds if it has to wait or fails after its first entries; the next call reports that.
  //
  // A listing of records reads the headers of their chunks, and their record sizes if LayoutCost is kSmall. It decodes
  // a chunk only if the format does not state the number of records. In a listing of more than 1,000,000 records, only
  // the first 250,000 have sizes; so do the first 250,000 keys. inside/ORDINAL parses the record. keys/ is pending
  // until all records have been read once, and damage/ until the scan is over.
  Result<void> list(Node directory, std::uint64_t place, const Emit& emit) const;

  // Fails with kNotFound if the node is not a link. Does not block.
  Result<std::string> target(Node link) const;

  // Returns up to `length` bytes of a file from `offset`, and fewer only at its end. Fails with kNotFound if the node
  // is not a file.
  Result<Slice> read(Node file, std::uint64_t offset, std::uint64_t length) const;

  // Returns the names of a node's extended attributes. Only records, their .json, chunk directories and records.jsonl
  // have any. Static storage.
  static std::span<const std::string_view> extended_names(Node node);

  // Fails with kNotFound if the node has none of that name.
  Result<std::string> extended_attribute(Node node, std::string_view name) const;

  // Returns the parent of a directory, or the root for the root. For a directory inside a record this may parse the
  // record. If that fails, returns the record's directory in inside/.
  Node parent(Node directory) const;

 private:
  using Text = std::shared_ptr<const std::string>;
  struct AttributeFiles {
    std::shared_ptr<const std::vector<Attribute>> values;
    std::vector<std::string> names;
    FirstIndex<std::string_view> by_name;
    std::string names_table;  // empty if every file has its key's name
  };
  struct DamageFiles {
    std::shared_ptr<const std::vector<DamageRow>> rows;
    FirstIndex<Position> by_begin;
  };

  // These return whether this container has the node, the node's name, and a link's target.
  bool has(const StaticEntry& entry) const;
  std::string_view name_of(const StaticEntry& entry) const;
  std::string target_of(const StaticEntry& entry) const;

  Result<Node> lookup_static(Node directory, std::string_view name) const;
  struct RecordFile {
    std::uint64_t number = 0;
    NodeKind kind = NodeKind::kRecord;
  };
  std::optional<RecordFile> record_file(std::string_view name) const;
  Result<Node> lookup_ordinal(const RecordFile& file) const;
  Result<Node> lookup_record(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind) const;
  Result<Node> lookup_chunk(std::string_view name) const;
  Result<Node> lookup_thousand(std::string_view name) const;
  Result<Node> lookup_damage(std::string_view name) const;
  Result<Node> lookup_attribute(std::string_view name) const;
  Result<Node> lookup_in_chunk(Node directory, std::string_view name) const;
  Result<Node> lookup_inside(std::string_view name) const;
  Result<Node> lookup_part(Node directory, std::string_view name) const;
  Result<Node> lookup_key(std::uint32_t family, std::string_view name) const;
  Result<Node> lookup_key_family(std::string_view name) const;

  Result<void> list_static(Node directory, std::uint64_t place, const Emit& emit) const;
  Result<void> list_ordinals(std::uint64_t first, std::uint64_t end, std::uint64_t place, const Emit& emit) const;
  Result<void> list_chunks(std::uint64_t place, const Emit& emit) const;
  Result<void> list_thousands(std::uint64_t place, const Emit& emit) const;
  Result<void> list_damage(std::uint64_t place, const Emit& emit) const;
  Result<void> list_attributes(std::uint64_t place, const Emit& emit) const;
  Result<void> list_chunk(Node directory, std::uint64_t place, const Emit& emit) const;
  Result<void> list_chunk_records(Node directory, std::uint64_t place, const Emit& emit) const;
  Result<void> list_insides(std::uint64_t place, const Emit& emit) const;
  Result<void> list_parts(Node directory, std::uint64_t place, const Emit& emit) const;
  Result<void> list_keys(std::uint32_t family, std::uint64_t place, const Emit& emit) const;
  Result<void> list_key_families(std::uint64_t place, const Emit& emit) const;
  Result<bool> emit_records(const ChunkInfo& chunk, std::uint64_t index, std::uint64_t first_ordinal,
                            std::uint64_t end_ordinal, std::uint64_t place, const Emit& emit) const;

  Result<NodeAttributes> static_attributes(StaticNode node) const;
  Result<std::uint64_t> static_size(StaticNode node) const;
  Node parent_of_part(Node part) const;
  Result<Node> record_node(const ChunkInfo& chunk, std::uint64_t index, NodeKind kind = NodeKind::kRecord) const;
  Result<std::shared_ptr<const Inside>> inside(Node node) const;
  Result<NodeAttributes> part_attributes(Node node) const;
  Result<Slice> read_part(Node node, std::uint64_t offset, std::uint64_t length) const;

  using Document = Result<std::shared_ptr<const CachedText>>;
  Result<Node> lookup_document(Node record) const;
  // If the record's bytes prevent decoding, the size of the file is 1 and reading it fails.
  static Result<NodeAttributes> text_attributes(const Document& text);
  static Result<Slice> read_text(const Document& text, std::uint64_t offset, std::uint64_t length);
  Document document(Node node) const;
  Document make_document(const RecordRef& record) const;
  Document part_document(Node node, const Inside& inside, std::uint64_t message) const;
  Result<ChunkLines> chunk_lines(const ChunkInfo& chunk, std::uint64_t first_ordinal) const;
  Result<std::shared_ptr<const LineTable>> line_table(const ChunkInfo& chunk) const;
  Document block_text(const ChunkInfo& chunk, const LineTable& table, std::size_t block) const;
  Result<std::uint64_t> lines_size(const ChunkInfo& chunk) const;
  Result<Slice> read_lines(const ChunkInfo& chunk, std::uint64_t offset, std::uint64_t length) const;
  Result<std::shared_ptr<const KeyTable>> key_table() const;
  Result<FoundKey> key(std::uint64_t number) const;
  Result<std::shared_ptr<const KeyNames>> key_names(std::uint32_t family) const;
  Result<NodeAttributes> key_attributes(Node node) const;
  Result<Slice> read_key(Node node, std::uint64_t offset, std::uint64_t length) const;
  Result<std::shared_ptr<const DamageFiles>> damage_files() const;
  Result<DamagedRegion> region(Position begin) const;
  Result<Text> text(StaticNode node) const;
  Result<Text> make_text(StaticNode node) const;
  Result<std::shared_ptr<const AttributeFiles>> attribute_files() const;
  Result<Slice> read_static(StaticNode node, std::uint64_t offset, std::uint64_t length) const;
  Result<std::string> extended_of_record(std::string_view name, const RecordRef& record) const;
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
  const std::uint64_t snapshot_ = next_snapshot_.fetch_add(1);  // cache key of what differs between snapshots
  mutable std::mutex mutex_;                                    // guards the following, each made on first use
  mutable Text info_, summary_, damage_;
  mutable std::shared_ptr<const AttributeFiles> attribute_files_;
  mutable std::shared_ptr<const DamageFiles> damage_files_;
  mutable std::map<std::uint32_t, std::shared_ptr<const KeyNames>> key_names_;  // by family
};

}  // namespace recordfs
