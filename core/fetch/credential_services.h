// Services that give out keys for a while: a token service, the agent of a container, the metadata of a machine.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/fetch/environment.h"
#include "core/fetch/sigv4.h"

namespace recordfs::fetch {

// What a token of a web identity is exchanged for.
struct WebIdentity {
  std::string token_file;
  std::string role;          // the ARN
  std::string session_name;  // empty: one is made up
  std::string region;        // of the token service
};

// Return the keys of a service. Fail with kIo if it refuses or cannot be reached, with kUnsupported if it is configured
// in a way that is not supported, and with kDamage if its answer is malformed.
Result<Credentials> web_identity_credentials(const WebIdentity& identity, const Environment& environment,
                                             const SendOnce& send);
// REQUIRES: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI is set.
Result<Credentials> container_credentials(const Environment& environment, const SendOnce& send);
// Returns nullopt if the machine has no metadata service, which takes a second, or the service has no role.
Result<std::optional<Credentials>> machine_credentials(const Environment& environment, const SendOnce& send);

// Parses "2026-11-29T08:00:00Z", of which a fraction of a second is left out.
std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text);

}  // namespace recordfs::fetch
