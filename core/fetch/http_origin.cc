#include "core/fetch/http_origin.h"

#include <cstdint>
#include <utility>

#include <nettle/base64.h>

#include "core/fetch/autoindex.h"
#include "core/fetch/http_failure.h"
#include "core/fetch/url.h"

namespace recordfs::fetch {
namespace {

HttpRequest request_for(const Url& url) {
  HttpRequest request;
  request.url = url.text();
  request.has_credentials = !url.userinfo.empty() || may_be_secret(url.query);
  if (!url.userinfo.empty()) request.headers.push_back(basic_authorization(url.userinfo));
  return request;
}

class HttpOrigin final : public Origin {
 public:
  Result<HttpRequest> object(const std::string& text, const ObjectRange& range) override {
    ASSIGN_OR_RETURN(const Url url, parse_url(text));
    HttpRequest request = request_for(url);
    append_range(range, request);
    return request;
  }

  Result<HttpRequest> list(const std::string& text, const std::string&) override {
    ASSIGN_OR_RETURN(Url url, parse_url(text));
    if (!url.path.ends_with('/')) url.path += '/';
    return request_for(url);
  }

  Result<Page> parse_list(const std::string&, const HttpResponse& response) const override {
    return parse_autoindex(response.body);
  }

  // Servers may show each user other files.
  std::string place(const std::string& text) const override {
    const auto url = parse_url(text);
    if (!url || url->userinfo.empty()) return {};
    return "user:" + percent_decoded(url->userinfo.substr(0, url->userinfo.find(':')));
  }

  Failure explain(const std::string& text, const HttpResponse& response) override {
    const auto url = parse_url(text);
    const bool is_signed = url && (!url->userinfo.empty() || may_be_secret(url->query));
    const bool is_refused = response.status == 401 || response.status == 403;
    if (is_refused && is_signed) {
      return http_failure(response.status, "access denied (the credentials in the URL may be wrong or have expired)");
    }
    if (response.status == 401) {
      return http_failure(response.status, "credentials are required (try: an entry of this host in ~/.netrc)");
    }
    if (is_refused && url && url->path.ends_with('/')) {
      return http_failure(response.status,
                          "access denied (to list a directory, nginx needs 'autoindex on; autoindex_format json;')");
    }
    return http_failure(response.status);
  }
};

}  // namespace

std::string basic_authorization(std::string_view userinfo) {
  std::string pair = percent_decoded(userinfo);
  if (pair.find(':') == std::string::npos) pair += ':';
  std::string encoded(BASE64_ENCODE_RAW_LENGTH(pair.size()), '\0');
  base64_encode_raw(encoded.data(), pair.size(), reinterpret_cast<const std::uint8_t*>(pair.data()));
  return "Authorization: Basic " + encoded;
}

std::unique_ptr<Origin> http_origin() { return std::make_unique<HttpOrigin>(); }

}  // namespace recordfs::fetch
