#include "core/fetch/addresses.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <map>
#include <string>

namespace recordfs::fetch {
namespace {

TEST(KindOfHost, LoopbackHasManyForms) {
  for (const char* const host :
       {"127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST.", "a.localhost", "[::1]", "::1", "0.0.0.0",
        "::", "2130706433", "0x7f.1", "0177.0.0.1", "::ffff:127.0.0.1", "[::ffff:7f00:1]", "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1", "::ffff:0:127.0.0.1", "2002:7f00:1::"}) {
    EXPECT_EQ(kind_of_host(host), kLoopback) << host;
  }
}

TEST(KindOfHost, MetadataServicesAreLinkLocal) {
  for (const char* const host :
       {"169.254.169.254", "169.254.0.1", "[fe80::1]", "fe80::1%eth0", "fd00:ec2::254", "100.100.100.200",
        "metadata.google.internal", "metadata.goog", "::ffff:169.254.169.254", "2852039166", "168.63.129.16",
        "fd20:ce::254", "fd00:42::42", "::ffff:0:169.254.169.254", "64:ff9b:1::169.254.169.254",
        "64:ff9b:1:abcd::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::"}) {
    EXPECT_EQ(kind_of_host(host), kLinkLocal) << host;
  }
}

TEST(KindOfHost, OthersArePublic) {
  for (const char* const host :
       {"example.com", "10.0.0.1", "192.168.1.1", "8.8.8.8", "[2001:db8::1]", "localhost.example.com", "1270.0.0.1",
        "fd00::1", "128.0.0.1", "169.253.1.1", "fd20:ce::255", "fd00:42::43", "168.63.129.17", "::ffff:0:8.8.8.8",
        "64:ff9b:1::8.8.8.8", "64:ff9b:1:abcd::8.8.8.8"}) {
    EXPECT_EQ(kind_of_host(host), kPublic) << host;
  }
}

TEST(KindOf, AddressesOfConnectionsAreClassified) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  ::inet_pton(AF_INET, "169.254.169.254", &v4.sin_addr);
  EXPECT_EQ(kind_of(reinterpret_cast<const sockaddr&>(v4)), kLinkLocal);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  ::inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
  EXPECT_EQ(kind_of(reinterpret_cast<const sockaddr&>(v6)), kPublic);
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_EQ(kind_of(local), kLoopback);
}

std::string proxy(std::string_view scheme, std::string_view host, const std::map<std::string, std::string>& variables) {
  return proxy_for(scheme, host, [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ProxyFor, SchemesHaveVariablesOfTheirOwn) {
  const std::map<std::string, std::string> variables = {
      {"http_proxy", "a:1"}, {"HTTPS_PROXY", "b:2"}, {"HTTP_PROXY", "c:3"}};
  EXPECT_EQ(proxy("http", "h", variables), "a:1");
  EXPECT_EQ(proxy("https", "h", variables), "b:2");
  EXPECT_EQ(proxy("http", "h", {{"HTTP_PROXY", "c:3"}}), "");
  EXPECT_EQ(proxy("http", "h", {{"all_proxy", "d:4"}}), "d:4");
  EXPECT_EQ(proxy("http", "h", {}), "");
}

TEST(ProxyFor, NoProxyNamesHostsAndDomains) {
  const auto uses_proxy = [](const std::string& list, std::string_view host) {
    return !proxy("http", host, {{"http_proxy", "a:1"}, {"no_proxy", list}}).empty();
  };
  EXPECT_FALSE(uses_proxy("*", "any"));
  EXPECT_FALSE(uses_proxy("example.com", "example.com"));
  EXPECT_FALSE(uses_proxy("x, .EXAMPLE.com", "a.example.com"));
  EXPECT_FALSE(uses_proxy("127.0.0.1,localhost", "127.0.0.1"));
  EXPECT_FALSE(uses_proxy("::1", "[::1]"));
  EXPECT_TRUE(uses_proxy("example.com", "badexample.com"));
  EXPECT_TRUE(uses_proxy("a.example.com", "example.com"));
  EXPECT_TRUE(uses_proxy("", "h"));
}

}  // namespace
}  // namespace recordfs::fetch
