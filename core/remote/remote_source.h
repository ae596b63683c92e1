// The bytes of a remote object, as they were when it was opened.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/source.h"
#include "core/base/storage.h"
#include "core/remote/block_cache.h"
#include "core/remote/fetcher.h"
#include "core/remote/read_ahead.h"
#include "core/remote/session.h"
#include "core/remote/sparse_reads.h"

namespace recordfs::remote {

// The filesystem of all remote sources. Greater than any device's.
inline constexpr std::uint64_t kFilesystem = (std::uint64_t{1} << 63) | 0x72656D6F7465;

// Reads blocks, which all sources of the process keep in one cache. Requests each block once, however many threads
// need it. Of headers that lie far apart, requests only the bytes near them. Once a reply shows that the object has
// changed, all reads fail with kChanged.
class RemoteSource final : public Source, public std::enable_shared_from_this<RemoteSource> {
 public:
  // Opens the object with this text (Location::text()), and reads its first blocks, or those of `reads`, which are read
  // next; [0, UINT64_MAX) is a pass from front to end. The first reply tells the state of the object. `name` is
  // Source::name(). Fails like Storage::open().
  static Result<std::shared_ptr<const RemoteSource>> open(const RequestContext& context, Session& session,
                                                          std::string text, std::string name,
                                                          const std::vector<ByteRange>& reads = {});
  ~RemoteSource() override;
  RemoteSource(const RemoteSource&) = delete;
  RemoteSource& operator=(const RemoteSource&) = delete;

  std::string_view name() const override { return name_; }
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override;
  Result<std::size_t> read_next(const RequestContext& context, Position at, MutableBytes out) const override;
  std::uint64_t filesystem() const override { return kFilesystem; }
  Result<Slice> view_at(const RequestContext& context, Position at, std::uint64_t size) const override;
  void expect_sequential_reads() const override;
  void will_need(Position begin, Position end) const override;
  bool is_remote() const override { return true; }
  std::uint64_t requested_bytes() const override;
  Result<std::shared_ptr<const Source>> beside(const RequestContext& context, std::string_view suffix) const override;
  std::optional<SourceId> id() const override { return id_of(text_, version_, is_settled_); }
  std::optional<timespec> modified() const override;
  Result<void> check_unchanged(const RequestContext& context) const override;
  std::uint64_t kept_bytes(Position begin, Position end) const override;

  // Returns the id of an object with this version; nullopt without a version.
  static std::optional<SourceId> id_of(const std::string& text, const std::string& version, bool is_settled);
  // Returns SourceId::source of an object: the text without spaces and control characters, which an id does not have.
  static std::string id_text_of(const std::string& text);

 private:
  // The object as one fetcher knows it.
  struct Handle {
    std::shared_ptr<Fetcher> fetcher;
    std::uint64_t object = 0;
  };
  struct Grid;
  // Consecutive blocks that one request reads.
  struct Part {
    Grid* grid = nullptr;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    bool is_read_ahead = false;
    bool may_stay = false;  // in the arena
    std::atomic<int> waiters{0};

    std::mutex mutex{};  // guards the following
    std::condition_variable changed{};
    bool is_sent = false;  // or has failed
    std::shared_ptr<Fetcher> fetcher{};
    Fetcher::CallPtr call{};
    std::optional<Error> failure{};
    std::vector<BlockPtr> blocks{};  // empty: no reply yet, or `in_arena` has the bytes
    Slice in_arena{};
  };
  using PartPtr = std::shared_ptr<Part>;
  // How the object is divided: the blocks, and the pieces of sparse reads.
  struct Grid {
    const std::uint64_t unit;                  // bytes of a block
    const std::uint64_t number;                // in the cache
    std::map<std::uint64_t, PartPtr> parts{};  // by each of their blocks, without a reply yet or with bytes in the
                                               // arena; guarded by mutex_
  };

  RemoteSource(Session& session, std::string text, std::string name, const Reply& reply, Handle handle, bool is_far);

  std::uint64_t block_count() const { return (size_ + kBlock - 1) / kBlock; }
  std::uint64_t number_of(std::string_view grid) const;
  static constexpr std::uint64_t kPiece = 4u << 10;
  struct FirstRequest;
  using FirstRequestPtr = std::shared_ptr<FirstRequest>;
  // Sends a request to open the object that reads these bytes.
  static Result<FirstRequestPtr> send_first(const RequestContext& context, const std::shared_ptr<Fetcher>& fetcher,
                                            const std::string& text, ByteRange range);
  // Waits for its reply. Fails as the request did.
  static Result<Reply> reply_of(const RequestContext& context, FirstRequest& request);
  static std::vector<ByteRange> first_ranges(const std::vector<ByteRange>& reads, bool uses_disk);
  // Adds whole blocks from `begin` on to those in memory.
  Result<void> keep_blocks(const RequestContext& context, Position begin, Bytes bytes) const;
  static void note_requested(std::uint64_t bytes);  // by this thread
  static Error changed();
  static Error wrong_bytes();

