#include "core/remote/remote_source.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/cancellable_mutex.h"
#include "core/base/thrown.h"
#include "core/remote/interruption.h"

namespace recordfs::remote {
namespace {

constexpr std::uint64_t kMostParts = kMostPerRead / kBlock;  // blocks of one request
constexpr std::uint64_t kMostCounted = 1024;                 // blocks that kept_bytes() looks for
constexpr int kMostAttempts = 100;

// Bytes that one read has at once besides its result.
constexpr std::uint64_t kLeastGroup = 2u << 20;
constexpr std::uint64_t kMostGroup = 32u << 20;

thread_local std::uint64_t requested_by_thread = 0;  // bytes

// Readers that wait for a part with this failure try again.
Error not_requested() { return {.code = Code::kInterrupted, .detail = "not requested"}; }

}  // namespace

void RemoteSource::note_requested(std::uint64_t bytes) { requested_by_thread += bytes; }

Error RemoteSource::changed() {
  return {.code = Code::kChanged, .detail = "the remote file was changed after it was opened"};
}

// --- requests

RemoteSource::Needed RemoteSource::needed(Grid& grid, std::uint64_t first, std::uint64_t count, PartSizes sizes,
                                          bool is_read_ahead, std::vector<PartPtr>& added) const {
  Needed all{.first = first, .blocks = std::vector<BlockPtr>(static_cast<std::size_t>(count)), .parts = {}};
  const std::lock_guard lock(mutex_);
  PartPtr open;  // ends before the next block
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& block = all.blocks[static_cast<std::size_t>(i)];
    const auto known = grid.parts.find(first + i);
    if (known == grid.parts.end()) block = session_.blocks().find(grid.number, first + i);
    if (block || known != grid.parts.end()) {
      open = nullptr;
      if (!block && (all.parts.empty() || all.parts.back() != known->second)) all.parts.push_back(known->second);
      continue;
    }
    if (open && open->count == sizes.first) {
      sizes.first = std::min(sizes.first + sizes.growth, sizes.largest);
      open = nullptr;
    }
    if (!open) {
      open = std::make_shared<Part>();
      open->grid = &grid;
      open->first = first + i;
      open->is_read_ahead = is_read_ahead;
      // What fits in the cache is worth keeping there.
      open->may_stay =
          &grid == &blocks_ && is_read_ahead && ahead_.expects_all() && size_ > session_.blocks().capacity();
      added.push_back(open);
      all.parts.push_back(open);
    }
    ++open->count;
    grid.parts.emplace(first + i, open);
  }
  return all;
}

void RemoteSource::drop(const PartPtr& part) const {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t i = 0; i < part->count; ++i) {
    auto& parts = part->grid->parts;
    const auto found = parts.find(part->first + i);
    if (found != parts.end() && found->second == part) parts.erase(found);
  }
}

void RemoteSource::leave_out(const PartPtr& part, Error why) const {
  drop(part);
  const std::lock_guard lock(part->mutex);
  part->failure = std::move(why);
  part->is_sent = true;
  part->changed.notify_all();
}

RemoteSource::UnsentParts::~UnsentParts() {
  for (const PartPtr& part : parts_) {
    const bool is_sent = [&part] {
      const std::lock_guard lock(part->mutex);
      return part->is_sent;
    }();
    if (!is_sent) source_.leave_out(part, {.code = Code::kOutOfMemory, .detail = {}});
  }
}

bool RemoteSource::send(const RequestContext& context, const Handle& handle, const PartPtr& part,
                        Fetcher::WhenFull when_full) const {
  const std::uint64_t unit = part->grid->unit;
  const Position begin = part->first * unit;
  const std::uint64_t size = std::min(size_, begin + part->count * unit) - begin;
  auto call = handle.fetcher->send(
      context, {.kind = RequestKind::kRead, .object = handle.object, .begin = begin, .size = size},
      [self = shared_from_this(), part](const Result<Reply>& reply, const Slice& bytes) {
        self->take(part, reply, bytes);
      },
      when_full);
  const bool is_sent = call && *call;
  if (is_sent) note_requested(size);
  if (!is_sent) drop(part);
  const std::lock_guard lock(part->mutex);
  if (!call) part->failure = call.error();
  if (call && !*call) part->failure = not_requested();
  if (is_sent) part->call = std::move(*call);
  part->fetcher = handle.fetcher;
  part->is_sent = true;
  part->changed.notify_all();
  return is_sent;
}

Result<std::vector<BlockPtr>> RemoteSource::to_blocks(const Part& part, Bytes bytes) const {
  std::vector<BlockPtr> blocks;
  blocks.reserve(static_cast<std::size_t>(part.count));
  const std::uint64_t unit = part.grid->unit;
  for (std::size_t at = 0; at < bytes.size(); at += unit) {
    ASSIGN_OR_RETURN(auto copied,
                     Buffer::copy_of({}, bytes.subspan(at, std::min<std::size_t>(unit, bytes.size() - at))));
    blocks.push_back(std::make_shared<const Buffer>(std::move(copied)));
    session_.blocks().add(part.grid->number, part.first + at / unit, blocks.back());
  }
  return blocks;
}

