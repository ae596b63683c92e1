#include "core/fetch/sigv4.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include <nettle/hmac.h>
#include <nettle/version.h>

#include "core/base/bytes.h"
#include "core/fetch/url.h"
#include "core/hash/digest.h"

namespace recordfs::fetch {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kDateHeader = "x-amz-date";
constexpr std::string_view kPayloadHeader = "x-amz-content-sha256";
constexpr std::string_view kTokenHeader = "x-amz-security-token";

std::string in_hexadecimal(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
  }
  return text;
}

std::string sha256(std::string_view text) {
  Digester digester(DigestId::kSha256);
  digester.append(as_bytes(text));
  const Digest digest = digester.finish();
  return in_hexadecimal(digest.view());
}

// Returns the 32 bytes of HMAC-SHA256.
std::string hmac(std::string_view key, std::string_view text) {
  hmac_sha256_ctx context{};
  hmac_sha256_set_key(&context, key.size(), reinterpret_cast<const std::uint8_t*>(key.data()));
  hmac_sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  std::string code(SHA256_DIGEST_SIZE, '\0');
  auto* const to = reinterpret_cast<std::uint8_t*>(code.data());
#if NETTLE_VERSION_MAJOR < 4
  hmac_sha256_digest(&context, code.size(), to);
#else
  hmac_sha256_digest(&context, to);
#endif
  return code;
}

// Returns "20261129T075214Z".
std::string in_basic_format(std::chrono::system_clock::time_point time) {
  const std::time_t since_1970 = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&since_1970, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

// Returns a value without spaces at its ends, and with one where several follow each other.
std::string without_extra_spaces(std::string_view value) {
  std::string result;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

// Returns the headers by name in lower case, sorted.
Fields signed_headers(const HttpRequest& request, const Url& url) {
  Fields fields{{"host", url.authority()}};
  for (const std::string& header : request.headers) {
    const std::size_t colon = std::min(header.find(':'), header.size() - 1);
    std::string name = header.substr(0, colon);
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    fields.emplace_back(std::move(name), without_extra_spaces(std::string_view(header).substr(colon + 1)));
  }
  std::ranges::sort(fields);
  return fields;
}

std::string canonical_query(std::string_view query) {
  Fields fields;
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    fields.emplace_back(parameter.substr(0, equals), parameter.substr(std::min(equals + 1, parameter.size())));
  }
  std::ranges::sort(fields);
  std::string text;
  for (const auto& [name, value] : fields) {
    text.append(text.empty() ? "" : "&").append(name).append("=").append(value);
  }
  return text;
}

}  // namespace

void sign(const Credentials& credentials, const SigningScope& scope, HttpRequest& request) {
  const auto parsed = parse_url(request.url);
  if (!parsed) return;
  const std::string payload = parsed->scheme == "https" ? "UNSIGNED-PAYLOAD" : sha256("");
  const std::string time = in_basic_format(scope.time);
  const std::string date = time.substr(0, time.find('T'));
  const auto add = [&](std::string_view name, const std::string& value) {
    request.headers.push_back(std::string(name) + ": " + value);
  };
  add(kPayloadHeader, payload);
  add(kDateHeader, time);
  if (!credentials.session_token.empty()) add(kTokenHeader, credentials.session_token);

  std::string lines;
  std::string names;
  for (const auto& [name, value] : signed_headers(request, *parsed)) {
    lines.append(name).append(":").append(value).append("\n");
    names.append(names.empty() ? "" : ";").append(name);
  }
  const std::string canonical = request.method + "\n" + parsed->path + "\n" + canonical_query(parsed->query) + "\n" +
                                lines + "\n" + names + "\n" + payload;
  const std::string place = date + "/" + scope.region + "/" + scope.service + "/aws4_request";
  const std::string to_sign = std::string(kAlgorithm) + "\n" + time + "\n" + place + "\n" + sha256(canonical);

  std::string key = "AWS4" + credentials.secret_key;
  for (const std::string& part : {date, scope.region, scope.service, std::string("aws4_request")})
    key = hmac(key, part);
  const std::string signature = hmac(key, to_sign);
  add("Authorization", std::string(kAlgorithm) + " Credential=" + credentials.access_key + "/" + place +
                           ", SignedHeaders=" + names + ", Signature=" + in_hexadecimal(as_bytes(signature)));
  request.has_credentials = true;
}

}  // namespace recordfs::fetch
