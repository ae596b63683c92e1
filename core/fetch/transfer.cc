#include "core/fetch/transfer.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace recordfs::fetch {

class Network::Transfer {
 public:
  Transfer(Network& network, const TransferOptions& options, Receiver& receiver)
      : network_(network), options_(options), receiver_(receiver) {}
  ~Transfer() {
    ::curl_slist_free_all(headers_);
    if (easy_ != nullptr) ::curl_easy_cleanup(easy_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  static std::size_t take_header(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t take_body(char* data, std::size_t, std::size_t size, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int check_connection(void* self, char* address, char*, int, int);

  // Returns whether a connection to an address of this kind may be used.
  bool may_use(unsigned kind) {
    if (is_proxied_) return true;
    if ((kind & ~options_.allowed_addresses) != 0) was_refused_ = true;
    connected_ |= kind;
    return !was_refused_;
  }

  void add_header(const std::string& header) {
    curl_slist* const longer = ::curl_slist_append(headers_, header.c_str());
    if (longer != nullptr) headers_ = longer;
  }

  Network& network_;
  const TransferOptions options_;
  Receiver& receiver_;
  std::list<std::unique_ptr<Transfer>>::iterator place_{};
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::string authority_{};
  std::uint64_t number_ = 0;  // in the order of start()
  std::string body_{};        // of the request
  HeaderCollector collector_{};
  std::array<char, CURL_ERROR_SIZE> reason_{};
  unsigned connected_ = 0;
  bool is_active_ = false;
  bool is_proxied_ = false;
  bool was_refused_ = false;
  bool is_too_long_ = false;
};

std::size_t Network::Transfer::take_header(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  switch (transfer.collector_.add(std::string_view(data, size))) {
    case HeaderCollector::State::kMore: return size;
    case HeaderCollector::State::kTooLong: transfer.is_too_long_ = true; return 0;
    case HeaderCollector::State::kComplete: break;
  }
  transfer.network_.has_answer_ = true;
  return transfer.receiver_.take_head(transfer.collector_.response()) ? size : 0;
}

std::size_t Network::Transfer::take_body(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.network_.bytes_ += size;
  transfer.network_.last_heard_ = transfer.network_.now_;
  transfer.network_.hosts_[transfer.authority_].last_heard = transfer.network_.now_;
  return transfer.receiver_.take_body(as_bytes(std::string_view(data, size))) ? size : 0;
}

// Decides by the address that is about to be used, so that a name cannot lead elsewhere than when it was checked.
curl_socket_t Network::Transfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (!transfer.may_use(kind_of(address->addr))) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Also called for a connection that is used again.
// NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's
int Network::Transfer::check_connection(void* self, char* address, char*, int, int) {
  return static_cast<Transfer*>(self)->may_use(kind_of_host(address)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

namespace {

constexpr long kBufferSize = 256 << 10;  // stays in a processor's cache until its bytes are copied
constexpr std::size_t kMostIdle = 16;

void set_limits(CURL* easy, std::chrono::seconds timeout) {
  const long seconds = std::max<long>(1, static_cast<long>(timeout.count()));
  // A transfer that is slower than this has stalled. Slow ones that go on have no limit.
  constexpr long kSlow = 1024;  // bytes a second
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSlow);
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, std::clamp(seconds / 3, 1L, 20L));
  ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, std::clamp(seconds / 2, 1L, 10L));
}

void set_common_options(CURL* easy) {
  ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  ::curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferSize);
  ::curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  ::curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  ::curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  ::curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
  ::curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
#if CURL_AT_LEAST_VERSION(7, 85, 0)
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if CURL_AT_LEAST_VERSION(7, 87, 0)
  // A transfer that is stopped does not wait for the thread that resolves its host.
  ::curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
  ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
}

// Of Debian, Arch and Gentoo; Fedora; openSUSE; Alpine and BSD.
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem",
                                    "/etc/ssl/cert.pem"};

// Returns whether the certificates exist that libcurl uses by default.
bool has_own_certificates() {
  const auto* const libcurl = ::curl_version_info(CURLVERSION_NOW);
  const auto is_there = [](const char* path) { return path != nullptr && ::access(path, R_OK) == 0; };
  return is_there(libcurl->cainfo) || is_there(libcurl->capath);
}

// Returns the file of certificates that the user has named, or that a distribution has if libcurl's own is missing.
// Empty if libcurl finds its own, or if there are none.
std::string certificates() {
  for (const char* const name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  if (has_own_certificates()) return {};
  for (const char* const bundle : kBundles) {
    if (::access(bundle, R_OK) == 0) return bundle;
  }
  return {};
}

}  // namespace

Error refused_address(std::string_view host) {
  return {
      .code = Code::kUnsupported,
      .detail = fmt::format("{} has a loopback or link-local address, which only URLs of the user may lead to", host)};
}

Result<std::unique_ptr<Network>> Network::create(const NetworkOptions& options) {
  if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return out_of_memory("libcurl");
  std::unique_ptr<Network> network(new Network(options));
  network->multi_ = ::curl_multi_init();
  if (network->multi_ == nullptr) return out_of_memory("libcurl");
  ::curl_multi_setopt(network->multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  ::curl_multi_setopt(network->multi_, CURLMOPT_MAXCONNECTS, 64L);
  // One connection has one window of TCP, however many streams it carries.
  ::curl_multi_setopt(network->multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 4L);
  network->certificates_ = certificates();
  return network;
}

Network::Network(const NetworkOptions& options) : options_(options) {}

Network::~Network() {
  while (!transfers_.empty()) stop(transfers_.front().get());
  for (CURL* const easy : idle_) ::curl_easy_cleanup(easy);
  ::curl_multi_cleanup(multi_);
}

unsigned Network::connected_addresses(const Transfer& transfer) { return transfer.connected_; }

Result<void> Network::configure(Transfer& transfer, const HttpRequest& request, const UrlParts& parts) {
  if (idle_.empty()) {
    transfer.easy_ = ::curl_easy_init();
  } else {
    transfer.easy_ = idle_.back();
    idle_.pop_back();
  }
  CURL* const easy = transfer.easy_;
  if (easy == nullptr) return out_of_memory("libcurl");
  set_common_options(easy);
  set_limits(easy, options_.timeout);
  if (!certificates_.empty()) ::curl_easy_setopt(easy, CURLOPT_CAINFO, certificates_.c_str());
  // Without TLS there is nothing to wait for: such connections serve one request at a time.
  ::curl_easy_setopt(easy, CURLOPT_PIPEWAIT, parts.scheme == "https" ? 1L : 0L);
  const std::string proxy = proxy_for(parts.scheme, parts.host, [](const char* name) { return std::getenv(name); });
  transfer.is_proxied_ = !proxy.empty();
  ::curl_easy_setopt(easy, CURLOPT_PROXY, proxy.c_str());
  ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  ::curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  if (request.method != "GET") ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty() || request.method == "POST") {
    transfer.body_ = request.body;
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.body_.size()));
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer.body_.c_str());
  }
  for (const std::string& header : request.headers) transfer.add_header(header);
  transfer.add_header("Accept-Encoding: identity");
  transfer.add_header("User-Agent: recordfs/" RECORDFS_VERSION);
  ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers_);
  const bool uses_netrc = transfer.options_.uses_netrc && !request.has_credentials;
  ::curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(uses_netrc ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
  ::curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, transfer.options_.is_fresh ? 1L : 0L);
  ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.reason_.data());
  ::curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::take_body);
  ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket);
  ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Transfer::check_connection);
  ::curl_easy_setopt(easy, CURLOPT_PREREQDATA, &transfer);
  return {};
}

