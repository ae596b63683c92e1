// Redirects, which the fetcher follows itself.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/fetch/origin.h"

namespace recordfs::fetch {

inline constexpr int kMostRedirects = 5;

// The parts of a URL that decide where a request goes.
struct UrlParts {
  std::string scheme;
  std::string host;
  std::string port;  // also if it is the scheme's
  std::string path;

  // Returns "https://host:443".
  std::string authority() const { return scheme + "://" + host + ':' + port; }
};

// Fails with kUnsupported if the URL cannot be parsed, or is neither http nor https.
Result<UrlParts> parts_of(const std::string& url);

// Returns whether a response is a redirect to be followed.
bool is_redirect(const HttpResponse& response);

// Returns the request that a redirect asks for. On another host, port or scheme it has no credentials. Fails with kIo
// if the redirect has no usable target, and with kUnsupported if it leads to another scheme, or from https to http.
Result<HttpRequest> follow(const HttpRequest& request, const HttpResponse& response);

// Returns a request for another range from the target of an earlier redirect.
HttpRequest request_for_target(const HttpRequest& target, const ObjectRange& range);

// Returns whether one URL is the other with a slash after its path, as servers redirect to a directory.
bool is_directory_of(const std::string& target, const std::string& url);

}  // namespace recordfs::fetch
