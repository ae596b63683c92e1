#include "core/fetch/aws_profile.h"

#include <algorithm>
#include <cerrno>

namespace recordfs::fetch {
namespace {

Result<IniFile> load(const std::string& path) {
  const auto text = read_small_file(path);
  if (!text && (text.error().os_error == ENOENT || text.error().os_error == ENOTDIR)) return IniFile{};
  TRY(text);
  auto file = parse_ini(*text);
  if (!file) return unsupported(path + ": " + file.error().detail);
  return file;
}

}  // namespace

std::string_view AwsProfile::value(std::string_view setting) const {
  for (const IniSection* const section : {&credentials, &config}) {
    const auto found = section->find(setting);
    if (found != section->end()) return found->second;
  }
  return {};
}

std::string credentials_file(const Environment& environment) {
  return environment.file("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
}

std::string config_file(const Environment& environment) { return environment.file("AWS_CONFIG_FILE", "~/.aws/config"); }

Result<AwsProfile> load_aws_profile(const Environment& environment) {
  ASSIGN_OR_RETURN(const IniFile credentials, load(credentials_file(environment)));
  ASSIGN_OR_RETURN(const IniFile config, load(config_file(environment)));
  AwsProfile profile{.name = environment.variable("AWS_PROFILE")};
  if (profile.name.empty()) profile.name = environment.variable("AWS_DEFAULT_PROFILE");
  const bool is_named = !profile.name.empty();
  if (!is_named) profile.name = "default";

  const auto in_credentials = credentials.find(profile.name);
  auto in_config = config.find("profile " + profile.name);
  if (in_config == config.end() && profile.name == "default") in_config = config.find(profile.name);
  if (in_credentials != credentials.end()) profile.credentials = in_credentials->second;
  if (in_config != config.end()) profile.config = in_config->second;
  if (is_named && profile.name != "default" && in_credentials == credentials.end() && in_config == config.end()) {
    return unsupported("the AWS profile '" + profile.name + "' could not be found");
  }
  return profile;
}

std::string configured_region(const Environment& environment, const AwsProfile& profile) {
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    std::string region = environment.variable(name);
    if (!region.empty()) return region;
  }
  return std::string(profile.value("region"));
}

bool is_region(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return !text.empty() && text.size() <= kLongest &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace recordfs::fetch
