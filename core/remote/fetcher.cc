#include "core/remote/fetcher.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/cancellable_mutex.h"
#include "core/base/thrown.h"
#include "core/remote/fetcher_program.h"
#include "core/remote/interruption.h"

namespace recordfs::remote {
namespace {

constexpr std::chrono::milliseconds kLongPoll{1000};
constexpr std::chrono::milliseconds kSendPoll{2};  // between attempts to send to a fetcher that is busy
constexpr int kNoSize = 0;

Error interrupted() { return {.code = Code::kInterrupted, .detail = "the request was interrupted"}; }

// Returns the phrase if it can be printed: the text of another process may be anything.
std::string printable_text(std::string text) {
  constexpr std::size_t kLongest = 2000;
  if (text.size() > kLongest) text.resize(kLongest);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

}  // namespace

Error error_of(const Reply& reply) {
  Error error{.code = reply.failure.value_or(Code::kIo), .detail = printable_text(reply.text)};
  // Other codes, and EIO, would say something of the object's bytes.
  const bool is_kept =
      error.code == Code::kChanged || error.code == Code::kInterrupted || error.code == Code::kOutOfMemory;
  if (!is_kept) error.code = Code::kIo;
  if (!is_kept) error.os_error = reply.os_error > 0 && reply.os_error != EIO ? reply.os_error : EREMOTEIO;
  if (error.detail.empty()) error.detail = "the fetcher does not say why this failed";
  return error;
}

struct Fetcher::Filled {
  Filled(std::shared_ptr<Fetcher> of, CallPtr by) : fetcher(std::move(of)), call(std::move(by)) {}
  ~Filled() { fetcher->give_back(*call); }
  Filled(const Filled&) = delete;
  Filled& operator=(const Filled&) = delete;

