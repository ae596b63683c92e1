// RecordStore: one open container with its catalog, its share of the caches, and read-ahead. All that
// the mount and the command line see of a file.
//
// All functions may be called from any thread. A function with a WaitTicket can answer kPending: what is asked
// for lies behind the catalog. Then `ticket` says what to wait for (Catalog::wait), and the same call is
// made again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/store/catalog.h"
#include "core/store/decode_budget.h"
#include "core/store/executor.h"
#include "core/store/indexed_chunk.h"
#include "core/store/key_index.h"
#include "core/store/log.h"
#include "core/store/read_ahead.h"
#include "core/store/saved_index.h"
#include "core/store/scanner.h"
#include "core/store/shared_cache.h"

namespace recordfs {

struct DecodeBudgets {
  DecodeBudgets(std::uint64_t bytes, std::function<void()> on_slow) : small(bytes), slow(bytes, std::move(on_slow)) {}

  DecodeBudget small;  // of chunks that are large and not slow: what is slow must not hold them up
  DecodeBudget slow;   // of the others; a cached value that passes the cache's capacity makes room
};

// What the containers of one process share.
struct Services {
  explicit Services(std::uint64_t cache_bytes, unsigned threads, Log log_lines)
      : chunks(cache_bytes - cache_bytes / 8), layouts(cache_bytes / 8), executor(threads), log(std::move(log_lines)) {}

  // The budgets of what is read from a filesystem, as Source::filesystem() has it. Where one hangs, the chunk that is
  // read there keeps its share, and no other filesystem waits for it. Any thread.
  DecodeBudgets& budgets_of(std::uint64_t filesystem);

  SharedCache<Chunk> chunks;
  SharedCache<Layout> layouts;
  std::mutex budgets_mutex;  // guards the next
  std::map<std::uint64_t, DecodeBudgets> budgets;
  Executor executor;  // behind the caches: its tasks use them
  Log log;
  std::optional<IndexLocation> index;           // where catalogs are saved; nowhere without it
  KeyIndex::Bounds keys;                        // of each container
  std::atomic<std::uint64_t> decoded_bytes{0};  // so far; of a chunk that is decoded by parts, all of it
  bool reads_whole_files = false;               // a scan reads the bytes between headers too, in large pieces
  unsigned address_bits = 58;  // of a record's address; fewer where several containers share one space of numbers
};

// A record's address: its chunk and its place in it. Unlike the ordinal it does not depend on damage elsewhere.
struct RecordRef {
  ChunkInfo chunk;
  std::uint64_t index = 0;
};

// "bytes 10 to 20: damage: checksum mismatch; 3 records lost".
std::string damage_line(const DamagedRegion& region);

// How the records of a stream follow each other.
enum class Stream : std::uint8_t {
  kConcat,  // one directly behind the other
  kLines,   // a newline behind each
};

class RecordStore;

// How a store sees its file.
struct FollowOptions {
  // The file is being written: what is unfinished at its end is neither shown nor damage, and addresses have room for
  // what will be added.
  bool is_followed = false;
  // The store of the same file when it was shorter: the new one has the same addresses, and takes over what the other
  // has found and said in the log. It need not outlive the constructor.
  const RecordStore* shorter = nullptr;
};

class RecordStore {
 public:
  // `name` is the file's name as log lines and errors show it. `services` has to outlive the store.
  RecordStore(std::string name, std::shared_ptr<const Source> source, std::unique_ptr<const Container> container,
              Services& services, Catalog::Bounds bounds = {}, FollowOptions follow = {});
  ~RecordStore();

  const std::string& name() const { return name_; }
  const Container& container() const { return *container_; }
  const Source& source() const { return *source_; }

  // The first chunk that holds records, or nullopt where the first steps of the scan show none. Reads a few
  // headers, never the whole file.
  Result<std::optional<ChunkInfo>> first_record_chunk() const;

  // The chunk that begins at `begin`, or that covers byte `at`. kNotFound, kPending.
  Result<ChunkInfo> chunk_at(Position begin, WaitTicket& ticket) const;
  Result<ChunkInfo> chunk_covering(Position at, WaitTicket& ticket) const;
  // The chunk of a number in the order of the scan; the chunk that holds an ordinal. kNotFound, kPending.
  Result<IndexedChunk> chunk_by_number(std::uint64_t number, WaitTicket& ticket) const;
  Result<IndexedChunk> chunk_by_ordinal(std::uint64_t ordinal, WaitTicket& ticket) const;
  // Where a chunk of this container stands in the order of the scan. kPending. Where that is not the file's order, it
  // takes as long as to look at every chunk before it.
  Result<IndexedChunk> place_of(const ChunkInfo& chunk, WaitTicket& ticket) const;

