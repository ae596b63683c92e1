// One open container, with its catalog, its part of the caches, and read-ahead.
//
// All functions may be called from any thread. One that returns a Result works on the calling thread: it may read and
// decode as far as the RequestContext permits. It may block until another thread has made the same value, or until
// DecodeBudget has room. It fails with kPending if a permission is missing, and with kInterrupted if the request was
// cancelled (EINTR in the mount).
//
// "kPending" in a comment below means: the scan has not reached the answer. Then the caller waits for Error::wait, and
// repeats the call.
//
// Callers share ownership of chunks, layouts and slices. These stay valid when the cache drops them. Services bounds
// the caches of chunks and layouts; Catalog::Bounds and KeyIndex::Bounds bound what a container keeps besides.
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

  DecodeBudget small;  // for large chunks whose decoding is not slow, so that slow ones do not delay them
  DecodeBudget slow;   // for all others; a new share drops cached values that exceed the cache's capacity
};

// Shared by all containers of a process. Bounds the caches: `cache_bytes` are split 7:1 between chunks and layouts.
struct Services {
  explicit Services(std::uint64_t cache_bytes, unsigned threads, Log log_lines)
      : chunks(cache_bytes - cache_bytes / 8), layouts(cache_bytes / 8), executor(threads), log(std::move(log_lines)) {}

  // Returns the budgets for a filesystem, as in Source::filesystem(). Each budget is as large as both caches together.
  // If one filesystem hangs, its shares do not delay the others. Any thread.
  DecodeBudgets& budgets_of(std::uint64_t filesystem);

  SharedCache<Chunk> chunks;
  SharedCache<Layout> layouts;
  std::mutex budgets_mutex;  // guards the next
  std::map<std::uint64_t, DecodeBudgets> budgets;
  Executor executor;  // declared after the caches, which its tasks use
  Log log;
  std::optional<IndexLocation> index;           // where to save indexes; nullopt: nowhere
  KeyIndex::Bounds keys;                        // of each container
  std::atomic<std::uint64_t> decoded_bytes{0};  // of all decoded chunks; of a chunk read on demand, its full size
  bool reads_whole_files = false;               // scans read the bytes between headers too, in large pieces
  unsigned address_bits = 58;                   // of a record's address; fewer if containers share one number space
};

// The place of a record. Unlike an ordinal, it does not depend on damage elsewhere.
struct RecordRef {
  ChunkInfo chunk;
  std::uint64_t index = 0;
};

// Returns "bytes 10 to 20: damage: checksum mismatch; 3 records lost".
std::string damage_line(const DamagedRegion& region);

// How the records of a stream are joined.
enum class Stream : std::uint8_t {
  kConcat,  // directly
  kLines,   // with a newline after each
};

class RecordStore;

// How a store treats its file.
struct FollowOptions {
  // The file is still being written: its unfinished end is neither shown nor reported as damage, and addresses leave
  // room for growth.
  bool is_followed = false;
  // The store of the same file when it was shorter. The new one uses the same addresses, and takes over its results and
  // what it has logged. Need not outlive the constructor.
  const RecordStore* shorter = nullptr;
};

class RecordStore {
 public:
  // `name` is the file's name in log lines and errors. `services` must outlive the store.
  RecordStore(std::string name, std::shared_ptr<const Source> source, std::unique_ptr<const Container> container,
              Services& services, Catalog::Bounds bounds = {}, FollowOptions follow = {});
  ~RecordStore();

  const std::string& name() const { return name_; }
  const Source& source() const { return *source_; }

  // As in Container.
  const ContainerTraits& traits() const { return container_->traits(); }
  const RecordSchema& schema() const { return container_->schema(); }
  const Metadata* metadata() const { return container_->metadata(); }
  const DenseArray* array() const { return container_->array(); }
  const TrailerReader* trailer() const { return container_->trailer(); }
  Result<Verification> verify(const ChunkInfo& chunk) const { return container_->verify(chunk); }

  // Returns the first chunk with records; nullopt if the first few steps of the scan find none. Never reads the whole
  // file.
  Result<std::optional<ChunkInfo>> first_record_chunk() const;

