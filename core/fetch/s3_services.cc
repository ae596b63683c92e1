// The services of Amazon and Google as the environment configures them.
#include "core/fetch/aws_profile.h"
#include "core/fetch/s3_origin.h"

namespace recordfs::fetch {
namespace {

// The hint for a user of --no-sign-request.
constexpr const char* kUnsigned = "omit --no-sign-request to use yours";

Result<Url> endpoint_of(const std::string& text, const std::string& setting) {
  auto url = parse_url(text);
  if (!url || !url->is_http() || !url->userinfo.empty() || !url->query.empty()) {
    return unsupported(setting + " is no URL of a service (https://HOST[:PORT])");
  }
  while (url->path.ends_with('/')) url->path.pop_back();
  return url;
}

}  // namespace

Result<S3Service> amazon_service(const Environment& environment, bool sign) {
  auto profile = load_aws_profile(environment);
  if (!profile && !sign) profile = AwsProfile{};
  TRY(profile);
  S3Service service;
  service.region = configured_region(environment, *profile);
  if (service.region.empty()) service.region = "us-east-1";
  if (!is_region(service.region)) {
    return unsupported("the AWS region is no name of a region");
  }
  service.is_requester_pays = environment.variable("AWS_REQUEST_PAYER") == "requester";
  service.hint = sign ? "set AWS_ACCESS_KEY_ID or AWS_PROFILE" : kUnsigned;

  if (environment.is_set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return service;
  for (const char* const name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    const std::string endpoint = environment.variable(name);
    if (endpoint.empty()) continue;
    ASSIGN_OR_RETURN(service.endpoint, endpoint_of(endpoint, name));
    return service;
  }
  if (const std::string endpoint(profile->value("endpoint_url")); !endpoint.empty()) {
    ASSIGN_OR_RETURN(service.endpoint, endpoint_of(endpoint, "endpoint_url of the AWS profile"));
  }
  return service;
}

Result<S3Service> google_service(const Environment& environment, bool sign) {
  S3Service service;
  service.region = "auto";
  service.hint = sign ? "set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, or GOOGLE_OAUTH_ACCESS_TOKEN" : kUnsigned;
  std::string endpoint = environment.variable("STORAGE_EMULATOR_HOST");
  if (endpoint.empty()) {
    endpoint = "https://storage.googleapis.com";
  } else if (endpoint.find("://") == std::string::npos) {
    endpoint.insert(0, "http://");
  }
  ASSIGN_OR_RETURN(service.endpoint, endpoint_of(endpoint, "STORAGE_EMULATOR_HOST"));
  if (sign) service.bearer = trimmed(environment.variable("GOOGLE_OAUTH_ACCESS_TOKEN"));
  if (service.bearer.find_first_of("\r\n") != std::string::npos) {
    return unsupported("GOOGLE_OAUTH_ACCESS_TOKEN has several lines");
  }
  return service;
}

std::unique_ptr<CredentialSource> google_credentials(const Environment& environment) {
  Credentials keys{.access_key = environment.variable("GS_ACCESS_KEY_ID"),
                   .secret_key = environment.variable("GS_SECRET_ACCESS_KEY")};
  const bool is_complete = !keys.access_key.empty() && !keys.secret_key.empty();
  return std::make_unique<FixedCredentials>(is_complete ? std::optional(std::move(keys)) : std::nullopt);
}

}  // namespace recordfs::fetch