  // A number for a record that no other record of the container has, below address_limit(), growing along the
  // file; and the record that has it. kLimit: the index is too large for a container of this size. kNotFound
  // where the number lies in no chunk (the index itself is not checked), kPending.
  Result<std::uint64_t> address(const ChunkInfo& chunk, std::uint64_t index) const;
  Result<RecordRef> record_at(std::uint64_t address, WaitTicket& ticket) const;
  std::uint64_t address_limit() const {
    return is_followed_ ? std::uint64_t{1} << services_.address_bits : source_->size() << index_bits_;
  }
  // Whether addresses of a file of that size have so many bits as those of this one. REQUIRES: the file is followed.
  bool has_room_for(std::uint64_t size) const { return size <= address_limit() >> index_bits_; }

  // How many records the catalog has found so far, and whether that is all of them.
  Catalog::ScanState state() const { return catalog_.state(); }
  // Whether a scan of the file is under way.
  bool is_scanning() const;
  // kPending until the scans that FollowOptions::shorter had been through are over here too.
  Result<void> catch_up(WaitTicket& ticket) const;
  // The sums over the whole container, with every decoded size known. kPending.
  Result<PrefixSums> size_totals(WaitTicket& ticket) const;
  // The number of chunks and records over the whole container; cheaper than size_totals(). kPending.
  Result<PrefixSums> record_totals(WaitTicket& ticket) const;
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage(WaitTicket& ticket) const;

  // The number of records in a chunk. Costs a decode only where the format says nothing of it.
  Result<std::uint64_t> records_in(const ChunkInfo& chunk) const;
  // Where the records of a chunk stand. Fails as Container::layout does, with a log line.
  Result<std::shared_ptr<const Layout>> layout(const ChunkInfo& info) const;
  // The chunk itself, from the cache or decoded now. Fails as Container::decode does, with a log line.
  Result<std::shared_ptr<const Chunk>> chunk(const ChunkInfo& info) const;

  // The size of a record in bytes: exact where it can be read, otherwise the declared size or 1, and then a
  // read of it fails. Fails only for passing reasons (kIo, kChanged, kOutOfMemory), and with kNotFound.
  Result<std::uint64_t> record_size(const RecordRef& record) const;
  // Up to `length` bytes of a record from `offset`: fewer only at its end. Fails as decode does.
  Result<Slice> read_record(const RecordRef& record, std::uint64_t offset, std::uint64_t length) const;

  // A scan over the container, from its beginning or from a chunk on, that takes its turns with the other threads. One
  // thread at a time; the store has to outlive it.
  Scanner scanner(ScanDetail detail, const std::optional<IndexedChunk>& from = {}) const;