Result<Network::Transfer*> Network::start(const HttpRequest& request, const TransferOptions& options,
                                          Receiver& receiver) {
  ASSIGN_OR_RETURN(const auto parts, parts_of(request.url));
  const unsigned kind = kind_of_host(parts.host);
  if ((kind & ~options.allowed_addresses) != 0) return refused_address(parts.host);
  auto made = std::make_unique<Transfer>(*this, options, receiver);
  made->authority_ = parts.authority();
  made->number_ = ++last_number_;
  TRY(configure(*made, request, parts));
  made->connected_ = kind;  // through a proxy, the name is all that is known
  Transfer* const transfer = transfers_.emplace_back(std::move(made)).get();
  transfer->place_ = std::prev(transfers_.end());
  Host& host = hosts_[transfer->authority_];
  if (may_activate(host)) {
    activate(*transfer);
  } else {
    host.waiting.push_back(transfer);
  }
  return transfer;
}

void Network::activate(Transfer& transfer) {
  ++hosts_[transfer.authority_].active;
  ++active_;
  transfer.is_active_ = true;
  ++requests_;
  ::curl_multi_add_handle(multi_, transfer.easy_);
}

void Network::stop(Transfer* transfer) {
  Host& host = hosts_[transfer->authority_];
  if (transfer->is_active_) {
    ::curl_multi_remove_handle(multi_, transfer->easy_);
  } else {
    std::erase(host.waiting, transfer);
  }
  release(transfer);
}

// Forgets a transfer that the multi handle no longer has, and starts those that waited for it.
void Network::release(Transfer* transfer) {
  const auto host = hosts_.find(transfer->authority_);
  if (idle_.size() < kMostIdle) {
    ::curl_easy_reset(transfer->easy_);
    idle_.push_back(std::exchange(transfer->easy_, nullptr));
  }
  const bool was_active = transfer->is_active_;
  transfers_.erase(transfer->place_);
  if (was_active) {
    --host->second.active;
    --active_;
  }
  if (host->second.active == 0 && host->second.waiting.empty()) hosts_.erase(host);
  activate_waiting();
}