  const std::shared_ptr<Fetcher> fetcher;
  const CallPtr call;
};

Result<std::shared_ptr<Fetcher>> Fetcher::start(const std::vector<std::string>& options,
                                                std::chrono::milliseconds patience, std::uint64_t kept) {
  ASSIGN_OR_RETURN(auto arena, Arena::make(kept));
  ASSIGN_OR_RETURN(auto process, start_fetcher(arena->descriptor(), options));
  return std::make_shared<Fetcher>(std::move(process.socket), std::move(arena), patience, process.id);
}

Fetcher::Fetcher(Descriptor socket, std::unique_ptr<Arena> arena, std::chrono::milliseconds patience, pid_t process)
    : arena_(std::move(arena)), patience_(patience), process_(process), socket_(std::move(socket)) {}

Fetcher::~Fetcher() {
  socket_ = Descriptor();
  // It ends at once; if it does not, init reaps it after this process.
  if (process_ != 0 && !has_ended()) ::waitpid(process_, nullptr, WNOHANG);
}

// The lock may be held by a thread that the child does not have.
void Fetcher::abandon() {
  has_ended_.store(true, std::memory_order_relaxed);
  ::close(socket_.release());
}

Error Fetcher::ended() const {
  return {
      .code = Code::kIo, .detail = why_ended_.empty() ? "recordfs-fetch has ended" : why_ended_, .os_error = EREMOTEIO};
}

// Waits until `is_over` returns true, which it does with the lock held. One of the waiting threads receives.
template <class Condition>
Result<void> Fetcher::wait_until(const RequestContext& context, Lock& lock, const Condition& is_over) {
  const auto begin = std::chrono::steady_clock::now();
  const auto poll = Interruption::is_possible(context) ? kCancellationPoll : kLongPoll;
  while (!is_over()) {
    if (Interruption::is_cancelled(context)) return interrupted();
    if (std::chrono::steady_clock::now() - std::max(begin, heard_) > patience_) {
      return Error{.code = Code::kIo, .detail = "recordfs-fetch does not answer", .os_error = ETIMEDOUT};
    }
    if (is_receiving_) {
      changed_.wait_for(lock, poll);
      continue;
    }
    is_receiving_ = true;
    lock.unlock();
    receive(poll);
    lock.lock();
    is_receiving_ = false;
    changed_.notify_all();
  }
  return {};
}

Result<Fetcher::CallPtr> Fetcher::send(const RequestContext& context, Request request, TakeReply take,
                                       WhenFull when_full) {
  auto call = std::make_shared<Call>();
  if (has_ended()) return ended();
  Lock lock(mutex_);
  if (request.size != kNoSize) {
    std::uint64_t at = Arena::kSize;
    const auto has_room = [&] {
      at = has_ended() ? 0 : arena_->take(request.size);
      return at != Arena::kSize;
    };
    if (when_full == WhenFull::kGiveUp && !has_room()) return CallPtr();
    if (when_full == WhenFull::kWait) TRY(wait_until(context, lock, has_room));
    if (has_ended()) return ended();
    request.arena = at;
  }
  request.id = ++last_id_;
  call->id = request.id;
  call->arena = request.arena;
  call->size = request.size;
  call->take = std::move(take);
  if (auto sent = transmit(context, lock, request); !sent) {
    if (call->size != kNoSize && !has_ended()) arena_->give_back(call->arena, call->size);
    return std::move(sent).error();
  }
  // The lock is held since it was sent, so no thread has received the reply.
  calls_.emplace(call->id, call);
  return call;
}

Result<void> Fetcher::transmit(const RequestContext& context, Lock& lock, const Request& request) {
  const std::string bytes = packet(request);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    if (has_ended()) return ended();
    tell_all();
    if (::send(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS) {
      lock.unlock();
      end("recordfs-fetch has ended unexpectedly");
      lock.lock();
      return ended();
    }
    if (Interruption::is_cancelled(context)) return interrupted();
    if (std::chrono::steady_clock::now() - begin > patience_) {
      return Error{.code = Code::kIo, .detail = "recordfs-fetch does not answer", .os_error = ETIMEDOUT};
    }
    // The fetcher may wait until this process receives.
    if (is_receiving_) {
      changed_.wait_for(lock, kSendPoll);
    } else {
      is_receiving_ = true;
      lock.unlock();
      receive(kSendPoll);
      lock.lock();
      is_receiving_ = false;
      changed_.notify_all();
    }
  }
}

Result<void> Fetcher::wait(const RequestContext& context, const Call& call) {
  Lock lock(mutex_);
  return wait_until(context, lock, [&call] { return call.is_done; });
}

void Fetcher::cancel(const Call& call) {
  {
    const Lock lock(mutex_);
    if (call.is_done || has_ended()) return;
  }
  tell({.kind = RequestKind::kCancel, .object = call.id});
}

void Fetcher::tell(Request request) {
  if (has_ended()) return;
  const Lock lock(mutex_);
  request.id = ++last_id_;
  // Without waiting, because the calling thread may be the one that receives.
  untold_.push_back(packet(request));
  tell_all();
}

// The fetcher forgets all when the connection ends, so a failure changes nothing.
void Fetcher::tell_all() {
  while (!untold_.empty()) {
    const std::string& bytes = untold_.front();
    const bool is_sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    if (!is_sent && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) return;
    untold_.pop_front();
  }
}

Result<Reply> Fetcher::ask(const RequestContext& context, Request request) {
  return ask(context, std::move(request), [](Bytes) {});
}

Result<Reply> Fetcher::ask(const RequestContext& context, Request request, const std::function<void(Bytes)>& take) {
  struct Answer {
    std::mutex mutex;  // guards the following
    bool is_wanted = true;
    std::optional<Result<Reply>> reply;
  };
  const auto answer = std::make_shared<Answer>();
  ASSIGN_OR_RETURN(const auto call,
                   send(context, std::move(request), [answer, &take](Result<Reply> reply, const Slice& bytes) {
                     const std::lock_guard lock(answer->mutex);
                     if (!answer->is_wanted) return;
                     if (reply) take(bytes.bytes);
                     answer->reply = std::move(reply);
                   }));
  auto waited = wait(context, *call);
  const std::lock_guard lock(answer->mutex);
  answer->is_wanted = false;
  if (!waited) cancel(*call);
  if (!answer->reply) return waited ? ended() : std::move(waited).error();
  if (!*answer->reply) return std::move(*answer->reply).error();
  if ((*answer->reply)->failure) return error_of(**answer->reply);
  return std::move(*answer->reply);
}

void Fetcher::receive(std::chrono::milliseconds most) {
  pollfd ready{.fd = socket_.number(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(most.count())) <= 0) return;
  std::array<std::byte, kMostPerMessage + 1> packet;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is filled
  const ssize_t got = ::recv(socket_.number(), packet.data(), packet.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (got <= 0) return end("recordfs-fetch has ended unexpectedly");
  const auto take = [&] { take_packet(Bytes(packet).first(static_cast<std::size_t>(got))); };
  if (!has_memory_for(take)) end("out of memory for a reply of recordfs-fetch");
}

void Fetcher::take_packet(Bytes packet) {
  auto reply = packet.size() > kMostPerMessage ? Result<Reply>(Error{}) : parse_reply(packet);
  if (!reply) return end("recordfs-fetch has sent an invalid message");
  CallPtr call;
  std::shared_ptr<Filled> filled;
  {
    const Lock lock(mutex_);
    heard_ = std::chrono::steady_clock::now();
    const auto found = calls_.find(reply->id);
    if (found != calls_.end()) {
      call = found->second;
      filled = std::make_shared<Filled>(shared_from_this(), call);
      calls_.erase(found);  // so that no other thread calls `take`
    }
    traffic_ = reply->traffic;
  }
  if (reply->id == 0) return;
  const bool is_valid = call && reply->received <= call->size;
  if (!is_valid) end("recordfs-fetch has sent an invalid message");
  if (!call) return;
  if (is_valid) {
    const Bytes bytes = arena_->bytes(call->arena, reply->received);
    call->take(std::move(*reply), {.bytes = bytes, .owner = std::move(filled)});
  } else {
    filled.reset();
    call->take(Error{.code = Code::kIo, .detail = "recordfs-fetch has sent an invalid message", .os_error = EREMOTEIO},
               {});
  }
  call->take = {};
  const Lock lock(mutex_);
  call->is_done = true;
  changed_.notify_all();
}

void Fetcher::give_back(const Call& call) {
  if (call.size == kNoSize) return;
  const Lock lock(mutex_);
  arena_->give_back(call.arena, call.size);
  changed_.notify_all();
}

bool Fetcher::has_spare_room() const {
  const Lock lock(mutex_);
  return arena_->taken() <= arena_->kept();
}

std::uint64_t Fetcher::spare_room() const {
  const Lock lock(mutex_);
  return arena_->kept() - std::min(arena_->kept(), arena_->taken());
}

// All requests fail. The fetcher may still write to the arena, whose parts are not used again.
void Fetcher::end(std::string_view why) {
  std::map<std::uint64_t, CallPtr> failed;
  {
    const Lock lock(mutex_);
    if (!has_ended()) why_ended_ = why;
    has_ended_.store(true, std::memory_order_relaxed);
    failed.swap(calls_);
    ::shutdown(socket_.number(), SHUT_RDWR);
  }
  if (process_ != 0) ::waitpid(process_, nullptr, WNOHANG);
  const Error error = ended();
  for (const auto& [id, call] : failed) {
    call->take(error, {});
    call->take = {};
  }
  const Lock lock(mutex_);
  for (const auto& [id, call] : failed) call->is_done = true;
  changed_.notify_all();
}

Traffic Fetcher::traffic() const {
  const Lock lock(mutex_);
  return traffic_;
}

}  // namespace recordfs::remote