  // The chunk, decoded now and kept by nobody else: for who sees each chunk once. One that is too large to hold reads
  // and decodes what it is asked for. Fails as chunk() does.
  Result<std::shared_ptr<const Chunk>> decode_uncached(const ChunkInfo& info) const;
  // The same without a log line, for who works ahead of what is wanted and calls report() when it comes to it.
  Result<std::shared_ptr<const Chunk>> decode_ahead(const ChunkInfo& info) const;
  // Up to `length` bytes of a record of a decoded chunk, as read_record() gives them. REQUIRES: the chunk has it.
  Result<Slice> read_record(const Chunk& chunk, std::uint64_t index, std::uint64_t offset, std::uint64_t length) const;
  // Exactly `length` bytes of a decoded chunk's payload, without a log line. Fails as Chunk::read does.
  Result<Slice> read_payload(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const;

  // Hands out the records behind one, in the container's order, without those that can't be read, until `take` has
  // had enough. Ends where a chunk can't be decoded now or is too large to hold.
  void for_each_following(const RecordRef& record, const std::function<bool(const RecordRef&, Bytes)>& take) const;

  // The parts of a record, told anew at each call. Fails as read_record() and Container::parts do, with a log line.
  // REQUIRES: container().has_parts().
  Result<Parts> parts(const RecordRef& record) const;

  // The last values of keys; null where the container has none.
  KeyIndex* keys() const { return keys_.get(); }
  // Up to `length` bytes of a key's value: fewer only at its end. Where the container does not tell it, kUnsupported;
  // fails like read_record(), and with kChanged where the record is not what it was. kPending.
  Result<Slice> read_value(const FoundKey& key, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  // The payload of a chunk, as record_size() and read_record() do it.
  Result<std::uint64_t> payload_size(const ChunkInfo& info) const;
  Result<Slice> read_payload(const ChunkInfo& info, std::uint64_t offset, std::uint64_t length) const;

  // The size of a stream in bytes. kPending until the whole file was scanned.
  Result<std::uint64_t> stream_size(Stream stream, WaitTicket& ticket) const;
  // Up to `length` bytes of a stream: fewer only at its end. Where a record in the range can't be read, all of
  // the read fails.
  Result<Slice> read_stream(Stream stream, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  // Up to `length` bytes of the stream that Container::whole_stream() offers: fewer only at its end. A record of
  // another size than the stream needs fails the read, as one that is not there does. REQUIRES: there is such a stream.
  // kPending.
  Result<Slice> read_whole_stream(std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  // The rows of index/chunks.tsv, header line included, as one text of a known size that is never in memory as a whole.
  Result<std::uint64_t> rows_size(WaitTicket& ticket) const;
  Result<Slice> read_rows(std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  // Bytes of the file within [begin, end), from `begin + offset` on.
  Result<Slice> read_raw(Position begin, Position end, std::uint64_t offset, std::uint64_t length) const;
  // The file's bytes of a chunk, as read_raw(). Once the file was seen to have been touched, also fails with kChanged
  // where the chunk does not pass its checksums.
  Result<Slice> read_raw(const ChunkInfo& chunk, std::uint64_t offset, std::uint64_t length) const;

  // The container's metadata, for all times. kPending where it changes along the file.
  Result<std::shared_ptr<const std::vector<Attribute>>> attributes(WaitTicket& ticket) const;

  // What is saved of a scan of that detail through this container, for the next time; null where nothing is to be.
  std::unique_ptr<SavedIndex> saved(ScanDetail detail) const;

  // Says a failure in the log, once for a place in the file, or for each of several `things` there: one that lies in
  // the bytes, and one that may pass.
  void report(const Error& error, std::uint64_t thing = 0) const;
  // The same for a region that a scan found unsound, in the words of damage_line().
  void report(const DamagedRegion& region) const;

 private:
  struct Reported {
    Position position = 0;
    std::uint64_t thing = 0;
    bool is_permanent = true;  // of two failures there that differ in this, one says nothing of the other
    auto operator<=>(const Reported&) const = default;  // NOLINT(readability-implicit-bool-conversion): of bools
  };

  int index_bits(const FollowOptions& follow) const;
  std::set<Reported> reported() const;
  void report(Severity severity, Reported what, const std::string& text) const;

  // Passes an outcome on; a failure that is no plain "not there" or "not yet" goes to the log.
  template <class T>
  Result<T> reported(Result<T> outcome) const {
    if (!outcome && outcome.error().code != Code::kPending && outcome.error().code != Code::kNotFound) {
      report(outcome.error());
    }
    return outcome;
  }
  CacheKey cache_key(const ChunkInfo& chunk) const { return {id_, chunk.begin}; }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const;
  Result<std::shared_ptr<const Chunk>> decode_in_turn(const ChunkInfo& chunk) const;
  Result<std::shared_ptr<const Chunk>> cached(const ChunkInfo& info) const;
  Result<Layout> layout_in_turn(const ChunkInfo& chunk) const;
  MakeLayout layouts_in_turn() const;
  Result<std::shared_ptr<const Layout>> layout_of_decoded(const ChunkInfo& info) const;
  bool wants_parts(const ChunkInfo& chunk) const;
  Result<Slice> read_bytes(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const;
  std::unique_ptr<ReadAhead> new_read_ahead() const;
  std::optional<ChunkInfo> next_with_records(const ChunkInfo& chunk) const;
  Catalog& sizes() const;
  void invalidate() const;
  std::unique_ptr<Catalog> new_sizes(std::optional<CatalogSnapshot> shorter) const;
  std::optional<CatalogSnapshot> found_sizes() const;
  Catalog* sizes_if_made() const;
  Catalog::OnScanned scan_logger(std::string_view of_what) const;
  void log_growth() const;
  Result<void> check_readable(const Layout& layout, std::uint64_t index) const;
  Result<Slice> read_lines(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const;
  Result<Slice> part_of_whole(const WholeStream& stream, std::uint64_t offset, std::uint64_t length,
                              WaitTicket& ticket) const;
  Result<Slice> part_of_stream(Stream stream, const IndexedChunk& indexed, std::uint64_t offset,
                               std::uint64_t length) const;

  static inline std::atomic<std::uint64_t> next_id_{1};

  const std::uint64_t id_ = next_id_.fetch_add(1);
  const bool is_followed_;
  const std::string name_;
  const std::shared_ptr<const Source> source_;
  const std::unique_ptr<const Container> container_;
  Services& services_;
  DecodeBudgets& budgets_;
  const Catalog::Bounds bounds_;
  const int index_bits_;  // of an address; 0 where begin + index does
  mutable std::atomic<bool> logged_growth_{false};

  mutable std::mutex mutex_;                       // guards what follows up to the catalog
  mutable std::map<Position, ChunkInfo> located_;  // found through the seek structure
  mutable std::set<Reported> reported_;            // chunks that the log has named
  mutable std::shared_ptr<const std::vector<Attribute>> attributes_;
  mutable std::unique_ptr<Catalog> sizes_;  // made when the first catalog does not know them
  bool knows_counts_ = false;               // of the file when it was shorter
  bool knows_sizes_ = false;

  std::unique_ptr<ReadAhead> read_ahead_;
  mutable Catalog catalog_;               // behind all that its thread uses, which ends before it
  const std::unique_ptr<KeyIndex> keys_;  // the same; null without keys
};

}  // namespace recordfs
