// Requests on the network: libcurl's multi interface.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/fetch/addresses.h"
#include "core/fetch/http_headers.h"
#include "core/fetch/origin.h"
#include "core/fetch/redirect.h"

namespace recordfs::fetch {

// How a transfer ended.
struct TransferEnd {
  CURLcode code = CURLE_OK;  // CURLE_WRITE_ERROR: the receiver has aborted it
  int os_error = 0;          // of a connection that failed
  std::string reason{};      // of a failure, without the URL
  bool was_reused = false;   // the connection had served an earlier request
  bool was_refused = false;  // the address of the host is not allowed
  bool is_too_long = false;  // the headers are
};

// Returns the error of a request to a host whose address is not allowed.
Error refused_address(std::string_view host);

// Takes a response as it arrives. Called by Network::run() only.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Takes status and headers. Returns false to abort the transfer.
  virtual bool take_head(const HttpResponse& response) = 0;
  // Takes the next bytes of the body. Returns false to abort the transfer.
  virtual bool take_body(Bytes piece) = 0;
  // The transfer has ended; nothing more follows. May start another one.
  virtual void take_end(const TransferEnd& end) = 0;
};

struct TransferOptions {
  unsigned allowed_addresses = kAllAddresses;  // AddressKind
  bool uses_netrc = false;                     // credentials from ~/.netrc
  bool is_fresh = false;                       // on a new connection
};

struct NetworkOptions {
  std::chrono::seconds timeout{60};  // of a request with its retries; limits what one attempt may wait
};

// Not thread-safe.
class Network {
 public:
  class Transfer;

  // Fails with kOutOfMemory.
  static Result<std::unique_ptr<Network>> create(const NetworkOptions& options);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Starts a transfer, or queues it if too many are active. `receiver` must outlive it. Fails with
  // kUnsupported for a URL that cannot be used, and with kOutOfMemory.
  Result<Transfer*> start(const HttpRequest& request, const TransferOptions& options, Receiver& receiver);
  // Ends a transfer without a call of its receiver. Must not be called by take_head() or take_body().
  void stop(Transfer* transfer);
  // Returns the kinds of addresses to which a transfer has connected. Valid until take_end() returns.
  static unsigned connected_addresses(const Transfer& transfer);

  // Returns whether a transfer waits for others.
  static bool is_queued(const Transfer& transfer);
  // Returns when the host of a transfer has last sent a part of a body; nullopt: not yet. If the transfer waits for
  // those of other hosts: when any host has.
  std::optional<std::chrono::steady_clock::time_point> last_heard(const Transfer& transfer) const;

  // Waits for the network or for `events` of a descriptor, at most for `timeout`. Returns the events that it has.
  short wait(int descriptor, short events, std::chrono::milliseconds timeout);
  // Ends wait(), or the next one. Safe for any thread.
  void wake() { ::curl_multi_wakeup(multi_); }
  // Does what can be done without waiting.
  void run();

  // Sends a request and waits for the response, at most `timeout`. Follows no redirects. Fails with kIo.
  Result<HttpResponse> send_once(const HttpRequest& request, std::chrono::milliseconds timeout);

  // Returns whether any server has answered.
  bool has_answer() const { return has_answer_; }
  // Returns requests and bytes of bodies so far.
  std::uint64_t requests() const { return requests_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kMostPerHost = 16;
  static constexpr std::size_t kMostActive = 64;  // each has a buffer and a connection

  struct Host {
    std::size_t active = 0;
    std::optional<std::chrono::steady_clock::time_point> last_heard{};
    std::deque<Transfer*> waiting;
  };

  explicit Network(const NetworkOptions& options);
  Result<void> configure(Transfer& transfer, const HttpRequest& request, const UrlParts& parts);
  bool may_activate(const Host& host) const { return host.active < kMostPerHost && active_ < kMostActive; }
  void activate(Transfer& transfer);
  void activate_waiting();
  void release(Transfer* transfer);

  const NetworkOptions options_;
  CURLM* multi_ = nullptr;
  std::list<std::unique_ptr<Transfer>> transfers_;
  std::map<std::string, Host> hosts_;
  std::size_t active_ = 0;
  std::uint64_t last_number_ = 0;  // of a transfer
  std::optional<std::chrono::steady_clock::time_point> last_heard_{};
  std::chrono::steady_clock::time_point now_{};  // as of the last run()
  std::vector<CURL*> idle_;                      // handles to be used again: their buffers are large
  std::string certificates_;
  bool has_answer_ = false;
  std::uint64_t requests_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace recordfs::fetch
