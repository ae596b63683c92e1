// URLs: their parts, and percent-encoding.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace recordfs::fetch {

// The parts of a URL. All may be used in requests but userinfo, which is a secret.
struct Url {
  std::string scheme{};    // in lower case
  std::string userinfo{};  // of http: encoded, as given
  std::string host{};      // of http: in lower case; an IPv6 address has its brackets
  std::string port{};      // decimal; empty: that of the scheme
  std::string path{};      // of http: encoded, begins with "/"; otherwise as given, empty or begins with "/"
  std::string query{};     // of http: encoded, without "?"

  bool is_http() const { return scheme == "http" || scheme == "https"; }
  // Returns "host:port", or "host" if the port is that of the scheme.
  std::string authority() const;
  // Returns the URL without userinfo.
  std::string text() const;
};

// Returns the parts of the URL that a text is, of which those of http are encoded by as_sent(), and have no fragment.
// After the host of another scheme comes a path that is not encoded. Fails with kUnsupported if there is no scheme or
// no host, or if one of them or the port is invalid; the error has no part of the URL in it.
Result<Url> parse_url(std::string_view text);

// Returns the value with each byte but letters, digits, "-", ".", "_", "~" and those in `also` as "%XX".
std::string percent_encoded(std::string_view value, std::string_view also = {});
// Replaces "%XX" by bytes. Leaves "%" without two hexadecimal digits as it is.
std::string percent_decoded(std::string_view text);
// Encodes what must not be in a URL: control characters, spaces, a few marks, all that is not ASCII, and "%" without
// two hexadecimal digits. Leaves an encoded text as it is.
std::string as_sent(std::string_view text);

// Returns the value of a parameter in a query, decoded; empty: there is none, or it is empty.
std::string query_value(std::string_view query, std::string_view name);

// Returns whether a query may have a secret in it: it has a parameter with the name of one, or a long value.
bool may_be_secret(std::string_view query);

// Returns whether a text has a part of a URL in it that may be a secret, encoded or not. Ignores case, as hosts do.
bool repeats_secret(const std::string& url, std::string_view text);

}  // namespace recordfs::fetch