  // Return the chunk that begins at `begin`, and the chunk that covers byte `at`. kNotFound, kPending.
  Result<ChunkInfo> chunk_at(Position begin) const;
  Result<ChunkInfo> chunk_covering(Position at) const;
  // Return the chunk with this number in scan order, and the chunk that holds this ordinal. kNotFound, kPending.
  Result<IndexedChunk> chunk_by_number(std::uint64_t number) const;
  Result<IndexedChunk> chunk_by_ordinal(std::uint64_t ordinal) const;
  // Returns a chunk's place in scan order. If that is not file order, searches all chunks before it. kPending.
  Result<IndexedChunk> place_of(const ChunkInfo& chunk) const;

  // Return a number that is unique to a record, below address_limit(), and ascending along the file; and the record
  // with that number. address() fails with kLimit if the index is too large for a container of this size. record_at()
  // fails with kNotFound if no chunk covers the address (it does not check the index), and kPending.
  Result<std::uint64_t> address(const ChunkInfo& chunk, std::uint64_t index) const;
  Result<RecordRef> record_at(std::uint64_t address) const;
  std::uint64_t address_limit() const {
    return is_followed_ ? std::uint64_t{1} << services_.address_bits : source_->size() << index_bits_;
  }
  // Returns whether a file of `size` bytes can keep the addresses of this one. REQUIRES: the file is followed.
  bool has_room_for(std::uint64_t size) const { return size <= address_limit() >> index_bits_; }

  // Returns what the scan has counted so far.
  Catalog::ScanState state() const { return catalog_.state(); }
  // Returns whether a scan is running.
  bool is_scanning() const;
  // Succeeds once the scans that were complete in FollowOptions::shorter are complete here. kPending until then.
  Result<void> catch_up() const;
  // Returns the sums over the whole container, including all decoded sizes. kPending.
  Result<PrefixSums> size_totals() const;
  // Like size_totals(), but without decoded sizes, and cheaper. kPending.
  Result<PrefixSums> record_totals() const;
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage() const;

  // Returns the number of records in a chunk. Makes its layout only if the header does not tell.
  Result<std::uint64_t> records_in(const ChunkInfo& chunk) const;
  // Returns the positions of a chunk's records, from a cache if possible. Fails like Container::layout(), and with
  // kChanged if the chunk no longer matches `info`. Logs failures.
  Result<std::shared_ptr<const Layout>> layout(const ChunkInfo& info) const;
  // Returns the chunk, from the cache or decoded now on the calling thread. Concurrent calls share one decoding. Fails
  // like Container::decode(), and with kChanged if the chunk no longer matches `info`. Logs failures.
  Result<std::shared_ptr<const Chunk>> chunk(const ChunkInfo& info) const;

  // Returns the size of a record in bytes: exact if it is readable, otherwise the declared size or 1. Fails only for
  // reasons that may pass (as kIo, kChanged, kOutOfMemory), and with kNotFound.
  Result<std::uint64_t> record_size(const RecordRef& record) const;
  // Returns up to `length` bytes of a record from `offset`, fewer only at its end. Fails like chunk(), and with
  // kNotFound.
  Result<Slice> read_record(const RecordRef& record, std::uint64_t offset, std::uint64_t length) const;

  // Returns a scan from the beginning or from a chunk on, which the caller runs on its own thread. It makes layouts
  // within the DecodeBudget. The store must outlive it.
  Scanner scanner(ScanDetail detail, const std::optional<IndexedChunk>& from = {}) const;

