// RemoteSource: opening.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/remote/remote_source.h"

namespace recordfs::remote {
namespace {

constexpr std::uint64_t kLargestObject = std::uint64_t{1} << 62;
// Bytes that opening reads: those that recognize a format, and the first chunk of most files.
constexpr std::uint64_t kHead = 2 * kBlock;
constexpr std::size_t kMostAtOnce = 4;         // requests of one opening
constexpr std::chrono::milliseconds kFar{10};  // that an opening takes

}  // namespace

Error RemoteSource::wrong_bytes() {
  return {.code = Code::kIo, .detail = "recordfs-fetch has sent other bytes than requested", .os_error = EREMOTEIO};
}

std::string RemoteSource::id_text_of(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = static_cast<unsigned char>(c) > ' ' && c != '\x7f' && c != '%';
    if (is_plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::optional<SourceId> RemoteSource::id_of(const std::string& text, const std::string& version, bool is_settled) {
  if (version.empty()) return std::nullopt;
  SourceId id{.source = id_text_of(text), .version = id_text_of(version), .is_settled = is_settled};
  // See Snapshot::version().
  const std::size_t etag = std::min(version.find("etag:"), version.find("linked:"));
  const bool is_whole = etag == 0 || (etag != std::string::npos && version[etag - 1] == ',');
  if (is_settled && is_whole) id.portable_version = id.version.substr(etag);
  return id;
}

// One of the requests of an opening: its reply has the bytes from `begin` on.
struct RemoteSource::FirstRequest {
  FirstRequest(ByteRange range, std::shared_ptr<Fetcher> by)
      : begin(range.begin), size(range.end - range.begin), fetcher(std::move(by)) {}

  const std::uint64_t begin;
  const std::uint64_t size;
  const std::shared_ptr<Fetcher> fetcher;
  Fetcher::CallPtr call{};

  std::mutex mutex{};  // guards the following
  bool is_wanted = true;
  std::optional<Result<Reply>> reply{};
  Buffer bytes{};

  // Takes the reply. Must not throw.
  void take(Result<Reply> result, Bytes in_arena) {
    const std::lock_guard lock(mutex);
    if (!is_wanted) return close(result);
    if (result && !result->failure) {
      auto copied = Buffer::copy_of({}, in_arena);
      const bool is_right = result->size <= kLargestObject && (begin < result->size || begin == 0) &&
                            in_arena.size() == std::min(result->size - begin, size);
      if (copied && is_right) {
        bytes = std::move(*copied);
      } else {
        close(result);
        result = copied ? wrong_bytes() : copied.error();
      }
    } else if (result) {
      result = error_of(*result);
    }
    reply = std::move(result);
  }
  // Lets the fetcher forget the object that it has opened.
  void close(const Result<Reply>& result) const {
    if (result && !result->failure) fetcher->tell({.kind = RequestKind::kClose, .object = result->object});
  }
  void leave() {
    const std::lock_guard lock(mutex);
    if (reply) return close(*reply);
    is_wanted = false;
    fetcher->cancel(*call);
  }
};

Result<RemoteSource::FirstRequestPtr> RemoteSource::send_first(const RequestContext& context,
                                                               const std::shared_ptr<Fetcher>& fetcher,
                                                               const std::string& text, ByteRange range) {
  auto request = std::make_shared<FirstRequest>(range, fetcher);
  note_requested(request->size);
  ASSIGN_OR_RETURN(
      request->call,
      fetcher->send(
          context, {.kind = RequestKind::kOpen, .begin = request->begin, .size = request->size, .name = text},
          [request](Result<Reply> reply, const Slice& bytes) { request->take(std::move(reply), bytes.bytes); }));
  return request;
}

Result<Reply> RemoteSource::reply_of(const RequestContext& context, FirstRequest& request) {
  auto waited = request.fetcher->wait(context, *request.call);
  {
    const std::lock_guard lock(request.mutex);
    if (request.reply) return *request.reply;
  }
  request.leave();
  if (!waited) return std::move(waited).error();
  return Error{.code = Code::kIo, .detail = "recordfs-fetch has ended unexpectedly", .os_error = EREMOTEIO};
}

// Returns what an opening requests at once. With a cache on disk, most other bytes than those of the record are there.
std::vector<ByteRange> RemoteSource::first_ranges(const std::vector<ByteRange>& reads, bool uses_disk) {
  std::vector<ByteRange> ranges;
  for (const ByteRange& read : reads) {
    const Position begin = read.begin / kBlock * kBlock;
    const Position end = std::min((read.end + kBlock - 1) / kBlock * kBlock, begin + kMostPerRead);
    const bool is_new =
        std::ranges::none_of(ranges, [&](const ByteRange& other) { return begin < other.end && other.begin < end; });
    const bool is_possible = read.begin < read.end && read.end <= kLargestObject;
    if (is_possible && is_new) ranges.push_back({begin, end});
    if (uses_disk || ranges.size() == kMostAtOnce) break;
  }
  if (ranges.empty()) return {{0, kHead}};
  if (ranges.front().end > kHead) return ranges;
  // The first request reads all of the head, and the others what they would add.
  for (ByteRange& range : ranges) range.begin = std::max(range.begin, kHead);
  ranges.front() = {0, kHead};
  std::erase_if(ranges, [](const ByteRange& range) { return range.begin >= range.end; });
  return ranges;
}

Result<std::shared_ptr<const RemoteSource>> RemoteSource::open(const RequestContext& context, Session& session,
                                                               std::string text, std::string name,
                                                               const std::vector<ByteRange>& reads) {
  TRY(context.permit_wait_for(kFilesystem));
  const std::vector<ByteRange> ranges = first_ranges(reads, Session::uses_disk());
  std::vector<FirstRequestPtr> requests;
  auto begin = std::chrono::steady_clock::now();
  const auto ask = [&]() -> Result<Reply> {
    requests.clear();
    ASSIGN_OR_RETURN(const auto fetcher, session.fetcher_for(context, text));
    begin = std::chrono::steady_clock::now();  // starting a fetcher takes as long as a request to a near server
    for (const ByteRange& range : ranges) {
      auto sent = send_first(context, fetcher, text, range);
      if (!sent && requests.empty()) return std::move(sent).error();
      if (sent) requests.push_back(std::move(*sent));
    }
    return reply_of(context, *requests.front());
  };
  auto reply = ask();
  const bool is_far = std::chrono::steady_clock::now() - begin > kFar;
  // Another fetcher may work.
  if (!reply && !requests.empty() && requests.front()->fetcher->has_ended()) reply = ask();
  const auto leave_others = [&] {
    for (std::size_t i = 1; i < requests.size(); ++i) requests[i]->leave();
  };
  if (!reply) {
    leave_others();
    // The object is shorter than it was thought to be.
    if (reply.error().code == Code::kChanged && ranges.front().begin != 0) {
      return open(context, session, std::move(text), std::move(name), {});
    }
    return std::move(reply).error();
  }
  auto source = std::shared_ptr<RemoteSource>(new RemoteSource(session, std::move(text), std::move(name), *reply,
                                                               {requests.front()->fetcher, reply->object}, is_far));
  const auto known = source->id();
  Result<void> kept;
  for (const auto& request : requests) {
    const bool is_first = request == requests.front();
    // Only a version that names the bytes themselves tells that other requests had the same object.
    if (!is_first && (!known || known->portable_version.empty())) continue;
    const auto other = is_first ? reply : reply_of(context, *request);
    const bool is_same = other && other->size == reply->size && other->version == reply->version &&
                         other->modified == reply->modified && other->is_settled == reply->is_settled;
    if (is_same) kept = source->keep_blocks(context, request->begin, request->bytes.view());
    if (!kept) break;
  }
  leave_others();
  TRY(kept);
  const auto is_pass = [](const ByteRange& range) { return range.begin == 0 && range.end == UINT64_MAX; };
  if (std::ranges::any_of(reads, is_pass)) source->begin_pass(0);
  return std::shared_ptr<const RemoteSource>(std::move(source));
}

Result<void> RemoteSource::keep_blocks(const RequestContext& context, Position begin, Bytes bytes) const {
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::size_t size = std::min<std::size_t>(kBlock, bytes.size() - at);
    ASSIGN_OR_RETURN(auto block, Buffer::copy_of(context, bytes.subspan(at, size)));
    session_.blocks().add(blocks_.number, (begin + at) / kBlock, std::make_shared<const Buffer>(std::move(block)));
  }
  return {};
}

RemoteSource::RemoteSource(Session& session, std::string text, std::string name, const Reply& reply, Handle handle,
                           bool is_far)
    : session_(session),
      text_(std::move(text)),
      name_(std::move(name)),
      size_(reply.size),
      version_(reply.version),
      is_settled_(reply.is_settled),
      modified_(reply.modified),
      handle_(std::move(handle)),
      blocks_{.unit = kBlock, .number = number_of("blocks")},
      pieces_{.unit = kPiece, .number = number_of("pieces")},
      ahead_({.blocks = session.blocks().capacity(), .passes = session.pass_bytes()}, is_far) {}

std::uint64_t RemoteSource::number_of(std::string_view grid) const {
  // States that look the same share no blocks.
  return session_.blocks().number_of(fmt::format("{} {} {}", grid, text_, size_), is_settled_ ? version_ : "");
}

RemoteSource::~RemoteSource() {
  if (handle_.fetcher) handle_.fetcher->tell({.kind = RequestKind::kClose, .object = handle_.object});
}

RemoteSource::Handle RemoteSource::present_handle() const {
  const std::lock_guard lock(mutex_);
  return handle_;
}

Result<RemoteSource::Handle> RemoteSource::handle(const RequestContext& context) const {
  Handle known = present_handle();
  if (!known.fetcher->has_ended()) return known;
  ASSIGN_OR_RETURN(auto fetcher, session_.fetcher_for(context, text_));
  ASSIGN_OR_RETURN(const auto request, send_first(context, fetcher, text_, {0, 1}));
  ASSIGN_OR_RETURN(const auto reply, reply_of(context, *request));
  if (reply.size != size_ || reply.version != version_ || reply.modified != modified_) {
    is_changed_.store(true, std::memory_order_relaxed);
    return changed();
  }
  const std::lock_guard lock(mutex_);
  handle_ = {std::move(fetcher), reply.object};
  return handle_;
}

}  // namespace recordfs::remote
