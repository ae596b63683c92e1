#include "core/fetch/job.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/parse_number.h"
#include "core/fetch/http_headers.h"

namespace recordfs::fetch {
namespace {

using remote::kBlock;
using remote::Reply;
using remote::Request;
using remote::RequestKind;

constexpr std::size_t kLongestText = 2048;
constexpr std::size_t kMostObjects = 1u << 16;

Exchange::Options options_for(const JobContext& context, const std::string& url, bool uses_netrc) {
  return {.timeout = context.timeout, .url = url, .uses_netrc = uses_netrc};
}

std::shared_ptr<Object> object_of(const std::string& name, const UrlNames::Named& named) {
  auto object = std::make_shared<Object>();
  object->name = name;
  object->url = named.url;
  object->origin = named.origin;
  object->reach = named.reach;
  object->uses_netrc = named.uses_netrc;
  return object;
}

// Returns the version by which the client and all caches know an object. A server makes ETags that are unique among its
// own objects, or even among those of one user only, and the printable name tells neither.
std::string version_of(const Object& object) {
  const std::string place = object.origin->place(object.url);
  const std::string version = object.snapshot->version();
  return place.empty() ? version : fmt::format("at:{},{}", short_hash(place), version);
}

void describe(const Object& object, Reply& reply) {
  const Snapshot& snapshot = *object.snapshot;
  reply.size = snapshot.size;
  reply.modified = snapshot.modified;
  reply.is_settled = snapshot.is_settled;
  reply.version = version_of(object);
}

// A task on the network.
template <class Task>
class NetworkRequest {
 public:
  template <class... Arguments>
  NetworkRequest(JobContext& context, Origin& origin, Reach& reach, Exchange::Options options, Arguments&&... arguments)
      : task_(std::forward<Arguments>(arguments)...),
        exchange_(context.network, origin, task_, reach, context.retries, std::move(options)) {}

  Task& task() { return task_; }
  Exchange& exchange() { return exchange_; }

 private:
  Task task_;
  Exchange exchange_;
};
using ObjectRequest = NetworkRequest<ObjectTask>;
using ListRequest = NetworkRequest<ListTask>;

std::unique_ptr<ObjectRequest> object_request(JobContext& context, Object& object, std::uint64_t begin,
                                              std::uint64_t end, MutableBytes out) {
  return std::make_unique<ObjectRequest>(context, *object.origin, object.reach,
                                         options_for(context, object.url, object.uses_netrc), object, begin, end, out,
                                         context.spool_folder());
}

class OpenJob final : public Job {
 public:
  OpenJob(JobContext& context, std::shared_ptr<Object> object, std::uint64_t begin, MutableBytes out)
      : context_(context),
        object_(std::move(object)),
        begin_(begin),
        out_(out),
        request_(object_request(context, *object_, begin, begin + out.size(), out)) {
    if (context.cache == nullptr) request_->task().leave_out_sums();
  }

  std::optional<Reply> advance(Clock::time_point now, Clock::time_point& wake) override {
    wake = request_->exchange().advance(now);
    if (!request_->exchange().is_finished()) return std::nullopt;
    context_.names.allow(object_->reach);
    if (const auto& result = request_->exchange().result(); !result) return failure_reply(result.error());
    const Snapshot& snapshot = *object_->snapshot;
    const std::uint64_t received = request_->task().received();
    if (context_.cache != nullptr && snapshot.is_settled && !object_->spool) {
      object_->cached = context_.cache->object(object_->name, version_of(*object_), snapshot.size);
      if (object_->cached) {
        object_->cached->write(begin_, out_.first(static_cast<std::size_t>(received)), request_->task().sums());
      }
    }
    Reply reply;
    describe(*object_, reply);
    reply.received = received;
    reply.object = ++context_.last_object;
    if (request_->task().has_spooled()) reply.text = "the server ignores range requests, so the whole file was read";
    context_.objects.emplace(reply.object, object_);
    return reply;
  }

 private:
  JobContext& context_;
  std::shared_ptr<Object> object_;
  std::uint64_t begin_;
  MutableBytes out_;
  std::unique_ptr<ObjectRequest> request_;
};

class ReadJob final : public Job {
 public:
  // Reads the bytes [begin, begin + out.size()), which the object has.
  ReadJob(JobContext& context, std::shared_ptr<Object> object, std::uint64_t begin, MutableBytes out)
      : context_(context), object_(std::move(object)), begin_(begin), end_(begin + out.size()), size_(out.size()) {
    if (object_->spool) {
      has_failed_ = !object_->spool->read(begin, out);
      begin_ = end_;
    }
    if (object_->cached) read_cached(out);
    if (begin_ == end_) return;
    missing_ = out.subspan(static_cast<std::size_t>(begin_ - begin), static_cast<std::size_t>(end_ - begin_));
    request_ = object_request(context, *object_, begin_, end_, missing_);
    if (!object_->cached) request_->task().leave_out_sums();
  }

