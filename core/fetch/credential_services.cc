#include "core/fetch/credential_services.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/parse_number.h"
#include "core/fetch/aws_profile.h"
#include "core/fetch/http_failure.h"
#include "core/fetch/json_objects.h"
#include "core/fetch/s3_listing.h"
#include "core/fetch/url.h"
#include "core/fetch/xml.h"

namespace recordfs::fetch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTokenServiceTimeout = seconds(10);
constexpr milliseconds kContainerTimeout = seconds(2);
constexpr milliseconds kMachineTimeout = seconds(1);
constexpr long kOk = 200;

Error failed(std::string_view service, const std::string& why) {
  return {.code = Code::kIo, .detail = std::string(service) + ": " + why, .os_error = EACCES};
}

// Sends a request again if there is no answer, or that of a server in trouble.
Result<HttpResponse> send_twice(const SendOnce& send, const HttpRequest& request, milliseconds timeout) {
  auto response = send(request, timeout);
  const bool may_pass = !response || http_failure(response->status).advice == Advice::kRetry;
  return may_pass ? send(request, timeout) : response;
}

Result<Credentials> valid(Credentials credentials, std::string_view expires, std::string_view service) {
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return Error{.code = Code::kDamage, .detail = std::string(service) + ": an answer without keys"};
  }
  // A line break would end a header.
  for (const std::string* const key : {&credentials.access_key, &credentials.session_token}) {
    if (std::ranges::any_of(*key, [](char c) { return c <= ' ' || c > '~'; })) {
      return Error{.code = Code::kDamage, .detail = std::string(service) + ": an answer with malformed keys"};
    }
  }
  credentials.expires = parse_time(expires);
  if (!expires.empty() && !credentials.expires) {
    return Error{.code = Code::kDamage, .detail = std::string(service) + ": a malformed time of expiry"};
  }
  return credentials;
}

Result<Credentials> parse_json_credentials(const HttpResponse& response, std::string_view service) {
  Credentials credentials;
  std::string expires;
  TRY(for_each_object(response.body, [&](const JsonObject& object) -> Result<void> {
    credentials = {.access_key = std::string(object["AccessKeyId"]),
                   .secret_key = std::string(object["SecretAccessKey"]),
                   .session_token = std::string(object["Token"])};
    expires = object["Expiration"];
    return {};
  }));
  return valid(std::move(credentials), expires, service);
}

// Returns whether a container's credentials may come from this URL: over TLS, from this machine, or from the agents of
// ECS and EKS.
bool is_for_containers(const Url& url) {
  constexpr std::array<std::string_view, 5> kHosts = {"localhost", "[::1]", "169.254.170.2", "169.254.170.23",
                                                      "[fd00:ec2::23]"};
  constexpr std::string_view kLoopback = "127.";
  if (url.scheme == "https") return true;
  const bool is_loopback =
      url.host.starts_with(kLoopback) && url.host.find_first_not_of("0123456789.") == std::string::npos;
  return url.scheme == "http" && (is_loopback || std::ranges::find(kHosts, url.host) != kHosts.end());
}

}  // namespace

Result<Credentials> web_identity_credentials(const WebIdentity& identity, const Environment& environment,
                                             const SendOnce& send) {
  constexpr std::string_view kService = "AssumeRoleWithWebIdentity";
  ASSIGN_OR_RETURN(const std::string token, read_small_file(identity.token_file));
  std::string session = identity.session_name;
  if (session.empty()) {
    const auto now = std::chrono::duration_cast<seconds>(environment.now().time_since_epoch());
    session = "recordfs-" + std::to_string(now.count());
  }
  std::string endpoint = environment.variable("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) {
    const std::string region = identity.region.empty() ? "us-east-1" : identity.region;
    if (!is_region(region)) return unsupported("the AWS region is no name of a region");
    endpoint = "https://sts." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  }
  ASSIGN_OR_RETURN(const Url url, parse_url(endpoint));
  if (!url.is_http()) return unsupported("AWS_ENDPOINT_URL_STS is no URL of http");

  HttpRequest request;
  request.method = "POST";
  request.url = url.text();
  request.headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: text/xml"};
  request.has_credentials = true;
  request.body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + percent_encoded(identity.role) +
                 "&RoleSessionName=" + percent_encoded(session) +
                 "&WebIdentityToken=" + percent_encoded(trimmed(token));
  ASSIGN_OR_RETURN(const HttpResponse response, send_twice(send, request, kTokenServiceTimeout));

  Credentials credentials;
  std::string expires;
  std::string code;
  const auto read = for_each_element(response.body, [&](const std::string& path, const std::string& text) {
    if (path.ends_with("/Credentials/AccessKeyId")) credentials.access_key = text;
    if (path.ends_with("/Credentials/SecretAccessKey")) credentials.secret_key = text;
    if (path.ends_with("/Credentials/SessionToken")) credentials.session_token = text;
    if (path.ends_with("/Credentials/Expiration")) expires = text;
    if (path.ends_with("Error/Code")) code = text;
    return Result<void>();
  });
  if (response.status != kOk) {
    return failed(kService, http_failure(response.status, quoted_text(code)).error.detail);
  }
  TRY(read);
  return valid(std::move(credentials), expires, kService);
}

