// Objects in buckets of S3 and of what speaks its protocol.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/fetch/credentials.h"
#include "core/fetch/environment.h"
#include "core/fetch/origin.h"
#include "core/fetch/url.h"

namespace recordfs::fetch {

// Where a service is, and how it is asked.
struct S3Service {
  std::optional<Url> endpoint{};   // nullopt: Amazon's for the region
  std::string region{};            // with which requests are signed
  bool is_requester_pays = false;  // AWS_REQUEST_PAYER
  std::string bearer{};            // a token that is sent in place of a signature; empty: none
  std::string hint{};              // for a user without credentials: how to set them
};

// Returns the origin of s3 URLs. An error of the configuration is returned by each request.
std::unique_ptr<Origin> s3_origin(Result<S3Service> service, std::unique_ptr<CredentialSource> credentials,
                                  Environment environment);

// Returns the service that the environment and the profile name. Without `sign`, profiles that cannot be used are
// empty.
Result<S3Service> amazon_service(const Environment& environment, bool sign);

// Returns Google's service, or the emulator that STORAGE_EMULATOR_HOST names, and the keys for it. AWS's keys are not
// used for it.
Result<S3Service> google_service(const Environment& environment, bool sign);
std::unique_ptr<CredentialSource> google_credentials(const Environment& environment);

}  // namespace recordfs::fetch