// Serves the hosts with the fewest active transfers first, and among these the transfer that has waited for longest. So
// hosts with many transfers do not keep others from having any.
void Network::activate_waiting() {
  while (active_ < kMostActive) {
    Host* next = nullptr;
    const auto rank = [](const Host& host) { return std::pair(host.active, host.waiting.front()->number_); };
    for (auto& [name, host] : hosts_) {
      const bool may_be_next = may_activate(host) && !host.waiting.empty();
      if (may_be_next && (next == nullptr || rank(host) < rank(*next))) next = &host;
    }
    if (next == nullptr) return;
    Transfer* const transfer = next->waiting.front();
    next->waiting.pop_front();
    activate(*transfer);
  }
}

bool Network::is_queued(const Transfer& transfer) { return !transfer.is_active_; }

std::optional<std::chrono::steady_clock::time_point> Network::last_heard(const Transfer& transfer) const {
  const auto host = hosts_.find(transfer.authority_);
  if (host == hosts_.end()) return std::nullopt;
  const bool waits_for_all = is_queued(transfer) && host->second.active < kMostPerHost;
  return waits_for_all ? last_heard_ : host->second.last_heard;
}

short Network::wait(int descriptor, short events, std::chrono::milliseconds timeout) {
  short waited_for = 0;
  if ((events & POLLIN) != 0) waited_for |= CURL_WAIT_POLLIN;
  if ((events & POLLOUT) != 0) waited_for |= CURL_WAIT_POLLOUT;
  curl_waitfd extra{.fd = descriptor, .events = waited_for, .revents = 0};
  constexpr std::int64_t kLongest = 60'000;
  const auto most = static_cast<int>(std::clamp<std::int64_t>(timeout.count(), 0, kLongest));
  ::curl_multi_poll(multi_, &extra, 1, most, nullptr);
  return extra.revents;
}

namespace {

// Returns whether a part of a response is longer than libcurl accepts, such as a header line of 100 KiB. libcurl calls
// that out of memory before version 8.6.
bool exceeds_limit(CURL* easy, CURLcode code) {
  constexpr int kTooLarge = 100;  // CURLE_TOO_LARGE
  if (code != CURLE_OUT_OF_MEMORY && static_cast<int>(code) != kTooLarge) return false;
  curl_off_t first_byte = 0;
  ::curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
  return first_byte != 0;
}

}  // namespace

void Network::run() {
  now_ = std::chrono::steady_clock::now();
  int running = 0;
  ::curl_multi_perform(multi_, &running);
  int left = 0;
  while (const CURLMsg* const message = ::curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-union-access): libcurl's, and `msg` says which member it has
    TransferEnd end{.code = message->data.result};
    Transfer* transfer = nullptr;
    ::curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    long number = 0;
    long connections = 0;
    ::curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    ::curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
    ::curl_multi_remove_handle(multi_, easy);
    end.os_error = static_cast<int>(number);
    end.was_reused = connections == 0;
    end.was_refused = transfer->was_refused_ && end.code != CURLE_OK;
    end.reason = transfer->reason_[0] != '\0' ? transfer->reason_.data() : ::curl_easy_strerror(end.code);
    const bool is_unverified = end.code == CURLE_PEER_FAILED_VERIFICATION || end.code == CURLE_SSL_CACERT_BADFILE;
    if (is_unverified && certificates_.empty() && !has_own_certificates()) {
      end.reason += " (no certificates found: install ca-certificates, or set SSL_CERT_FILE)";
    }
    end.is_too_long = transfer->is_too_long_ || exceeds_limit(easy, end.code);
    transfer->receiver_.take_end(end);
    release(transfer);
  }
}

namespace {

// Keeps a response as a whole.
class WholeResponse final : public Receiver {
 public:
  static constexpr std::size_t kMost = 1u << 20;

  bool take_head(const HttpResponse& head) override {
    response = head;
    return true;
  }
  bool take_body(Bytes piece) override {
    if (piece.size() > kMost - response.body.size()) return false;
    response.body += as_text(piece);
    return true;
  }
  void take_end(const TransferEnd& transfer_end) override {
    end = transfer_end;
    is_complete = true;
  }

  HttpResponse response{};
  TransferEnd end{};
  bool is_complete = false;
};

}  // namespace

Result<HttpResponse> Network::send_once(const HttpRequest& request, std::chrono::milliseconds timeout) {
  // Runs on a network of its own: the receivers of this one may be in the middle of a call.
  ASSIGN_OR_RETURN(const auto network, create(options_));
  WholeResponse whole;
  TRY(network->start(request, {}, whole));
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!whole.is_complete) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Error{.code = Code::kIo, .detail = "no answer in time", .os_error = ETIMEDOUT};
    network->run();
    if (!whole.is_complete) network->wait(-1, 0, left);
  }
  requests_ += network->requests();
  bytes_ += network->bytes();
  if (whole.end.code != CURLE_OK) return Error{.code = Code::kIo, .detail = whole.end.reason, .os_error = EIO};
  return whole.response;
}

}  // namespace recordfs::fetch
