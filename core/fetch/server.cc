#include "core/fetch/server.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace recordfs::fetch {
namespace {

using remote::Reply;
using remote::Request;
using remote::RequestKind;

// Returns whether the part of the arena is in it, and large enough.
bool is_part(const Request& request, std::size_t arena) {
  if (request.kind == RequestKind::kStatus) return true;
  if (request.arena > arena || request.size > arena - request.arena) return false;
  if (request.kind == RequestKind::kList) return request.size >= remote::kListPage;
  const std::uint64_t least = request.kind == RequestKind::kOpen ? 1 : 0;
  return request.size >= least && request.size <= remote::kMostPerRead;
}

Error invalid_request(const char* what) { return {.code = Code::kIo, .detail = what, .os_error = EINVAL}; }

}  // namespace

void Server::run() {
  for (;;) {
    const auto next = std::min(advance_jobs(), break_silence());
    if (!send()) return;
    const auto now = Clock::now();
    const auto left =
        next <= now ? std::chrono::milliseconds(0) : std::chrono::ceil<std::chrono::milliseconds>(next - now);
    const auto events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
    context_.network.wait(socket_.number(), events, left);
    context_.network.run();
    if (!receive()) return;
  }
}

Clock::time_point Server::advance_jobs() {
  const auto now = Clock::now();
  auto next = now + std::chrono::hours(1);
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    auto wake = next;
    auto done = job->second->advance(now, wake);
    if (done) {
      reply(job->first, std::move(*done));
      job = jobs_.erase(job);
    } else {
      next = std::min(next, wake);
      ++job;
    }
  }
  return next;
}

Clock::time_point Server::break_silence() {
  const auto now = Clock::now();
  if (jobs_.empty()) return now + std::chrono::hours(1);
  if (now >= replied_ + remote::kLongestSilence) reply(0, {});
  return replied_ + remote::kLongestSilence;
}

bool Server::receive() {
  constexpr int kMostAtOnce = 64;  // then the network has its turn
  std::array<std::byte, remote::kMostPerMessage> buffer;
  for (int i = 0; i < kMostAtOnce; ++i) {
    const ssize_t size = ::recv(socket_.number(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (size == 0 || static_cast<std::size_t>(size) > buffer.size()) return false;
    const auto request = remote::parse_request(Bytes(buffer).first(static_cast<std::size_t>(size)));
    if (!request || unsent_.size() > kMostUnsent) return false;
    take(*request);
  }
  return true;
}

bool Server::send() {
  while (!unsent_.empty()) {
    const std::string& packet = unsent_.front();
    const ssize_t size = ::send(socket_.number(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
    unsent_.pop_front();
  }
  return true;
}

void Server::take(const Request& request) {
  switch (request.kind) {
    case RequestKind::kName: return take_name(request);
    case RequestKind::kClose: context_.objects.erase(request.object); return;
    case RequestKind::kCancel: return cancel(request.object);
    case RequestKind::kOpen:
    case RequestKind::kRead:
    case RequestKind::kStatus:
    case RequestKind::kList: return start(request);
  }
}

void Server::take_name(const Request& request) {
  constexpr std::uint64_t kOfFile = 1;
  auto name = context_.names.add(request.name, request.begin != kOfFile);
  if (!name) return reply(request.id, failure_reply(name.error()));
  Reply answer;
  answer.text = std::move(*name);
  reply(request.id, std::move(answer));
}

void Server::start(const Request& request) {
  // A second request with the id of one that goes on would leave the client with two replies of that id.
  if (jobs_.contains(request.id)) return;
  if (jobs_.size() >= kMostJobs) {
    return reply(request.id, failure_reply({.code = Code::kLimit, .detail = "too many requests at a time"}));
  }
  if (!is_part(request, context_.arena.size())) {
    return reply(request.id, failure_reply(invalid_request("invalid part of the shared memory")));
  }
  map_memory(request);
  auto job = job_for(request, context_);
  if (!job) return reply(request.id, failure_reply(job.error()));
  jobs_.emplace(request.id, std::move(*job));
}

// Maps memory that the client has allocated, which costs less than doing so page by page.
void Server::map_memory(const Request& request) {
  constexpr int kPopulateForReading = 22;     // MADV_POPULATE_READ, which older headers lack
  constexpr std::uint64_t kLarge = 1u << 20;  // bytes of a request
  constexpr std::uint64_t kUnit = remote::kBlock;
  if (request.kind != RequestKind::kRead || request.size < kLarge) return;
  is_mapped_.resize(static_cast<std::size_t>(context_.arena.size() / kUnit));
  for (std::uint64_t unit = request.arena / kUnit; unit < (request.arena + request.size) / kUnit; ++unit) {
    auto is_mapped = is_mapped_[static_cast<std::size_t>(unit)];
    if (is_mapped) continue;
    is_mapped = true;
    // Fails on Linux before 5.14.
    ::madvise(context_.arena.data() + unit * kUnit, kUnit, kPopulateForReading);
  }
}

void Server::cancel(std::uint64_t id) {
  if (jobs_.erase(id) == 0) return;
  reply(id, failure_reply({.code = Code::kInterrupted, .detail = "cancelled"}));
}

void Server::reply(std::uint64_t id, Reply reply) {
  reply.id = id;
  replied_ = Clock::now();
  reply.traffic = {.requests = context_.network.requests(),
                   .bytes = context_.network.bytes(),
                   .retries = context_.retries,
                   .cache_hits = context_.cache_hits};
  unsent_.push_back(remote::packet(reply));
}

}  // namespace recordfs::fetch