  // What a read needs: blocks in memory, and parts that have the others.
  struct Needed {
    std::uint64_t first = 0;
    std::vector<BlockPtr> blocks;  // null: in a part
    std::vector<PartPtr> parts;
  };

  // Returns the blocks with the bytes [at, end). REQUIRES: they are in the object.
  Result<std::vector<BlockPtr>> blocks(const RequestContext& context, Grid& grid, Position at, Position end) const;
  Result<std::vector<BlockPtr>> try_blocks(const RequestContext& context, Grid& grid, Position at, Position end) const;
  // Returns the bytes [at, end) if they are few, and far from what was read before; an empty slice otherwise. Fails
  // like read_at().
  Result<Slice> sparse_bytes(const RequestContext& context, Position at, Position end) const;
  bool is_sparse(Position at, Position end) const;
  bool are_known(const Grid& grid, Position at, Position end) const;  // REQUIRES: mutex_ is held
  bool is_known(const Grid& grid, Position at) const;
  // The largest sizes of new parts, in blocks.
  struct PartSizes {
    std::uint64_t first = 0;
    std::uint64_t growth = 0;  // from one to the next
    std::uint64_t largest = first;
  };
  // Returns `count` blocks from `first` on, and the new parts for those that are neither in memory nor requested.
  Needed needed(Grid& grid, std::uint64_t first, std::uint64_t count, PartSizes sizes, bool is_read_ahead,
                std::vector<PartPtr>& added) const;
  // Sends the request of a new part. If it fails, so does the part. Returns false if the arena is full and `when_full`
  // says so.
  bool send(const RequestContext& context, const Handle& handle, const PartPtr& part,
            Fetcher::WhenFull when_full) const;
  void take(const PartPtr& part, const Result<Reply>& reply, const Slice& bytes) const;
  // Returns copies of the bytes of a part, which become blocks in memory. Throws std::bad_alloc.
  Result<std::vector<BlockPtr>> to_blocks(const Part& part, Bytes bytes) const;
  void drop(const PartPtr& part) const;
  // Fails a part whose request is not sent.
  void leave_out(const PartPtr& part, Error why) const;
  // Fails those of the parts that are neither sent nor failed when it ends, because there was no memory to go on.
  // Otherwise readers would wait for them indefinitely.
  class UnsentParts {
   public:
    UnsentParts(const RemoteSource& source, const std::vector<PartPtr>& parts) : source_(source), parts_(parts) {}
    ~UnsentParts();
    UnsentParts(const UnsentParts&) = delete;
    UnsentParts& operator=(const UnsentParts&) = delete;

   private:
    const RemoteSource& source_;
    const std::vector<PartPtr>& parts_;
  };
  static Result<void> wait(const RequestContext& context, Part& part);
  // Returns the handle of the present fetcher, which opens the object again if it is another one.
  Result<Handle> handle(const RequestContext& context) const;
  Handle present_handle() const;
  void read_ahead(Position at, Position end) const;
  // Requests as many of the bytes from `begin` on as may be in flight, since a reader goes on to the end.
  void begin_pass(Position begin) const;
  // Copies the bytes from `at` on that a part read ahead has, or will have. Returns their number; 0: there is none.
  Result<std::size_t> read_part(const RequestContext& context, Position at, MutableBytes out) const;
  // Replaces the bytes of a part that are in the arena by blocks in memory.
  Result<void> leave_arena(const PartPtr& part) const;
  // Returns the first position after `at` that a part read ahead has.
  Position next_part(Position at) const;
  // Sends the requests of new parts while the arena has room. Returns how many were sent; the other parts fail.
  std::size_t send_ahead(const Handle& handle, const std::vector<PartPtr>& parts) const;

  Session& session_;
  const std::string text_;
  const std::string name_;
  const std::uint64_t size_;
  const std::string version_;
  const bool is_settled_;
  const std::int64_t modified_;
  mutable std::atomic<bool> is_changed_{false};

  mutable std::mutex mutex_;  // guards the following
  mutable Handle handle_;
  mutable Grid blocks_;
  mutable Grid pieces_;
  mutable PartPtr last_copied_;  // stays in the arena for readers that go back a little
  mutable ReadAhead ahead_;
  mutable SparseReads sparse_;
  mutable std::atomic<bool> has_pieces_{false};  // of pieces_, in memory or requested
};

}  // namespace recordfs::remote