// The fetcher could change the bytes. So they are copied before anybody reads them: here, or to the memory of a reader
// that goes through the object. Must not throw.
void RemoteSource::take(const PartPtr& part, const Result<Reply>& reply, const Slice& bytes) const {
  std::optional<Error> failure;
  std::vector<BlockPtr> blocks;
  const std::uint64_t unit = part->grid->unit;
  const Position begin = part->first * unit;
  if (!reply) {
    failure = reply.error();
  } else if (reply->failure) {
    failure = error_of(*reply);
  } else if (bytes.bytes.size() != std::min(size_, begin + part->count * unit) - begin) {
    failure = wrong_bytes();
  } else if (part->may_stay && present_handle().fetcher->has_spare_room()) {
    const std::lock_guard lock(part->mutex);
    part->in_arena = bytes;
    return;
  } else {
    const auto copy = [&] {
      auto copied = to_blocks(*part, bytes.bytes);
      if (copied) {
        blocks = std::move(*copied);
      } else {
        failure = copied.error();
      }
    };
    if (!has_memory_for(copy)) failure = out_of_memory("remote block");
  }
  if (failure && failure->code == Code::kChanged) is_changed_.store(true, std::memory_order_relaxed);
  drop(part);
  const std::lock_guard lock(part->mutex);
  part->failure = std::move(failure);
  part->blocks = std::move(blocks);
}

Result<void> RemoteSource::wait(const RequestContext& context, Part& part) {
  std::unique_lock lock(part.mutex);
  if (!wait_or_cancel(context, part.changed, lock, [&part] { return part.is_sent; })) {
    return context.permit_wait_for(kFilesystem);
  }
  if (part.call) {
    const auto call = part.call;
    const auto fetcher = part.fetcher;
    ++part.waiters;
    lock.unlock();
    auto waited = fetcher->wait(context, *call);
    // The last reader that leaves takes the request with it.
    if (--part.waiters == 0 && !waited && !part.is_read_ahead) fetcher->cancel(*call);
    TRY(waited);
    lock.lock();
  }
  if (part.failure) return *part.failure;
  return {};
}

bool RemoteSource::is_known(const Grid& grid, Position at) const {
  const std::lock_guard lock(mutex_);
  return are_known(grid, at, at + 1);
}

Result<std::vector<BlockPtr>> RemoteSource::try_blocks(const RequestContext& context, Grid& grid, Position at,
                                                       Position end) const {
  if (is_changed_.load(std::memory_order_relaxed)) return changed();
  const std::uint64_t unit = grid.unit;
  const bool is_whole = &grid == &blocks_;
  // The last block, which is shorter, comes with the one before it, since formats read backwards from there.
  const bool is_last = is_whole && at / unit != 0 && at / unit == block_count() - 1 && size_ % unit != 0;
  const bool adds_one = is_last && !is_known(grid, at);
  const std::uint64_t first = at / unit - (adds_one ? 1 : 0);
  const std::uint64_t count = (end + unit - 1) / unit - first;
  std::vector<PartPtr> added;
  const UnsentParts unsent(*this, added);
  Needed all = needed(grid, first, count, {.first = kMostParts}, false, added);
  if (!all.parts.empty()) {
    auto permitted = context.permit_wait_for(kFilesystem);
    auto opened = permitted ? handle(context) : Result<Handle>(permitted.error());
    for (const PartPtr& part : added) {
      if (opened) {
        send(context, *opened, part, Fetcher::WhenFull::kWait);
        continue;
      }
      // Other readers may have more permission.
      const bool is_own = opened.error().code == Code::kPending || opened.error().code == Code::kInterrupted;
      leave_out(part, is_own ? not_requested() : opened.error());
    }
    if (!opened) return std::move(opened).error();
  }
  if (is_whole) read_ahead(at, end);
  for (const PartPtr& part : all.parts) {
    TRY(wait(context, *part));
    TRY(leave_arena(part));
    const std::lock_guard lock(part->mutex);
    for (std::uint64_t i = 0; i < part->blocks.size(); ++i) {
      const std::uint64_t block = part->first + i;
      if (block >= first && block - first < count) {
        all.blocks[static_cast<std::size_t>(block - first)] = part->blocks[static_cast<std::size_t>(i)];
      }
    }
  }
  if (is_changed_.load(std::memory_order_relaxed)) return changed();
  if (adds_one) all.blocks.erase(all.blocks.begin());
  return std::move(all.blocks);
}

Result<std::vector<BlockPtr>> RemoteSource::blocks(const RequestContext& context, Grid& grid, Position at,
                                                   Position end) const {
  bool has_failed = false;
  for (int attempt = 1;; ++attempt) {
    auto got = try_blocks(context, grid, at, end);
    if (got || attempt == kMostAttempts) return got;
    const Code code = got.error().code;
    // Another reader, whose request this was, has been interrupted.
    if (code == Code::kInterrupted && !Interruption::is_cancelled(context)) continue;
    const bool has_ended = code == Code::kIo && present_handle().fetcher->has_ended();
    if (!has_ended || std::exchange(has_failed, true)) return got;
  }
}

