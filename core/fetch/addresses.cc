#include "core/fetch/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/fetch/http_headers.h"

namespace recordfs::fetch {
namespace {

unsigned kind_of_v4(std::uint32_t address) {
  const auto is_in = [address](std::uint32_t network, int bits) { return (address ^ network) >> (32 - bits) == 0; };
  if (is_in(0x7f000000, 8) || is_in(0, 8)) return kLoopback;
  // 169.254.0.0/16, and the metadata services at 100.100.100.200, 192.0.0.192 and 168.63.129.16.
  if (is_in(0xa9fe0000, 16) || is_in(0x646464c8, 32) || is_in(0xc00000c0, 32) || is_in(0xa83f8110, 32)) {
    return kLinkLocal;
  }
  return kPublic;
}

unsigned kind_of_v6(const in6_addr& address) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &address, bytes.size());
  const auto begins_with = [&bytes](std::initializer_list<std::uint8_t> prefix) {
    return std::equal(prefix.begin(), prefix.end(), bytes.begin());
  };
  const auto v4_at = [&bytes](std::size_t at) {
    return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
           bytes[at + 3];
  };
  // IPv4 in IPv6: mapped, translated, compatible (with ::1 and ::), of NAT64, and of 6to4.
  if (begins_with({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) return kind_of_v4(v4_at(12));
  if (begins_with({0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0})) return kind_of_v4(v4_at(12));
  if (begins_with({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) return v4_at(12) <= 1 ? kLoopback : kind_of_v4(v4_at(12));
  if (begins_with({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return kind_of_v4(v4_at(12));
  // NAT64 of a network's own (RFC 8215), most often with the IPv4 address at the end. Elsewhere it may be any.
  if (begins_with({0, 0x64, 0xff, 0x9b, 0, 1})) return v4_at(8) == 0 ? kind_of_v4(v4_at(12)) : kLinkLocal;
  if (begins_with({0x20, 0x02})) return kind_of_v4(v4_at(2));
  if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) return kLinkLocal;
  // The metadata services of EC2 at fd00:ec2::254, with others in the same network, of Google at fd20:ce::254, and of
  // Scaleway at fd00:42::42.
  if (begins_with({0xfd, 0x00, 0x0e, 0xc2})) return kLinkLocal;
  if (begins_with({0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54})) return kLinkLocal;
  if (begins_with({0xfd, 0x00, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42})) return kLinkLocal;
  return kPublic;
}

std::string_view without_brackets(std::string_view host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return host;
}

// Returns whether no_proxy has the host, or a domain above it.
bool is_listed(std::string_view list, std::string_view host) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (entry == "*") return true;
    if (entry.starts_with('.')) entry.remove_prefix(1);
    if (entry.empty()) continue;
    const std::string name = lower_case(without_brackets(entry));
    if (host == name || (host.ends_with(name) && host[host.size() - name.size() - 1] == '.')) return true;
  }
  return false;
}

}  // namespace

unsigned kind_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof(v4));
    return kind_of_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof(v6));
    return kind_of_v6(v6.sin6_addr);
  }
  return kLoopback;
}

unsigned kind_of_host(std::string_view host) {
  std::string name = lower_case(without_brackets(host));
  name.resize(std::min(name.find('%'), name.size()));  // without the zone of a link-local address
  while (name.ends_with('.')) name.pop_back();
  if (name == "localhost" || name.ends_with(".localhost")) return kLoopback;
  if (name == "metadata" || name == "metadata.google.internal" || name == "metadata.goog") return kLinkLocal;
  in_addr v4{};
  if (::inet_aton(name.c_str(), &v4) == 1) return kind_of_v4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) return kind_of_v6(v6);
  return kPublic;
}

std::string proxy_for(std::string_view scheme, std::string_view host, const Variables& variables) {
  const auto value_of = [&variables](std::initializer_list<const char*> names) -> std::string {
    for (const char* const name : names) {
      const char* const value = variables(name);
      if (value != nullptr && *value != '\0') return value;
    }
    return {};
  };
  // HTTP_PROXY in capitals is not read: in a CGI program the client would set it.
  std::string proxy = scheme == "https" ? value_of({"https_proxy", "HTTPS_PROXY"}) : value_of({"http_proxy"});
  if (proxy.empty()) proxy = value_of({"all_proxy", "ALL_PROXY"});
  if (proxy.empty() || is_listed(value_of({"no_proxy", "NO_PROXY"}), lower_case(without_brackets(host)))) return {};
  return proxy;
}

}  // namespace recordfs::fetch