  std::optional<Reply> advance(Clock::time_point now, Clock::time_point& wake) override {
    if (has_failed_)
      return failure_reply({.code = Code::kIo, .detail = "cannot read the stored file", .os_error = EIO});
    if (request_) {
      wake = request_->exchange().advance(now);
      if (!request_->exchange().is_finished()) return std::nullopt;
      if (const auto& result = request_->exchange().result(); !result) return failure_reply(result.error());
      if (object_->cached && !has_written_) {
        write_ = context_.writer.write(object_->cached, begin_, missing_, request_->task().sums());
        has_written_ = true;
      }
    }
    // The client may use the memory again when it has the reply.
    if (write_ && !context_.writer.is_over(*write_, now)) {
      wake = BlockWriter::end(*write_);
      return std::nullopt;
    }
    Reply reply;
    reply.received = size_;
    return reply;
  }

 private:
  // Fills the front and the back of `out` with blocks on disk.
  void read_cached(MutableBytes out) {
    CachedObject& cached = *object_->cached;
    const std::uint64_t out_begin = begin_;
    const auto read = [&](std::uint64_t block) {
      const auto at = static_cast<std::size_t>(block * kBlock - out_begin);
      if (!cached.read(block, out.subspan(at, static_cast<std::size_t>(cached.size_of(block))))) return false;
      ++context_.cache_hits;
      return true;
    };
    if (begin_ % kBlock == 0) {
      while (begin_ < end_ && cached.size_of(begin_ / kBlock) <= end_ - begin_ && read(begin_ / kBlock)) {
        begin_ += cached.size_of(begin_ / kBlock);
      }
    }
    while (begin_ < end_) {
      const std::uint64_t block = (end_ - 1) / kBlock;
      const bool is_whole = block * kBlock >= begin_ && cached.size_of(block) == end_ - block * kBlock;
      if (!is_whole || !read(block)) break;
      end_ = block * kBlock;
    }
    const std::uint64_t block = begin_ / kBlock;
    const bool is_in_one = begin_ < end_ && (end_ - 1) / kBlock == block;
    if (is_in_one && cached.size_of(block) > end_ - begin_) read_inside(cached, block, out.subspan(begin_ - out_begin));
  }

  // Fills the front of `out` with the bytes [begin_, end_) of a block on disk, which has more.
  void read_inside(CachedObject& cached, std::uint64_t block, MutableBytes out) {
    auto whole = Buffer::allocate({}, static_cast<std::size_t>(cached.size_of(block)));
    if (!whole || !cached.read(block, whole->span())) return;
    ++context_.cache_hits;
    const auto at = static_cast<std::size_t>(begin_ - block * kBlock);
    copy_bytes(whole->view().subspan(at, static_cast<std::size_t>(end_ - begin_)), out);
    begin_ = end_;
  }

  JobContext& context_;
  std::shared_ptr<Object> object_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t size_;
  MutableBytes missing_{};
  std::unique_ptr<ObjectRequest> request_{};
  BlockWriter::WritePtr write_{};
  bool has_written_ = false;
  bool has_failed_ = false;
};

class ListJob final : public Job {
 public:
  // `token`: Reply::page of the part before.
  ListJob(JobContext& context, UrlNames::Named named, const std::string& token, MutableBytes out)
      : context_(context), named_(std::move(named)), out_(out) {
    const std::size_t colon = token.find(':');
    skipped_ = parse_number<std::size_t>(token.substr(0, colon)).value_or(0);
    page_ = colon == std::string::npos ? std::string() : token.substr(colon + 1);
    if (is_known()) return;
    request_ = std::make_unique<ListRequest>(context, *named_.origin, named_.reach,
                                             options_for(context, named_.url, named_.uses_netrc), *named_.origin,
                                             named_.url, page_);
  }

  std::optional<Reply> advance(Clock::time_point now, Clock::time_point& wake) override {
    if (is_known()) return reply();
    if (!request_)
      return failure_reply({.code = Code::kIo, .detail = "the listing was interrupted", .os_error = EAGAIN});
    wake = request_->exchange().advance(now);
    if (!request_->exchange().is_finished()) return std::nullopt;
    context_.names.allow(named_.reach);
    if (const auto& result = request_->exchange().result(); !result) return failure_reply(result.error());
    auto page = request_->task().parse();
    if (!page) return failure_reply(page.error());
    context_.listed = std::move(*page);
    context_.listed_url = named_.url;
    context_.listed_page = page_;
    return reply();
  }

 private:
  // Returns whether the rest of the page that was read last is what is asked for.
  bool is_known() const { return skipped_ > 0 && context_.listed_url == named_.url && context_.listed_page == page_; }

