#include "core/fetch/s3_origin.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/utf8.h"
#include "core/fetch/aws_profile.h"
#include "core/fetch/http_date.h"
#include "core/fetch/http_failure.h"
#include "core/fetch/s3_listing.h"
#include "core/fetch/sigv4.h"

namespace recordfs::fetch {
namespace {

using std::chrono::seconds;

// Parameters of a query, which are sorted by name.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// An object or directory.
struct Key {
  std::string bucket;
  std::string name;
};

Result<Key> parse_key(const std::string& url) {
  constexpr std::size_t kShortestBucket = 3;
  constexpr std::size_t kLongestBucket = 255;
  ASSIGN_OR_RETURN(Url parsed, parse_url(url));
  Key key{.bucket = parsed.host, .name = parsed.path.empty() ? "" : parsed.path.substr(1)};
  if (key.bucket.size() < kShortestBucket || key.bucket.size() > kLongestBucket || key.bucket.starts_with('.')) {
    return unsupported("no name of a bucket");
  }
  if (key.bucket.ends_with("--x-s3")) return unsupported("directory buckets (S3 Express) are not supported");
  if (recordfs::printable(key.name) != key.name) return unsupported("a key with control characters");
  return key;
}

// Returns whether a bucket's name can be the first label of a host that a certificate of "*.s3.REGION..." covers.
bool is_label(std::string_view bucket) {
  constexpr std::size_t kLongestLabel = 63;
  return bucket.size() <= kLongestLabel && bucket.front() != '-' && bucket.back() != '-' &&
         std::ranges::all_of(bucket,
                             [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::string query_of(Parameters parameters) {
  std::ranges::sort(parameters);
  std::string query;
  for (const auto& [name, value] : parameters) {
    query += (query.empty() ? "?" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  }
  return query;
}

template <std::size_t kSize>
bool is_one_of(std::string_view code, const std::array<std::string_view, kSize>& codes) {
  return std::ranges::find(codes, code) != codes.end();
}

bool is_of_refused_keys(std::string_view code) {
  constexpr std::array<std::string_view, 5> kCodes = {"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                                      "TokenRefreshRequired", "InvalidAccessKeyId"};
  return is_one_of(code, kCodes);
}

bool may_pass(std::string_view code) {
  constexpr std::array<std::string_view, 9> kCodes = {
      "InternalError",  "ServiceUnavailable",     "SlowDown",        "RequestTimeout",  "RequestTimeoutException",
      "RequestExpired", "BandwidthLimitExceeded", "TooManyRequests", "OperationAborted"};
  return is_one_of(code, kCodes) || code.starts_with("Throttl");
}

class S3Origin final : public Origin {
 public:
  S3Origin(Result<S3Service> service, std::unique_ptr<CredentialSource> credentials, Environment environment)
      : service_(std::move(service)), credentials_(std::move(credentials)), environment_(std::move(environment)) {
    if (service_) region_ = service_->region;
  }

  Result<HttpRequest> object(const std::string& url, const ObjectRange& range) override {
    ASSIGN_OR_RETURN(const Key key, parse_key(url));
    if (key.name.empty()) return system_error(EISDIR);
    Parameters parameters;
    if (!range.version.empty()) parameters.emplace_back("versionId", range.version);
    ASSIGN_OR_RETURN(HttpRequest request, request_for(key, std::move(parameters)));
    append_range(range, request);
    return authorized(std::move(request));
  }

  Result<HttpRequest> list(const std::string& url, const std::string& page) override {
    ASSIGN_OR_RETURN(const Key key, parse_key(url));
    Parameters parameters{{"list-type", "2"},
                          {"delimiter", "/"},
                          {"encoding-type", "url"},
                          {"max-keys", "1000"},
                          {"prefix", prefix_of(key)}};
    if (!page.empty()) parameters.emplace_back("continuation-token", page);
    ASSIGN_OR_RETURN(HttpRequest request, request_for({.bucket = key.bucket, .name = ""}, std::move(parameters)));
    return authorized(std::move(request));
  }

  Result<Page> parse_list(const std::string& url, const HttpResponse& response) const override {
    ASSIGN_OR_RETURN(const Key key, parse_key(url));
    return parse_s3_listing(response.body, prefix_of(key));
  }

  Failure explain(const std::string& url, const HttpResponse& response) override;

  std::string place(const std::string&) const override {
    return service_ && service_->endpoint ? service_->endpoint->text() : std::string();
  }

 private:
  static std::string prefix_of(const Key& directory) {
    const bool is_complete = directory.name.empty() || directory.name.ends_with('/');
    return is_complete ? directory.name : directory.name + "/";
  }

  Result<HttpRequest> request_for(const Key& key, Parameters parameters) const;
  Result<HttpRequest> authorized(HttpRequest request);

  // Returns whether requests are signed otherwise from now on.
  bool learn_region(const HttpResponse& response, const S3Error& error);
  bool learn_time(const HttpResponse& response);
  // Returns the text for a status with a code.
  std::string explanation_of(long status, const S3Error& error) const;
  // Returns whether a text of a server has a secret of a request in it.
  bool has_secret(std::string_view text) const;

  const Result<S3Service> service_;
  const std::unique_ptr<CredentialSource> credentials_;
  const Environment environment_;
  std::string region_;
  seconds server_is_ahead_{0};
  std::optional<Credentials> last_used_;
};

Result<HttpRequest> S3Origin::request_for(const Key& key, Parameters parameters) const {
  TRY(service_);
  HttpRequest request;
  const std::string name = percent_encoded(key.name, "/");
  if (service_->endpoint) {
    const Url& endpoint = *service_->endpoint;
    request.url = endpoint.scheme + "://" + endpoint.authority() + endpoint.path + "/" + key.bucket;
    if (!name.empty()) request.url += "/" + name;
  } else {
    const bool is_in_host = is_label(key.bucket);
    const std::string domain = region_.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    const std::string host = "s3." + region_ + domain;
    request.url = "https://" + (is_in_host ? key.bucket + "." + host : host + "/" + key.bucket);
    if (is_in_host || !name.empty()) request.url += "/" + name;
  }
  request.url += query_of(std::move(parameters));
  if (service_->is_requester_pays) request.headers.emplace_back("x-amz-request-payer: requester");
  return request;
}

Result<HttpRequest> S3Origin::authorized(HttpRequest request) {
  if (!service_->bearer.empty()) {
    request.headers.push_back("Authorization: Bearer " + service_->bearer);
    request.has_credentials = true;
    return request;
  }
  ASSIGN_OR_RETURN(const Credentials* const credentials, credentials_->get());
  last_used_ = credentials == nullptr ? std::nullopt : std::optional(*credentials);
  if (credentials == nullptr) return request;
  const SigningScope scope{.region = region_, .service = "s3", .time = environment_.now() + server_is_ahead_};
  sign(*credentials, scope, request);
  return request;
}

bool S3Origin::learn_region(const HttpResponse& response, const S3Error& error) {
  std::string region(response.header("x-amz-bucket-region"));
  const bool is_named = error.code == "AuthorizationHeaderMalformed" || error.code == "PermanentRedirect" ||
                        error.code == "IllegalLocationConstraintException";
  if (region.empty() && is_named) region = error.region;
  if (!is_region(region) || region == region_) return false;
  region_ = std::move(region);
  return true;
}

bool S3Origin::learn_time(const HttpResponse& response) {
  constexpr seconds kTolerated(60);
  const auto date = parse_http_date(response.header("date"));
  if (!date) return false;
  const auto ahead = seconds(*date) - std::chrono::duration_cast<seconds>(environment_.now().time_since_epoch());
  if (ahead > server_is_ahead_ - kTolerated && ahead < server_is_ahead_ + kTolerated) return false;
  server_is_ahead_ = ahead;
  return true;
}

Failure S3Origin::explain(const std::string&, const HttpResponse& response) {
  const S3Error error = parse_s3_error(response.body);
  const bool is_missing = response.status == 404;
  Failure failure = http_failure(response.status, explanation_of(response.status, error));
  if (error.code == "NoSuchKey" || error.code == "NoSuchBucket" || error.code == "NoSuchVersion") {
    failure.error.os_error = ENOENT;
  }
  if (may_pass(error.code)) failure.advice = Advice::kRetry;
  const bool is_refused = response.status == 401 || response.status == 403 || is_of_refused_keys(error.code);
  if (is_refused) failure.error.os_error = EACCES;
  const bool is_skewed = error.code == "RequestTimeTooSkewed" || error.code == "RequestExpired";
  const bool may_differ = (!is_missing && learn_region(response, error)) || (is_skewed && learn_time(response)) ||
                          (is_refused && (is_of_refused_keys(error.code) || !last_used_) && credentials_->renew());
  if (may_differ) failure.advice = Advice::kSignAgain;
  return failure;
}

std::string S3Origin::explanation_of(long status, const S3Error& error) const {
  if (error.code == "NoSuchKey") return "no such key";
  if (error.code == "NoSuchBucket") return "no such bucket";
  if (error.code == "InvalidObjectState") {
    return "the object is archived (restore it first: aws s3api restore-object)";
  }
  if (error.code == "RequestTimeTooSkewed") return "the clocks of this machine and of the server differ too much";
  if (is_of_refused_keys(error.code)) return error.code + ": the credentials have expired or are wrong";
  if (error.code == "SignatureDoesNotMatch") {
    return error.code + ": the secret key is wrong, or a proxy has changed the request";
  }
  if (error.code == "PermanentRedirect" || error.code == "AuthorizationHeaderMalformed") {
    return "the bucket is in another region (set AWS_REGION)";
  }
  const bool is_anonymous = !last_used_ && service_ && service_->bearer.empty();
  if ((status == 401 || status == 403) && (error.code == "AccessDenied" || error.code.empty())) {
    if (is_anonymous) return "access denied, and no credentials were used (" + service_->hint + ")";
    return "access denied (or no such key, if the credentials may not list the bucket)";
  }
  if (error.code.empty()) return {};
  const bool is_shown = !error.message.empty() && !has_secret(error.message);
  return quoted_text(error.code) + (is_shown ? ": " + quoted_text(error.message) : "");
}

bool S3Origin::has_secret(std::string_view text) const {
  const auto is_in_text = [&](const std::string& secret) {
    return !secret.empty() && text.find(secret) != std::string_view::npos;
  };
  if (text.find("Signature=") != std::string_view::npos || (service_ && is_in_text(service_->bearer))) return true;
  return last_used_ && (is_in_text(last_used_->access_key) || is_in_text(last_used_->secret_key) ||
                        is_in_text(last_used_->session_token));
}

}  // namespace

std::unique_ptr<Origin> s3_origin(Result<S3Service> service, std::unique_ptr<CredentialSource> credentials,
                                  Environment environment) {
  return std::make_unique<S3Origin>(std::move(service), std::move(credentials), std::move(environment));
}

}  // namespace recordfs::fetch
