#include "core/fetch/credentials.h"

#include <utility>

#include "core/fetch/aws_profile.h"
#include "core/fetch/credential_services.h"

namespace recordfs::fetch {
namespace {

using std::chrono::minutes;

constexpr auto kBeforeExpiry = minutes(5);
constexpr auto kBetweenLooks = minutes(1);

// Returns keys if the first of them is set.
Result<std::optional<Credentials>> pair_of(Credentials credentials, const std::string& place) {
  if (credentials.access_key.empty()) return std::optional<Credentials>();
  if (credentials.secret_key.empty()) return unsupported(place + " has an access key and no secret key");
  for (const std::string* const key : {&credentials.access_key, &credentials.session_token}) {
    if (key->find_first_of(" \t\r\n") != std::string::npos) return unsupported(place + " has a malformed key");
  }
  return std::optional(std::move(credentials));
}

Result<std::optional<Credentials>> of_variables(const Environment& environment) {
  Credentials found{.access_key = environment.variable("AWS_ACCESS_KEY_ID"),
                    .secret_key = environment.variable("AWS_SECRET_ACCESS_KEY"),
                    .session_token = environment.variable("AWS_SESSION_TOKEN")};
  if (found.session_token.empty()) found.session_token = environment.variable("AWS_SECURITY_TOKEN");
  return pair_of(std::move(found), "the environment");
}

Result<std::optional<Credentials>> of_section(const IniSection& section, const std::string& place) {
  const auto value = [&](std::string_view name) {
    const auto found = section.find(name);
    return found == section.end() ? std::string() : found->second;
  };
  Credentials found{.access_key = value("aws_access_key_id"),
                    .secret_key = value("aws_secret_access_key"),
                    .session_token = value("aws_session_token")};
  if (found.session_token.empty()) found.session_token = value("aws_security_token");
  return pair_of(std::move(found), place);
}

std::optional<WebIdentity> web_identity_of(const Environment& environment, const AwsProfile& profile) {
  const auto setting = [&](const char* variable, std::string_view name) {
    std::string value = environment.variable(variable);
    return value.empty() ? std::string(profile.value(name)) : value;
  };
  WebIdentity identity{.token_file = setting("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"),
                       .role = setting("AWS_ROLE_ARN", "role_arn"),
                       .session_name = setting("AWS_ROLE_SESSION_NAME", "role_session_name"),
                       .region = configured_region(environment, profile)};
  if (identity.token_file.empty() || identity.role.empty()) return std::nullopt;
  return identity;
}

Error unusable(const AwsProfile& profile, const char* what) {
  return unsupported("the AWS profile '" + profile.name + "' uses " + what +
                     ", which recordfs does not support (try: eval \"$(aws configure export-credentials --profile " +
                     profile.name + " --format env)\")");
}

Result<std::optional<Credentials>> of_profile(const AwsProfile& profile) {
  const bool has_sso = !profile.value("sso_session").empty() || !profile.value("sso_start_url").empty();
  if (has_sso) return unusable(profile, "SSO");
  ASSIGN_OR_RETURN(auto stored, of_section(profile.credentials, "the AWS profile '" + profile.name + "'"));
  if (stored) return stored;
  if (!profile.value("credential_process").empty()) return unusable(profile, "credential_process");
  return of_section(profile.config, "the AWS profile '" + profile.name + "'");
}

}  // namespace

AwsCredentials::AwsCredentials(Environment environment, SendOnce send)
    : environment_(std::move(environment)), send_(std::move(send)) {}

Result<std::optional<Credentials>> AwsCredentials::find() const {
  ASSIGN_OR_RETURN(auto of_environment, of_variables(environment_));
  if (of_environment) return of_environment;
  ASSIGN_OR_RETURN(const AwsProfile profile, load_aws_profile(environment_));
  const bool has_role = !profile.value("role_arn").empty();
  if (has_role && profile.value("web_identity_token_file").empty()) return unusable(profile, "role_arn");
  if (const auto identity = web_identity_of(environment_, profile)) {
    ASSIGN_OR_RETURN(auto of_role, web_identity_credentials(*identity, environment_, send_));
    return std::optional(std::move(of_role));
  }
  ASSIGN_OR_RETURN(auto stored, of_profile(profile));
  if (stored) return stored;
  const bool is_in_container = !environment_.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
                               !environment_.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty();
  if (is_in_container) {
    ASSIGN_OR_RETURN(auto of_container, container_credentials(environment_, send_));
    return std::optional(std::move(of_container));
  }
  if (environment_.is_set("AWS_EC2_METADATA_DISABLED")) return std::optional<Credentials>();
  return machine_credentials(environment_, send_);
}

Result<const Credentials*> AwsCredentials::get() {
  const Time now = environment_.now();
  const bool expires_soon = current_ && current_->expires && now + kBeforeExpiry >= *current_->expires;
  const bool is_valid = has_looked_ && !(current_ && current_->expires && now >= *current_->expires);
  if (!has_looked_ || (expires_soon && (!is_valid || now >= next_look_))) {
    next_look_ = now + kBetweenLooks;
    auto found = find();
    // Keys that are still valid are used until they expire.
    if (!found && !is_valid) return std::move(found).error();
    if (found && (*found || !is_valid)) current_ = *std::move(found);
    has_looked_ = true;
  }
  return current_ ? &*current_ : nullptr;
}

bool AwsCredentials::renew() {
  const Time now = environment_.now();
  const bool has_just_looked = has_looked_ && !current_ && now < next_look_;
  if (has_just_looked || now < next_renewal_) return false;
  next_renewal_ = now + kBetweenLooks;
  auto found = find();
  if (!found || !*found || *found == current_) return false;
  current_ = *std::move(found);
  has_looked_ = true;
  return true;
}

}  // namespace recordfs::fetch
