#include "core/fetch/origin.h"

#include "core/base/utf8.h"
#include "core/fetch/aws_profile.h"
#include "core/fetch/credentials.h"
#include "core/fetch/environment.h"
#include "core/fetch/http_origin.h"
#include "core/fetch/hugging_face.h"
#include "core/fetch/s3_origin.h"
#include "core/fetch/url.h"
#include "core/hash/digest.h"

namespace recordfs::fetch {
namespace {

struct Scheme {
  std::string_view name;
  std::unique_ptr<Origin> (*make)(const OriginOptions& options, const SendOnce& send);
};

std::unique_ptr<Origin> make_http(const OriginOptions&, const SendOnce&) { return http_origin(); }

std::unique_ptr<Origin> make_s3(const OriginOptions& options, const SendOnce& send) {
  Environment environment = process_environment();
  auto service = amazon_service(environment, options.sign);
  std::unique_ptr<CredentialSource> credentials = std::make_unique<FixedCredentials>(std::nullopt);
  if (options.sign) credentials = std::make_unique<AwsCredentials>(environment, send);
  return s3_origin(std::move(service), std::move(credentials), std::move(environment));
}

std::unique_ptr<Origin> make_google(const OriginOptions& options, const SendOnce&) {
  Environment environment = process_environment();
  auto service = google_service(environment, options.sign);
  std::unique_ptr<CredentialSource> credentials = std::make_unique<FixedCredentials>(std::nullopt);
  if (options.sign) credentials = google_credentials(environment);
  return s3_origin(std::move(service), std::move(credentials), std::move(environment));
}

std::unique_ptr<Origin> make_hugging_face(const OriginOptions& options, const SendOnce&) {
  return hugging_face(process_environment(), options.sign);
}

constexpr Scheme kSchemes[] = {
    {"http", make_http}, {"https", make_http}, {"s3", make_s3}, {"gs", make_google}, {"hf", make_hugging_face},
};

constexpr std::string_view kLowerDigits = "0123456789abcdef";
constexpr std::size_t kHashBytes = 6;
constexpr std::string_view kHidden = "...";  // before the hash of a query

// Returns whether a query is one that printable() has hidden.
bool is_hidden(std::string_view query) {
  return query.size() == kHidden.size() + 2 * kHashBytes && query.starts_with(kHidden) &&
         query.find_first_not_of(kLowerDigits, kHidden.size()) == std::string_view::npos;
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::unique_ptr<Origin> origin_for(const std::string& url, const OriginOptions& options, const SendOnce& send) {
  const auto parsed = parse_url(url);
  if (!parsed) return nullptr;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == parsed->scheme) return scheme.make(options, send);
  }
  return nullptr;
}

std::vector<std::string> files_of_credentials() {
  const Environment environment = process_environment();
  std::vector<std::string> files{credentials_file(environment), config_file(environment)};
  for (const char* const name : {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}) {
    files.push_back(environment.file(name, ""));
  }
  if (const auto profile = load_aws_profile(environment)) {
    files.emplace_back(profile->value("web_identity_token_file"));
  }
  files.push_back(hugging_face_token_file(environment));
  std::erase(files, "");
  return files;
}

std::string short_hash(std::string_view text) {
  Digester digester(DigestId::kSha256);
  digester.append(as_bytes(text));
  const Digest digest = digester.finish();
  std::string hash;
  for (const std::byte byte : digest.view().first(kHashBytes)) {
    hash += kLowerDigits[std::to_integer<std::size_t>(byte >> 4)];
    hash += kLowerDigits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
  }
  return hash;
}

std::string printable(const std::string& url) {
  auto parsed = parse_url(url);
  // What cannot be parsed may have a secret anywhere.
  if (!parsed) return std::string(kHidden);
  if (!parsed->is_http()) return recordfs::printable(url);
  if (!is_hidden(parsed->query) && may_be_secret(parsed->query)) {
    parsed->query = std::string(kHidden) + short_hash(parsed->query);
  }
  return parsed->text();
}

}  // namespace recordfs::fetch