  Reply reply() {
    const auto& entries = context_.listed.entries;
    std::string packed;
    std::size_t next = skipped_;
    while (next < entries.size() && remote::append(entries[next], packed)) ++next;
    copy_bytes(as_bytes(packed), out_);
    Reply reply;
    reply.received = packed.size();
    if (next < entries.size()) {
      reply.page = fmt::format("{}:{}", next, page_);
    } else if (!context_.listed.next.empty()) {
      reply.page = "0:" + context_.listed.next;
    }
    // An entry that fits in no page, or a token that does not fit in a message.
    constexpr std::size_t kLongestToken = 16u << 10;
    if ((packed.empty() && next < entries.size()) || reply.page.size() > kLongestToken) {
      return failure_reply({.code = Code::kLimit, .detail = "the listing has a name that is too long"});
    }
    return reply;
  }

  JobContext& context_;
  UrlNames::Named named_;
  MutableBytes out_;
  std::string page_{};
  std::size_t skipped_ = 0;
  std::unique_ptr<ListRequest> request_{};
};

class StatusJob final : public Job {
 public:
  StatusJob(JobContext& context, std::shared_ptr<Object> object) : context_(context), object_(std::move(object)) {
    if (object_->name.ends_with('/')) {
      ask_for_directory();
    } else {
      request_ = object_request(context, *object_, 0, byte_.size(), byte_);
    }
  }

  std::optional<Reply> advance(Clock::time_point now, Clock::time_point& wake) override {
    Exchange& exchange = list_ ? list_->exchange() : request_->exchange();
    wake = exchange.advance(now);
    if (!exchange.is_finished()) return std::nullopt;
    context_.names.allow(object_->reach);
    Reply reply;
    if (const auto& result = exchange.result(); !result) {
      const Error& error = result.error();
      if (!list_ && error.code == Code::kIo && error.os_error == EISDIR) {
        reply.is_directory = true;
        return reply;
      }
      if (list_ || error.os_error != ENOENT || object_->uses_netrc) return failure_reply(error);
      ask_for_directory();
      return advance(now, wake);
    }
    if (!list_) {
      describe(*object_, reply);
      return reply;
    }
    if (const auto page = list_->task().parse(); !page) return failure_reply(page.error());
    reply.is_directory = true;
    return reply;
  }

 private:
  void ask_for_directory() {
    std::string url = object_->url;
    if (!object_->uses_netrc && !url.ends_with('/')) url += '/';
    list_ = std::make_unique<ListRequest>(context_, *object_->origin, object_->reach,
                                          options_for(context_, url, object_->uses_netrc), *object_->origin, url,
                                          std::string());
  }

  JobContext& context_;
  std::shared_ptr<Object> object_;
  std::array<std::byte, 1> byte_{};
  std::unique_ptr<ObjectRequest> request_{};
  std::unique_ptr<ListRequest> list_{};
};

Result<std::unique_ptr<Job>> read_job(const Request& request, JobContext& context, MutableBytes out) {
  const auto invalid = [](int number) {
    return Error{.code = Code::kIo, .detail = "invalid request for an open object", .os_error = number};
  };
  const auto found = context.objects.find(request.object);
  if (found == context.objects.end()) return invalid(EBADF);
  const std::uint64_t size = found->second->snapshot->size;
  if (request.begin > size) return invalid(EINVAL);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size - request.begin));
  return std::unique_ptr<Job>(std::make_unique<ReadJob>(context, found->second, request.begin, out.first(wanted)));
}

}  // namespace

Reply failure_reply(const Error& error) {
  Reply reply;
  switch (error.code) {
    case Code::kDamage:
    case Code::kUnsupported:
    case Code::kLimit:
    case Code::kInterrupted:
    case Code::kChanged:
    case Code::kIo:
    case Code::kOutOfMemory: reply.failure = error.code; break;
    default: reply.failure = Code::kIo;
  }
  reply.os_error = reply.failure == Code::kIo && error.os_error == 0 ? EIO : error.os_error;
  reply.text = message_text(error.detail, kLongestText);
  return reply;
}

Result<std::unique_ptr<Job>> job_for(const Request& request, JobContext& context) {
  const MutableBytes out =
      context.arena.subspan(static_cast<std::size_t>(request.arena), static_cast<std::size_t>(request.size));
  if (request.kind == RequestKind::kRead) return read_job(request, context, out);
  if (request.kind == RequestKind::kOpen && context.objects.size() >= kMostObjects) {
    return Error{.code = Code::kLimit, .detail = "too many open files"};
  }
  constexpr std::uint64_t kLastBegin = std::uint64_t{1} << 62;
  if (request.begin > kLastBegin) {
    return Error{.code = Code::kIo, .detail = "invalid request", .os_error = EINVAL};
  }
  ASSIGN_OR_RETURN(auto named, context.names.find(request.name));
  std::unique_ptr<Job> job;
  switch (request.kind) {
    case RequestKind::kOpen:
      job = std::make_unique<OpenJob>(context, object_of(request.name, named), request.begin, out);
      break;
    case RequestKind::kStatus: job = std::make_unique<StatusJob>(context, object_of(request.name, named)); break;
    case RequestKind::kList: job = std::make_unique<ListJob>(context, std::move(named), request.page, out); break;
    default: return Error{.code = Code::kIo, .detail = "invalid request", .os_error = EINVAL};
  }
  return job;
}

}  // namespace recordfs::fetch
