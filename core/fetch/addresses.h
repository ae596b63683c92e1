// Addresses that only a user may name, and the choice of a proxy.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace recordfs::fetch {

// Kinds of addresses, as bits. Those other than kPublic lead to services that trust whatever can reach them.
enum AddressKind : unsigned {
  kPublic = 0,  // and private networks, which users name with ordinary host names
  kLoopback = 1,
  kLinkLocal = 2,  // among them the addresses where clouds serve metadata with credentials
};
inline constexpr unsigned kAllAddresses = kLoopback | kLinkLocal;

// Returns the kind of the address of a connection. Unspecified addresses lead to this host, too.
unsigned kind_of(const sockaddr& address);
// Returns the kind of a host that is named by an address or by a well-known name; kPublic if the name says nothing.
unsigned kind_of_host(std::string_view host);

// Returns the value of an environment variable; null: not set.
using Variables = std::function<const char*(const char* name)>;

// Returns the proxy for a URL of a host, as the usual variables say; empty: none.
std::string proxy_for(std::string_view scheme, std::string_view host, const Variables& variables);

}  // namespace recordfs::fetch