void RemoteSource::read_ahead(Position at, Position end) const {
  ReadAhead::Range range;
  const Handle handle = present_handle();
  const std::uint64_t room = handle.fetcher->spare_room();
  {
    const std::lock_guard lock(mutex_);
    range = ahead_.note(at, end, size_, room);
  }
  if (range.is_empty()) return;
  const std::uint64_t first = range.begin / kBlock;
  const std::uint64_t count = (range.end + kBlock - 1) / kBlock - first;
  std::vector<PartPtr> added;
  const UnsentParts unsent(*this, added);
  const PartSizes sizes{
      .first = range.part / kBlock, .growth = range.growth / kBlock, .largest = range.largest / kBlock};
  static_cast<void>(needed(blocks_, first, count, sizes, true, added));
  const std::size_t sent = send_ahead(handle, added);  // 0 if the fetcher has ended
  if (sent == added.size()) return;
  const std::lock_guard lock(mutex_);
  ahead_.was_cut(range, added[sent]->first * kBlock);
}

std::size_t RemoteSource::send_ahead(const Handle& handle, const std::vector<PartPtr>& parts) const {
  std::size_t sent = 0;
  bool goes_on = true;
  for (const PartPtr& part : parts) {
    if (goes_on) {
      goes_on = send({}, handle, part, Fetcher::WhenFull::kGiveUp);
      if (goes_on) ++sent;
      continue;
    }
    leave_out(part, not_requested());
  }
  return sent;
}

// --- reading

Result<std::size_t> RemoteSource::read_at(const RequestContext& context, Position at, MutableBytes out) const {
  const std::uint64_t end = at >= size_ ? at : at + std::min<std::uint64_t>(out.size(), size_ - at);
  ASSIGN_OR_RETURN(const auto few, sparse_bytes(context, at, end));
  if (!few.bytes.empty()) {
    copy_bytes(few.bytes, out);
    return few.bytes.size();
  }
  const std::uint64_t group = std::clamp(session_.blocks().capacity() / 4, kLeastGroup, kMostGroup);
  Position done = at;
  while (done < end) {
    const Position until = std::min(end, done / kBlock * kBlock + group);
    ASSIGN_OR_RETURN(const auto found, blocks(context, blocks_, done, until));
    for (const BlockPtr& block : found) {
      const Bytes bytes = block->view().subspan(static_cast<std::size_t>(done % kBlock));
      const std::size_t size = std::min(bytes.size(), static_cast<std::size_t>(until - done));
      std::memcpy(out.data() + (done - at), bytes.data(), size);
      done += size;
    }
  }
  return static_cast<std::size_t>(end - at);
}

Result<Slice> RemoteSource::view_at(const RequestContext& context, Position at, std::uint64_t size) const {
  const std::uint64_t there = at < size_ ? std::min(size, size_ - at) : 0;
  if (there == 0 || at % kBlock + there > kBlock) return Source::view_at(context, at, size);
  ASSIGN_OR_RETURN(auto few, sparse_bytes(context, at, at + there));
  if (!few.bytes.empty()) return few;
  ASSIGN_OR_RETURN(auto found, blocks(context, blocks_, at, at + there));
  const Bytes bytes =
      found.front()->view().subspan(static_cast<std::size_t>(at % kBlock), static_cast<std::size_t>(there));
  return Slice{.bytes = bytes, .owner = std::move(found.front())};
}

void RemoteSource::expect_sequential_reads() const {
  const std::lock_guard lock(mutex_);
  ahead_.expect_all();
}

Result<std::shared_ptr<const Source>> RemoteSource::beside(const RequestContext& context,
                                                           std::string_view suffix) const {
  std::string text = Session::text_beside(text_, suffix);
  if (text.empty()) return std::shared_ptr<const Source>();
  auto opened = open(context, session_, std::move(text), name_ + std::string(suffix));
  // A server that does not list a bucket forbids what is not there.
  const bool is_missing = !opened && opened.error().code == Code::kIo &&
                          (opened.error().os_error == ENOENT || opened.error().os_error == EACCES);
  if (is_missing) return std::shared_ptr<const Source>();
  if (!opened) return std::move(opened).error();
  return std::shared_ptr<const Source>(std::move(*opened));
}

std::uint64_t RemoteSource::requested_bytes() const { return requested_by_thread; }

std::optional<timespec> RemoteSource::modified() const {
  if (modified_ == 0) return std::nullopt;
  return timespec{.tv_sec = modified_, .tv_nsec = 0};
}

Result<void> RemoteSource::check_unchanged(const RequestContext&) const {
  if (is_changed_.load(std::memory_order_relaxed)) return changed();
  return {};
}

std::uint64_t RemoteSource::kept_bytes(Position begin, Position end) const {
  end = std::min(end, size_);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < kMostCounted && begin < end; ++i) {
    const Position next = std::min(end, (begin / kBlock + 1) * kBlock);
    if (session_.blocks().find(blocks_.number, begin / kBlock)) kept += next - begin;
    begin = next;
  }
  return kept;
}

}  // namespace recordfs::remote
