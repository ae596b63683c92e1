#include "core/fetch/url.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "core/base/parse_number.h"
#include "core/base/percent_encoding.h"

namespace recordfs::fetch {
namespace {

constexpr std::string_view kUpperDigits = "0123456789ABCDEF";
constexpr std::size_t kLongestHost = 255;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_unreserved(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~'; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

void append_encoded(char c, std::string& to) {
  const auto byte = static_cast<std::uint8_t>(c);
  to += '%';
  to += kUpperDigits[byte >> 4];
  to += kUpperDigits[byte & 0xF];
}

// Returns the byte of "%XX" at the beginning of a text.
std::optional<char> encoded_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const auto byte = parse_number<std::uint8_t>(text.substr(1, 2), 16);
  return byte ? std::optional(static_cast<char>(*byte)) : std::nullopt;
}

Error invalid(const char* why) { return {.code = Code::kUnsupported, .detail = std::string("invalid URL: ") + why}; }

bool is_host_of_http(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 2 && host.ends_with(']') && std::ranges::all_of(host.substr(1, host.size() - 2), [](char c) {
             return is_unreserved(c) || c == ':' || c == '%';
           });
  }
  // Names that are not ASCII are for libcurl.
  return std::ranges::all_of(host, [](char c) { return is_unreserved(c) || !is_ascii(c); });
}

// Fills host and port. Returns false if they are invalid.
bool parse_host(std::string_view text, Url& url) {
  const std::size_t colon = text.find(':', text.starts_with('[') ? text.find(']') : 0);
  url.host = lower(text.substr(0, colon));
  if (colon != std::string_view::npos) url.port = text.substr(colon + 1);
  const bool is_port = url.port.empty() || (std::ranges::all_of(url.port, is_digit) &&
                                            parse_number<std::uint16_t>(url.port).value_or(0) != 0);
  return is_port && is_host_of_http(url.host);
}

// Returns whether a text has a value in it. Short values are in many texts by chance.
bool has_value(std::string_view text, std::string_view value) {
  constexpr std::size_t kShortest = 5;
  const std::string decoded = percent_decoded(value);
  const auto is_in_text = [&](std::string_view part) {
    return part.size() >= kShortest && text.find(lower(part)) != std::string_view::npos;
  };
  return is_in_text(value) || is_in_text(decoded);
}

}  // namespace

std::string Url::authority() const {
  const bool is_default = port.empty() || (scheme == "https" && port == "443") || (scheme == "http" && port == "80");
  return is_default ? host : host + ":" + port;
}

std::string Url::text() const {
  std::string text = scheme + "://" + authority() + path;
  if (!query.empty()) text += "?" + query;
  return text;
}

Result<Url> parse_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return invalid("no scheme");
  Url url;
  url.scheme = lower(text.substr(0, colon));
  if (!std::ranges::all_of(url.scheme, [](char c) { return is_letter(c) || is_digit(c); }))
    return invalid("its scheme");
  text.remove_prefix(colon + 3);

  const bool is_http = url.is_http();
  const std::string_view authority = text.substr(0, text.find_first_of(is_http ? "/?#" : "/"));
  text.remove_prefix(authority.size());
  if (!is_http) {
    url.host = authority;
    url.path = text;
    if (!std::ranges::all_of(url.host, is_unreserved)) return invalid("its host");
  } else {
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) url.userinfo = authority.substr(0, at);
    if (!parse_host(authority.substr(at == std::string_view::npos ? 0 : at + 1), url))
      return invalid("its host or port");
    text = text.substr(0, text.find('#'));
    const std::size_t query = text.find('?');
    url.path = as_sent(text.substr(0, query));
    if (url.path.empty()) url.path = "/";
    if (query != std::string_view::npos) url.query = as_sent(text.substr(query + 1));
  }
  if (url.host.empty() || url.host.size() > kLongestHost) return invalid("its host");
  return url;
}

std::string percent_encoded(std::string_view value, std::string_view also) {
  std::string text;
  for (const char c : value) {
    if (is_unreserved(c) || also.find(c) != std::string_view::npos) {
      text += c;
    } else {
      append_encoded(c, text);
    }
  }
  return text;
}

std::string percent_decoded(std::string_view text) { return recordfs::percent_decoded(text); }

std::string as_sent(std::string_view text) {
  constexpr std::string_view kForbidden = "\"<>\\^`{|}\x7F";
  std::string sent;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_stray = c == '%' && !encoded_byte(text.substr(i));
    if (is_stray || !is_ascii(c) || c <= ' ' || kForbidden.find(c) != std::string_view::npos) {
      append_encoded(c, sent);
    } else {
      sent += c;
    }
  }
  return sent;
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const std::size_t equals = parameter.find('=');
    if (equals != std::string_view::npos && percent_decoded(parameter.substr(0, equals)) == name) {
      return percent_decoded(parameter.substr(equals + 1));
    }
  }
  return {};
}

bool may_be_secret(std::string_view query) {
  constexpr std::size_t kLongestHarmless = 16;
  constexpr std::array<std::string_view, 16> kNames = {"sig",     "token",  "key",     "secret", "cred", "auth",
                                                       "pass",    "pwd",    "expires", "policy", "x-",   "hash",
                                                       "session", "ticket", "code",    "jwt"};
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string name = lower(percent_decoded(parameter.substr(0, equals)));
    const auto is_in_name = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    // A parameter without a name is a value.
    const std::size_t value = equals == parameter.size() ? equals : parameter.size() - equals - 1;
    if (value > kLongestHarmless || std::ranges::any_of(kNames, is_in_name)) return true;
  }
  return false;
}

bool repeats_secret(const std::string& url, std::string_view text) {
  const auto parsed = parse_url(url);
  if (!parsed) return false;
  const std::string lower_text = lower(text);
  const std::string& userinfo = parsed->userinfo;
  if (has_value(lower_text, userinfo.substr(userinfo.find(':') + 1))) return true;
  if (!may_be_secret(parsed->query)) return false;
  for (std::string_view query = parsed->query; !query.empty();) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    if (has_value(lower_text, parameter.substr(parameter.find('=') + 1))) return true;
  }
  return false;
}

}  // namespace recordfs::fetch
