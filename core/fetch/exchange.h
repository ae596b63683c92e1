// A request to an origin with its redirects and retries.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/fetch/origin.h"
#include "core/fetch/transfer.h"

namespace recordfs::fetch {

using Clock = std::chrono::steady_clock;

// What a response, or the end of a body, means for an exchange.
struct Verdict {
  enum class Kind : std::uint8_t {
    kGoOn,  // with the body
    kDone,  // the exchange has succeeded
    kMore,  // the response was right, but shorter than what was asked for
    kFail,
    kRetry,  // the failure may pass
    kWrong,  // the server contradicts itself; a few retries may reach a better one
  };
  Kind kind = Kind::kGoOn;
  Error error{};  // of the last four; of kMore for when it goes on without end
};

// Which addresses the redirects of a URL may lead to.
struct Reach {
  bool is_of_user = false;  // the user has named the URL, so that it may lead anywhere
  unsigned addresses = 0;   // AddressKind: those that the URL itself has led to, if it is the user's
};

// What an exchange asks for, and what it does with the response.
class ExchangeTask {
 public:
  struct Outgoing {
    HttpRequest request{};
    bool is_target = false;  // of an earlier redirect, which may have expired
  };

  virtual ~ExchangeTask() = default;
  // Returns the request for what is still missing. Fails as Origin::object().
  virtual Result<Outgoing> request() = 0;
  // Takes a response with status 200, 206, 412 or 416. kGoOn: the body follows.
  virtual Verdict take_head(const HttpResponse& response, const Origin::Linked& linked) = 0;
  // Takes a piece of the body. Returns false if the body cannot be used further.
  virtual bool take_body(Bytes piece) = 0;
  // Called after the body. `failure`: why it ended early, empty if it did not.
  virtual Verdict end_body(const std::string& failure) = 0;
  // Returns whether the request is for so few bytes that a response that takes long is worth another connection.
  virtual bool is_small() const { return false; }
  // Returns how many bytes are there for good.
  virtual std::uint64_t progress() const = 0;
  // A redirect leads to `target`. Returns an error to stop there.
  virtual Result<void> take_redirect(const HttpRequest& target) = 0;
  // The target of an earlier redirect is of no use any more.
  virtual void forget_target() {}
};

// Not thread-safe.
class Exchange final : private Receiver {
 public:
  struct Options {
    std::chrono::milliseconds timeout{60'000};  // without progress
    std::string url{};                          // for Origin::explain()
    bool uses_netrc = false;
  };

  // All must outlive it. `retries` is increased with each retry.
  Exchange(Network& network, Origin& origin, ExchangeTask& task, Reach& reach, std::uint64_t& retries, Options options);
  ~Exchange() override;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Does what is due. Call it first after construction, then at the time that it returned, and after Network::run().
  Clock::time_point advance(Clock::time_point now);

  bool is_finished() const { return state_ == State::kFinished; }
  // REQUIRES: is_finished().
  const Result<void>& result() const { return result_; }

 private:
  enum class State : std::uint8_t { kWaiting, kSending, kFinished };
  enum class Mode : std::uint8_t { kNoHead, kRedirect, kError, kVerdict, kBody };

  struct Counts {
    int redirects = 0;  // of the present attempt
    int retries = 0;    // since there was progress
    int wrong = 0;
    int signatures = 0;
    int connections = 0;  // that failed
    int at_once = 0;      // retries without waiting
    int repeated = 0;     // small requests without a response, on another connection
    int targets = 0;      // that were forgotten
    int parts = 0;        // short ones since there was progress
  };

  bool take_head(const HttpResponse& response) override;
  bool take_body(Bytes piece) override;
  void take_end(const TransferEnd& end) override;

  void send(bool is_fresh = false);
  void send_hop(bool is_fresh);
  void end_without_head(const TransferEnd& end);
  void follow_redirect();
  void explain_error();
  void apply(const Verdict& verdict);
  void retry(const Error& reason, std::chrono::milliseconds least = {});
  void note_progress();
  void finish(Result<void> result);
  void finish_late(const Error& reason);
  void end_silence(Clock::time_point now);
  std::chrono::milliseconds longest_silence() const;
  bool may_repeat() const;

  Network& network_;
  Origin& origin_;
  ExchangeTask& task_;
  Reach& reach_;
  std::uint64_t& retry_count_;
  const Options options_;

  State state_ = State::kWaiting;
  Mode mode_ = Mode::kNoHead;
  Counts counts_{};
  HttpRequest request_{};
  bool is_target_ = false;
  Network::Transfer* transfer_ = nullptr;
  HttpResponse response_{};
  Origin::Linked linked_{};
  Verdict verdict_{};
  std::uint64_t progress_ = 0;
  Clock::time_point wake_{};
  Clock::time_point deadline_{};
  Clock::time_point heard_{};  // when the server last sent something
  Error last_{};
  Result<void> result_{};
};

}  // namespace recordfs::fetch
