// Origin: where the objects of a scheme are, and how a server of that kind is asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/remote/protocol.h"

namespace recordfs::fetch {

// A request of HTTP, complete but for the headers that every request of the fetcher has.
struct HttpRequest {
  std::string method = "GET";
  std::string url;                   // as it is sent: encoded; http or https
  std::vector<std::string> headers;  // "Name: value"
  bool has_credentials = false;      // headers, or the URL's query, are not for another host
  std::string body{};
};

struct HttpResponse {
  long status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;  // of a listing: all of it, at most 16 MiB; of an error: at most its first 64 KiB; else empty

  // Returns the first header with this name, given in lower case; empty: none.
  std::string_view header(std::string_view name) const;
};

// Which bytes of an object are wanted, and of which version of it.
struct ObjectRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;   // 0: the whole object, in a request without a range
  std::string if_match{};  // a strong ETag, with its quotes; empty: any version
  std::string version{};   // x-amz-version-id of an earlier response, or Linked::version; empty: none
};

enum class Advice : std::uint8_t {
  kFail,       // the same request would fail again
  kRetry,      // later, with backoff
  kSignAgain,  // at once with a new request from object() or list(): the region or the credentials have changed
};

// A failure as users read it: what the server's answer means.
struct Failure {
  Advice advice = Advice::kFail;
  Error error{};
};

// Sends one request and waits for the response, at most as long as `timeout`. For credentials, so it may connect to
// addresses of metadata services; never follows redirects.
using SendOnce = std::function<Result<HttpResponse>(const HttpRequest& request, std::chrono::milliseconds timeout)>;

// Used by one thread.
class Origin {
 public:
  virtual ~Origin() = default;

  // Returns the request for bytes of an object, with its Range and If-Match. Fails with kIo (EACCES) if there are no
  // credentials where some are needed, and with kUnsupported if the URL or a configuration cannot be used. May wait for
  // credentials.
  virtual Result<HttpRequest> object(const std::string& url, const ObjectRange& range) = 0;
  // Returns the request for a page of a directory. `page` is empty, or the one of the page before. Fails as object().
  virtual Result<HttpRequest> list(const std::string& url, const std::string& page) = 0;

  struct Page {
    std::vector<remote::Entry> entries;
    std::string next;  // empty: this was the last page
  };
  // Returns what a response to list(url, page) with status 200 contains. Fails with kUnsupported if it is no listing,
  // with kDamage if it is malformed, and with kIo (ENOENT) if it shows that there is no such directory.
  virtual Result<Page> parse_list(const std::string& url, const HttpResponse& response) const = 0;

  // Returns what a response with another status than 200, 206 or a followed redirect means. Learns from it: another
  // region, refused credentials, a clock that differs.
  virtual Failure explain(const std::string& url, const HttpResponse& response) = 0;

  // Facts of an object that only a redirect's response has, as Hugging Face sends them. The ETag of the redirect's
  // target is another one.
  struct Linked {
    std::optional<std::uint64_t> size{};
    std::string etag{};     // strong, with its quotes; empty: none
    std::string version{};  // for ObjectRange::version of later requests; empty: none
  };
  virtual Linked linked(const HttpResponse&) const { return {}; }

  // Returns what decides, besides the printable URL, which object a URL means: the service that the environment names,
  // or the user in the userinfo. Empty: nothing else does. May be a secret.
  virtual std::string place(const std::string& /*url*/) const { return {}; }
};

// What the user has chosen, by options and by the environment of the fetcher.
struct OriginOptions {
  bool sign = true;  // --no-sign-request
};

// Returns the origin of a URL's scheme: http and https, s3, gs, hf; null: there is none. The one of a URL serves all
// URLs with the same scheme and host, which it does not outlive.
std::unique_ptr<Origin> origin_for(const std::string& url, const OriginOptions& options, const SendOnce& send);

// Returns the files and directories outside of the system's that origins may read, whether they exist or not: those of
// credentials. Thread-safe as getenv(3) is.
std::vector<std::string> files_of_credentials();

// Returns a URL as it may be printed: without userinfo, and with a hash in place of a query that may have a secret in
// it. Returns the result itself unchanged. Thread-safe.
std::string printable(const std::string& url);

// Returns the first 6 bytes of the SHA-256 of a text, in hexadecimal. Thread-safe.
std::string short_hash(std::string_view text);

}  // namespace recordfs::fetch
