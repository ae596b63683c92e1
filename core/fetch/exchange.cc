#include "core/fetch/exchange.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/fetch/http_failure.h"
#include "core/fetch/network_failure.h"
#include "core/fetch/redirect.h"
#include "core/fetch/retry.h"
#include "core/fetch/url.h"

namespace recordfs::fetch {
namespace {

constexpr std::size_t kMostOfError = 64u << 10;  // bytes of a body that is not an object
// A slow transfer moves its deadline if it goes on.
constexpr std::uint64_t kProgress = 64u << 10;
constexpr int kMostWrong = 3;
constexpr int kMostSignatures = 2;
constexpr int kMostAtOnce = 3;
constexpr int kMostTargets = 2;
// A small request that has no response after this time is repeated once: large services have few slow servers.
constexpr std::chrono::milliseconds kSlowResponse{2000};
constexpr int kMostRepeated = 1;
constexpr int kMostParts = 32;  // that are requested at once
// A server that has never answered is more often stopped or misspelt than about to answer.
constexpr int kFirstConnections = 3;

std::uint64_t random_number() {
  static std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// Returns whether two URLs of http name the same host and port.
bool is_same_server(const std::string& url, const std::string& other) {
  const auto parts = parts_of(url);
  const auto other_parts = parts_of(other);
  return parts && other_parts && parts->authority() == other_parts->authority();
}

}  // namespace

Exchange::Exchange(Network& network, Origin& origin, ExchangeTask& task, Reach& reach, std::uint64_t& retries,
                   Options options)
    : network_(network),
      origin_(origin),
      task_(task),
      reach_(reach),
      retry_count_(retries),
      options_(std::move(options)),
      deadline_(Clock::now() + options_.timeout) {}

Exchange::~Exchange() {
  if (transfer_ != nullptr) network_.stop(transfer_);
}

Clock::time_point Exchange::advance(Clock::time_point now) {
  if (state_ == State::kWaiting && now >= wake_) send();
  if (state_ == State::kSending && Network::is_queued(*transfer_)) {
    // Waiting for requests that go on is no failure.
    heard_ = now;
    if (const auto heard = network_.last_heard(*transfer_)) deadline_ = std::max(deadline_, *heard + options_.timeout);
  } else if (state_ == State::kSending && now < deadline_) {
    end_silence(now);
  }
  if (state_ != State::kFinished && now >= deadline_) {
    if (transfer_ != nullptr) network_.stop(std::exchange(transfer_, nullptr));
    finish_late(last_);
  }
  return std::min(state_ == State::kWaiting ? wake_ : heard_ + longest_silence(), deadline_);
}

void Exchange::end_silence(Clock::time_point now) {
  if (now < heard_ + longest_silence()) return;
  network_.stop(std::exchange(transfer_, nullptr));
  if (may_repeat()) {
    ++counts_.repeated;
    ++retry_count_;
    return send(true);
  }
  const auto seconds = std::chrono::duration<double>(longest_silence()).count();
  Error silence{
      .code = Code::kIo, .detail = fmt::format("the server sent nothing for {:g} s", seconds), .os_error = ETIMEDOUT};
  // All bytes may be there, without the end of the response.
  if (mode_ != Mode::kBody) return retry(silence);
  Verdict verdict = task_.end_body(silence.detail);
  verdict.error.os_error = ETIMEDOUT;
  apply(verdict);
}

bool Exchange::may_repeat() const {
  return mode_ == Mode::kNoHead && counts_.repeated < kMostRepeated && task_.is_small();
}

// libcurl's own limit is for the average of several seconds.
std::chrono::milliseconds Exchange::longest_silence() const {
  using std::chrono::milliseconds;
  const auto longest = std::clamp(milliseconds(options_.timeout / 3), milliseconds(1000), milliseconds(20'000));
  return may_repeat() ? std::min(longest, kSlowResponse) : longest;
}

void Exchange::send(bool is_fresh) {
  auto outgoing = task_.request();
  if (!outgoing) return finish(std::move(outgoing).error());
  request_ = std::move(outgoing->request);
  is_target_ = outgoing->is_target;
  counts_.redirects = 0;
  linked_ = {};
  send_hop(is_fresh);
}

void Exchange::send_hop(bool is_fresh) {
  mode_ = Mode::kNoHead;
  state_ = State::kSending;
  heard_ = Clock::now();
  const bool is_first = counts_.redirects == 0 && !is_target_;
  const bool reaches_all = is_first && reach_.is_of_user;
  const TransferOptions options{.allowed_addresses = reaches_all ? kAllAddresses : reach_.addresses,
                                .uses_netrc = options_.uses_netrc && is_same_server(request_.url, options_.url),
                                .is_fresh = is_fresh};
  const auto transfer = network_.start(request_, options, *this);
  if (!transfer) return finish(transfer.error());
  transfer_ = *transfer;
}

bool Exchange::take_head(const HttpResponse& response) {
  heard_ = Clock::now();
  response_ = response;
  const bool is_first = counts_.redirects == 0 && !is_target_;
  if (is_first && reach_.is_of_user) reach_.addresses |= Network::connected_addresses(*transfer_);
  if (is_redirect(response)) {
    mode_ = Mode::kRedirect;
    return true;
  }
  constexpr long kOk = 200;
  constexpr long kPartial = 206;
  constexpr long kFailedPrecondition = 412;
  constexpr long kUnsatisfiable = 416;
  const long status = response.status;
  if (status != kOk && status != kPartial && status != kFailedPrecondition && status != kUnsatisfiable) {
    mode_ = Mode::kError;
    return true;
  }
  verdict_ = task_.take_head(response, linked_);
  mode_ = verdict_.kind == Verdict::Kind::kGoOn ? Mode::kBody : Mode::kVerdict;
  return mode_ == Mode::kBody;
}

bool Exchange::take_body(Bytes piece) {
  heard_ = Clock::now();
  if (mode_ == Mode::kBody) {
    const bool goes_on = task_.take_body(piece);
    note_progress();
    return goes_on;
  }
  const std::size_t taken = std::min(piece.size(), kMostOfError - response_.body.size());
  response_.body += as_text(piece.first(taken));
  return taken == piece.size();
}

void Exchange::note_progress() {
  if (task_.progress() < progress_ + kProgress) return;
  progress_ = task_.progress();
  deadline_ = Clock::now() + options_.timeout;
  counts_.retries = 0;
  counts_.parts = 0;
}

void Exchange::take_end(const TransferEnd& end) {
  transfer_ = nullptr;
  switch (mode_) {
    case Mode::kNoHead: return end_without_head(end);
    case Mode::kRedirect: return follow_redirect();
    case Mode::kError: return explain_error();
    case Mode::kVerdict: return apply(verdict_);
    case Mode::kBody: return apply(task_.end_body(end.code == CURLE_OK ? std::string() : end.reason));
  }
}

void Exchange::end_without_head(const TransferEnd& end) {
  const auto parts = parts_of(request_.url);
  const std::string host = parts ? parts->host : std::string();
  if (end.was_refused) return finish(refused_address(host));
  if (end.is_too_long) {
    return finish(
        Error{.code = Code::kLimit, .detail = fmt::format("{}: the headers of the response are too long", host)});
  }
  const NetworkFailure failure = explain_transfer(end, host);
  // The server has closed a connection that was kept for later requests.
  if (end.was_reused && failure.may_pass && ++counts_.at_once <= kMostAtOnce) {
    ++retry_count_;
    return send(counts_.at_once > 1);
  }
  if (!failure.may_pass) return finish(failure.error);
  const int most_tries = network_.has_answer() ? failure.most_tries : std::min(failure.most_tries, kFirstConnections);
  if (most_tries > 0 && ++counts_.connections >= most_tries) return finish(failure.error);
  retry(failure.error);
}

void Exchange::follow_redirect() {
  auto linked = origin_.linked(response_);
  if (linked.size) linked_.size = linked.size;
  if (!linked.etag.empty()) linked_.etag = std::move(linked.etag);
  if (!linked.version.empty()) linked_.version = std::move(linked.version);
  if (++counts_.redirects > kMostRedirects) {
    return finish(Error{.code = Code::kIo, .detail = "too many redirects", .os_error = ELOOP});
  }
  auto next = follow(request_, response_);
  if (!next) return finish(std::move(next).error());
  request_ = std::move(*next);
  if (auto taken = task_.take_redirect(request_); !taken) return finish(std::move(taken).error());
  send_hop(false);
}

void Exchange::explain_error() {
  const bool is_elsewhere = counts_.redirects > 0 || is_target_;
  const bool may_have_expired = response_.status >= 400 && response_.status < 500 && !may_pass(response_.status);
  // The target of a redirect may be valid for some minutes only.
  if (is_elsewhere && may_have_expired && ++counts_.targets < kMostTargets) {
    task_.forget_target();
    ++retry_count_;
    return send();
  }
  Failure failure;
  if (is_elsewhere) {
    const auto parts = parts_of(request_.url);
    failure = http_failure(response_.status);
    if (parts) failure.error.detail.insert(0, parts->host + ": ");
  } else {
    failure = origin_.explain(options_.url, response_);
  }
  if (failure.advice == Advice::kSignAgain && ++counts_.signatures <= kMostSignatures) {
    ++retry_count_;
    return send();
  }
  if (failure.advice != Advice::kRetry) return finish(std::move(failure.error));
  const auto least = retry_after(response_.header("retry-after"), response_.header("date"));
  retry(failure.error, least.value_or(std::chrono::milliseconds(0)));
}

void Exchange::apply(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::kDone: return finish({});
    case Verdict::Kind::kFail: return finish(verdict.error);
    case Verdict::Kind::kMore:
      if (++counts_.parts > kMostParts) return retry(verdict.error);
      return send();
    case Verdict::Kind::kWrong:
      if (++counts_.wrong >= kMostWrong) return finish(verdict.error);
      // What a redirect leads to may be the reason.
      task_.forget_target();
      return retry(verdict.error);
    case Verdict::Kind::kGoOn:
    case Verdict::Kind::kRetry: return retry(verdict.error);
  }
}

void Exchange::retry(const Error& reason, std::chrono::milliseconds least) {
  last_ = reason;
  ++counts_.retries;
  ++retry_count_;
  const auto now = Clock::now();
  wake_ = now + std::max(least, retry_delay(counts_.retries, random_number()));
  if (now + least >= deadline_) {
    const auto seconds = std::chrono::duration<double>(least).count();
    const std::string text = fmt::format("{} (the server asks to retry after {:g} s)", reason.detail, seconds);
    return finish(Error{.code = Code::kIo, .detail = text, .os_error = ETIMEDOUT});
  }
  state_ = State::kWaiting;
}

void Exchange::finish(Result<void> result) {
  if (!result && repeats_secret(options_.url, result.error().detail)) {
    result.error().detail = "failed for a reason that is not shown, because it has a secret of the URL in it";
  }
  result_ = std::move(result);
  state_ = State::kFinished;
}

void Exchange::finish_late(const Error& reason) {
  const double seconds = static_cast<double>(options_.timeout.count()) / 1000;
  std::string text = fmt::format("no success within {:g} s", seconds);
  if (!reason.detail.empty()) text += ": " + reason.detail;
  finish(Error{.code = Code::kIo, .detail = std::move(text), .os_error = ETIMEDOUT});
}

}  // namespace recordfs::fetch
