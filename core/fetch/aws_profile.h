// The settings of a user of AWS in ~/.aws/config and ~/.aws/credentials.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/fetch/environment.h"
#include "core/fetch/ini_file.h"

namespace recordfs::fetch {

// What both files say of one profile.
struct AwsProfile {
  std::string name{};
  IniSection config{};       // of the file of configuration
  IniSection credentials{};  // of the file of credentials

  // Returns a setting of either file, first that of credentials; empty: there is none.
  std::string_view value(std::string_view setting) const;
};

// Returns the file of credentials and that of configuration.
std::string credentials_file(const Environment& environment);
std::string config_file(const Environment& environment);

// Returns the profile that AWS_PROFILE names, or "default". Files that do not exist are empty. Fails with kUnsupported
// if a file cannot be parsed or has no such profile, and with kIo if one cannot be read.
Result<AwsProfile> load_aws_profile(const Environment& environment);

// Returns the region that the environment or the profile names; empty: none.
std::string configured_region(const Environment& environment, const AwsProfile& profile);

// Returns whether a text may be the name of a region, so that it can be part of a host's name.
bool is_region(std::string_view text);

}  // namespace recordfs::fetch