Result<Credentials> container_credentials(const Environment& environment, const SendOnce& send) {
  constexpr std::string_view kService = "credentials of the container";
  const std::string relative = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty() && !relative.starts_with('/')) {
    return unsupported("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
  }
  ASSIGN_OR_RETURN(const Url url, parse_url(relative.empty() ? full : "http://169.254.170.2" + relative));
  if (!is_for_containers(url)) {
    return unsupported("AWS_CONTAINER_CREDENTIALS_FULL_URI names a host that is not allowed without TLS");
  }
  std::string token = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string token_file = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!token_file.empty()) {
    ASSIGN_OR_RETURN(token, read_small_file(token_file));
    token = trimmed(token);
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    return unsupported("the container's authorization token has several lines");
  }
  HttpRequest request;
  request.url = url.text();
  request.headers = {"Accept: application/json"};
  if (!token.empty()) request.headers.push_back("Authorization: " + token);
  request.has_credentials = true;
  ASSIGN_OR_RETURN(const HttpResponse response, send_twice(send, request, kContainerTimeout));
  if (response.status != kOk) return failed(kService, http_failure(response.status).error.detail);
  return parse_json_credentials(response, kService);
}

Result<std::optional<Credentials>> machine_credentials(const Environment& environment, const SendOnce& send) {
  constexpr std::string_view kService = "credentials of the machine";
  constexpr std::string_view kRoles = "/latest/meta-data/iam/security-credentials/";
  std::string endpoint = environment.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (endpoint.empty()) endpoint = "http://169.254.169.254";
  ASSIGN_OR_RETURN(Url url, parse_url(endpoint));
  const auto at = [&](std::string_view path) {
    url.path = path;
    return url.text();
  };

  HttpRequest request;
  request.method = "PUT";
  request.url = at("/latest/api/token");
  request.headers = {"x-aws-ec2-metadata-token-ttl-seconds: 21600"};
  const auto token = send(request, kMachineTimeout);
  const bool is_token = token && token->status == kOk && !token->body.empty() &&
                        std::ranges::all_of(token->body, [](char c) { return c > ' ' && c <= '~'; });
  if (!is_token) return std::optional<Credentials>();

  request.method = "GET";
  request.headers = {"x-aws-ec2-metadata-token: " + token->body};
  request.has_credentials = true;
  request.url = at(kRoles);
  const auto roles = send(request, kMachineTimeout);
  if (!roles || roles->status != kOk) return std::optional<Credentials>();
  const std::string_view role = trimmed(std::string_view(roles->body).substr(0, roles->body.find('\n')));
  if (role.empty()) return std::optional<Credentials>();

  request.url = at(std::string(kRoles) + percent_encoded(role));
  ASSIGN_OR_RETURN(const HttpResponse response, send_twice(send, request, kMachineTimeout));
  if (response.status != kOk) return failed(kService, http_failure(response.status).error.detail);
  ASSIGN_OR_RETURN(auto credentials, parse_json_credentials(response, kService));
  return std::optional(std::move(credentials));
}

std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() < kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !is_digit(text[i]) : text[i] != kForm[i]) return std::nullopt;
  }
  std::string_view rest = text.substr(kForm.size());
  if (rest.starts_with('.')) rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  if (rest != "Z" && rest != "+00:00" && rest != "+0000") return std::nullopt;

  const auto number = [&](std::size_t at, std::size_t size) {
    return parse_number<int>(text.substr(at, size)).value_or(0);
  };
  std::tm parts{};
  parts.tm_year = number(0, 4) - 1900;
  parts.tm_mon = number(5, 2) - 1;
  parts.tm_mday = number(8, 2);
  parts.tm_hour = number(11, 2);
  parts.tm_min = number(14, 2);
  parts.tm_sec = number(17, 2);
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace recordfs::fetch
