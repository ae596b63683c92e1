#include "core/fetch/url_names.h"

#include <gtest/gtest.h>

#include <string>

#include "core/fetch/options.h"

namespace recordfs::fetch {
namespace {

UrlNames no_network() {
  return UrlNames({}, [](const HttpRequest&, std::chrono::milliseconds) -> Result<HttpResponse> {
    return Error{.code = Code::kIo, .detail = "no network"};
  });
}

TEST(UrlNames, SecretsAreInUrlsOnly) {
  UrlNames names = no_network();
  const auto name = names.add("https://user:pass@host/x?X-Amz-Signature=0123456789abcdef", true);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->find("pass"), std::string::npos);
  EXPECT_EQ(name->find("0123456789abcdef"), std::string::npos);
  const auto named = names.find(*name);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->url, "https://user:pass@host/x?X-Amz-Signature=0123456789abcdef");
}

TEST(UrlNames, ChildrenHaveTheSecretsOfTheirDirectory) {
  UrlNames names = no_network();
  ASSERT_EQ(names.add("https://user:pass@host/dir/", true).value(), "https://host/dir/");
  EXPECT_EQ(names.find("https://host/dir/a/b")->url, "https://user:pass@host/dir/a/b");
  EXPECT_EQ(names.find("https://host/other")->url, "https://host/other");
  EXPECT_EQ(names.find("https://host/directory")->url, "https://host/directory");
  EXPECT_EQ(names.find("https://host2/dir/a")->url, "https://host2/dir/a");
}

// Otherwise a listing could choose the host that gets the password.
TEST(UrlNames, NamesBelowAUrlWithoutAPathAreNoPartOfItsHost) {
  for (const char* const url : {"http://user:pass@host", "http://user:pass@host/"}) {
    UrlNames names = no_network();
    ASSERT_EQ(names.add(url, true).value(), "http://host/");
    EXPECT_EQ(names.find("http://host/")->url, "http://user:pass@host/");
    EXPECT_EQ(names.find("http://host/1")->url, "http://user:pass@host/1");
    EXPECT_EQ(names.find("http://host/.evil/x")->url, "http://user:pass@host/.evil/x");
  }
  UrlNames names = no_network();
  ASSERT_EQ(names.add("HTTP://user:pass@host", true).value(), "http://host/");
  EXPECT_EQ(names.find("http://host/1")->url, "http://host/1");
}

TEST(UrlNames, HostsOfTheUserMayLeadAnywhere) {
  UrlNames names = no_network();
  ASSERT_TRUE(names.add("http://localhost:8000/x", true));
  ASSERT_TRUE(names.add("http://localhost:9000/x", false));
  EXPECT_TRUE(names.find("http://localhost:8000/y")->reach.is_of_user);
  EXPECT_FALSE(names.find("http://localhost:9000/x")->reach.is_of_user);
  EXPECT_EQ(names.find("http://localhost:9000/x")->reach.addresses, 0u);
}

TEST(UrlNames, FilesMayNameTheKindsOfAddressesThatTheUserHasReached) {
  UrlNames names = no_network();
  ASSERT_TRUE(names.add("http://localhost:9000/x", false));
  names.allow({.is_of_user = false, .addresses = kLinkLocal});
  EXPECT_EQ(names.find("http://localhost:9000/x")->reach.addresses, 0u);
  names.allow({.is_of_user = true, .addresses = kLoopback});
  EXPECT_EQ(names.find("http://localhost:9000/x")->reach.addresses, unsigned{kLoopback});
}

TEST(UrlNames, UnknownSchemesAndLongUrlsAreRefused) {
  UrlNames names = no_network();
  EXPECT_EQ(names.add("ftp://host/x", true).error().code, Code::kUnsupported);
  EXPECT_EQ(names.add("file:///etc/passwd", true).error().code, Code::kUnsupported);
  EXPECT_EQ(names.find("/etc/passwd").error().code, Code::kUnsupported);
  EXPECT_EQ(names.add("http://host/" + std::string(10'000, 'x'), true).error().code, Code::kLimit);
}

TEST(FetcherOptions, ValuesAreChecked) {
  const char* const good[] = {"--no-sign-request", "--timeout=5", "--cache-dir=/x/y", "--cache-size=1000"};
  const auto options = parse_options(good);
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->sign);
  EXPECT_EQ(options->timeout, std::chrono::seconds(5));
  EXPECT_EQ(options->cache_folder, "/x/y");
  EXPECT_EQ(options->cache_size, 1000u);
  for (const char* const bad :
       {"", "x", "--timeout", "--timeout=0", "--timeout=x", "--timeout=-1", "--timeout=99999999",
        "--cache-dir=relative", "--cache-size=", "--no-cache=1", "--unknown"}) {
    EXPECT_FALSE(parse_options(std::span(&bad, 1))) << bad;
  }
}

TEST(FetcherOptions, CacheOfNoBytesIsNone) {
  const char* const none[] = {"--cache-size=0"};
  EXPECT_FALSE(parse_options(none)->has_cache);
  EXPECT_TRUE(parse_options({})->has_cache);
}

}  // namespace
}  // namespace recordfs::fetch
