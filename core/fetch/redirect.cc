#include "core/fetch/redirect.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/fetch/http_failure.h"
#include "core/fetch/http_headers.h"

namespace recordfs::fetch {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, FreeUrl>;

std::string part(const CurlUrl& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (::curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string result(text);
  ::curl_free(text);
  return result;
}

std::optional<UrlParts> parts_in(const CurlUrl& url) {
  UrlParts parts{.scheme = lower_case(part(url, CURLUPART_SCHEME)),
                 .host = lower_case(part(url, CURLUPART_HOST)),
                 .port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT),
                 .path = part(url, CURLUPART_PATH)};
  if (parts.host.empty() || parts.port.empty()) return std::nullopt;
  return parts;
}

constexpr unsigned kParsing = CURLU_PATH_AS_IS | CURLU_NON_SUPPORT_SCHEME;

// The headers that another host may have.
bool is_for_everyone(const std::string& header) {
  constexpr std::array<std::string_view, 2> kNames = {"range:", "if-match:"};
  const std::string name = lower_case(header.substr(0, header.find(':') + 1));
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_web(std::string_view scheme) { return scheme == "http" || scheme == "https"; }

}  // namespace

Result<UrlParts> parts_of(const std::string& url) {
  const CurlUrl parsed(::curl_url());
  if (!parsed) return out_of_memory("URL");
  std::optional<UrlParts> parts;
  if (::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), kParsing) == CURLUE_OK) parts = parts_in(parsed);
  if (!parts || !is_web(parts->scheme)) return Error{.code = Code::kUnsupported, .detail = "malformed URL"};
  return *parts;
}

bool is_redirect(const HttpResponse& response) {
  constexpr std::array<long, 5> kStatuses = {301, 302, 303, 307, 308};
  if (std::ranges::find(kStatuses, response.status) == kStatuses.end()) return false;
  // S3 names the region of a bucket so, which takes another signature.
  return !response.header("location").empty() && response.header("x-amz-bucket-region").empty();
}

Result<HttpRequest> follow(const HttpRequest& request, const HttpResponse& response) {
  const CurlUrl url(::curl_url());
  if (!url) return out_of_memory("URL");
  const auto bad_target = [] { return Error{.code = Code::kIo, .detail = "malformed redirect", .os_error = EIO}; };
  const std::string location(response.header("location"));
  if (::curl_url_set(url.get(), CURLUPART_URL, request.url.c_str(), kParsing) != CURLUE_OK) return bad_target();
  const auto from = parts_in(url);
  // Relative to the URL before.
  if (::curl_url_set(url.get(), CURLUPART_URL, location.c_str(), kParsing | CURLU_URLENCODE) != CURLUE_OK) {
    return bad_target();
  }
  const std::string scheme = lower_case(part(url, CURLUPART_SCHEME));
  if (!is_web(scheme)) {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("redirect to a URL of another scheme ({}), which is not followed", scheme)};
  }
  const auto to = parts_in(url);
  if (!from || !to) return bad_target();
  if (from->scheme == "https" && to->scheme == "http") {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("redirect from https to http ({}), which is not followed", to->host)};
  }
  for (const CURLUPart dropped : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_FRAGMENT}) {
    ::curl_url_set(url.get(), dropped, nullptr, 0);
  }
  HttpRequest next{.method = "GET", .url = part(url, CURLUPART_URL), .headers = request.headers};
  if (next.url.empty()) return bad_target();
  if (from->authority() == to->authority()) {
    next.has_credentials = request.has_credentials;
  } else {
    std::erase_if(next.headers, [](const std::string& header) { return !is_for_everyone(header); });
  }
  return next;
}

HttpRequest request_for_target(const HttpRequest& target, const ObjectRange& range) {
  HttpRequest request = target;
  std::erase_if(request.headers, is_for_everyone);
  append_range(range, request);
  return request;
}

bool is_directory_of(const std::string& target, const std::string& url) {
  const auto without_query = [](const std::string& text) { return text.substr(0, text.find_first_of("?#")); };
  return without_query(target) == without_query(url) + '/';
}

}  // namespace recordfs::fetch