  // Decodes a chunk without caching it, for callers that read each chunk once. A chunk that is too large for memory is
  // read on demand, if its format supports that. Fails like chunk(). Logs failures.
  Result<std::shared_ptr<const Chunk>> decode_uncached(const ChunkInfo& info) const;
  // Like decode_uncached(), without logging. For callers that decode ahead, and call report() later.
  Result<std::shared_ptr<const Chunk>> decode_ahead(const ChunkInfo& info) const;
  // Returns up to `length` bytes of a record of a decoded chunk, like the other read_record(). REQUIRES: the chunk has
  // the record.
  Result<Slice> read_record(const Chunk& chunk, std::uint64_t index, std::uint64_t offset, std::uint64_t length) const;
  // Returns exactly `length` bytes of a decoded chunk's payload. Fails like Chunk::read(). Does not log.
  Result<Slice> read_payload(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const;

  // Passes the readable records after `record` to `take`, in the container's order, until it returns false. Stops at a
  // chunk that cannot be decoded now, or is too large for memory.
  void for_each_following(const RecordRef& record, const std::function<bool(const RecordRef&, Bytes)>& take) const;

  // Returns the parts of a record. Not cached. Fails like read_record() and RecordSchema::parts. Logs failures.
  // REQUIRES: schema().parts.
  Result<Parts> parts(const RecordRef& record) const;

  // Returns the last values of keys; null if the container has no keys.
  KeyIndex* keys() const { return keys_.get(); }
  // Returns up to `length` bytes of a key's value, fewer only at its end. Fails with kUnsupported if the container does
  // not contain the value, and with kDamage if two keys have its number. Fails with kChanged if the record has changed,
  // and like read_record(). kPending.
  Result<Slice> read_value(const FoundKey& key, std::uint64_t offset, std::uint64_t length) const;

  // Like record_size() and read_record(), for the payload of a chunk.
  Result<std::uint64_t> payload_size(const ChunkInfo& info) const;
  Result<Slice> read_payload(const ChunkInfo& info, std::uint64_t offset, std::uint64_t length) const;

  // Returns the size of a stream in bytes. kPending until the whole file was scanned for sizes.
  Result<std::uint64_t> stream_size(Stream stream) const;
  // Returns up to `length` bytes of a stream, fewer only at its end. Fails if any record in the range is unreadable.
  // kPending.
  Result<Slice> read_stream(Stream stream, std::uint64_t offset, std::uint64_t length) const;

  // Returns up to `length` bytes of array(), fewer only at its end. The slice must not outlive the
  // store. Fails with kDamage if a record is missing or has another size than the stream needs. REQUIRES: there is such
  // an array. kPending.
  Result<Slice> read_whole_stream(std::uint64_t offset, std::uint64_t length) const;

  // The text of index/chunks.tsv, header line included. Rows are generated on demand. kPending.
  Result<std::uint64_t> rows_size() const;
  Result<Slice> read_rows(std::uint64_t offset, std::uint64_t length) const;

  // Returns up to `length` bytes of the file within [begin, end), from `begin + offset` on. Logs failures.
  Result<Slice> read_raw(Position begin, Position end, std::uint64_t offset, std::uint64_t length) const;
  // Like read_raw(), for the bytes of a chunk. If the file was touched since it was opened, verifies the chunk, and
  // fails with kChanged if its checksums do not match.
  Result<Slice> read_raw(const ChunkInfo& chunk, std::uint64_t offset, std::uint64_t length) const;

  // Returns the container's metadata, and caches it. kPending if it changes along the file.
  Result<std::shared_ptr<const std::vector<Attribute>>> attributes() const;

  // Returns the saved index for scans of this detail; null if nothing is saved.
  std::unique_ptr<SavedIndex> saved(ScanDetail detail) const;

  // Logs a failure, at most once per place in the file; `thing` distinguishes several at one place. Permanent failures
  // and others count separately. Does not log kPending, kInterrupted, or refused work. After 1024 places, logs no more.
  void report(const Error& error, std::uint64_t thing = 0) const;
  // Logs a damaged region as damage_line(), likewise.
  void report(const DamagedRegion& region) const;

 private:
  struct Reported {
    Position position = 0;
    std::uint64_t thing = 0;
    bool is_permanent = true;                           // failures that may pass are logged separately
    auto operator<=>(const Reported&) const = default;  // NOLINT(readability-implicit-bool-conversion): of bools
  };

  int index_bits(const FollowOptions& follow) const;
  std::set<Reported> reported() const;
  void report(Severity severity, Reported what, const std::string& text) const;

  // Returns `outcome`, and logs its failure unless it is kPending or kNotFound.
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
  Result<Slice> part_of_whole(const DenseArray& stream, std::uint64_t offset, std::uint64_t length) const;
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
  const int index_bits_;  // of an address, for the index; 0 if begin + index is unique
  mutable std::atomic<bool> logged_growth_{false};

  mutable std::mutex mutex_;                       // guards the following up to the catalog
  mutable std::map<Position, ChunkInfo> located_;  // chunks found by the seek structure; at most kLocatedChunks
  mutable std::set<Reported> reported_;            // failures that were logged
  mutable std::shared_ptr<const std::vector<Attribute>> attributes_;
  mutable std::unique_ptr<Catalog> sizes_;  // created if catalog_ does not know all sizes
  bool knows_counts_ = false;               // FollowOptions::shorter did
  bool knows_sizes_ = false;

  std::unique_ptr<ReadAhead> read_ahead_;
  mutable Catalog catalog_;               // declared after everything that its thread uses
  const std::unique_ptr<KeyIndex> keys_;  // likewise; null without keys
};

}  // namespace recordfs
