// Signatures of Amazon's version 4, as S3 and what speaks its protocol check them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Keys that requests are signed with. All are secrets but the access key, and that is not printed either.
struct Credentials {
  std::string access_key{};
  std::string secret_key{};
  std::string session_token{};  // empty: none
  std::optional<std::chrono::system_clock::time_point> expires{};

  bool operator==(const Credentials&) const = default;
};

struct SigningScope {
  std::string region;
  std::string service;
  std::chrono::system_clock::time_point time;
};

// Appends the headers that sign a request with all its headers so far: x-amz-date, x-amz-content-sha256, the session
// token if there is one, and Authorization. The payload is left unsigned over https. Sets has_credentials.
// REQUIRES: the URL is valid, percent_encoded() has encoded its path and query, and there is no body. Thread-safe.
void sign(const Credentials& credentials, const SigningScope& scope, HttpRequest& request);

}  // namespace recordfs::fetch
