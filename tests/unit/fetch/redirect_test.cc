#include "core/fetch/redirect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace recordfs::fetch {
namespace {

HttpResponse redirect_to(const std::string& target, long status = 302) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"location", target}};
  return response;
}

HttpRequest signed_request(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.headers = {"Authorization: secret", "Range: bytes=0-9", "x-amz-date: 20260101", "If-Match: \"x\"",
                     "Cookie: secret"};
  request.has_credentials = true;
  return request;
}

bool has(const HttpRequest& request, const std::string& header) {
  return std::ranges::find(request.headers, header) != request.headers.end();
}

TEST(Follow, SameHostKeepsAllHeaders) {
  const auto next = follow(signed_request("https://host/a/b?c=d"), redirect_to("/e"));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->url, "https://host/e");
  EXPECT_EQ(next->headers.size(), 5u);
  EXPECT_TRUE(next->has_credentials);
}

TEST(Follow, RelativeTargetsAreResolved) {
  EXPECT_EQ(follow(signed_request("https://host/a/b"), redirect_to("c"))->url, "https://host/a/c");
  EXPECT_EQ(follow(signed_request("https://host/a/b"), redirect_to("?q=1"))->url, "https://host/a/b?q=1");
  EXPECT_EQ(follow(signed_request("https://host/a"), redirect_to("//other/c"))->url, "https://other/c");
}

TEST(Follow, OtherHostPortOrSchemeGetsNoCredentials) {
  for (const char* const target : {"https://other/x", "https://host:444/x", "https://sub.host/x"}) {
    const auto next = follow(signed_request("https://host/a"), redirect_to(target));
    ASSERT_TRUE(next) << target;
    EXPECT_EQ(next->headers.size(), 2u) << target;
    EXPECT_TRUE(has(*next, "Range: bytes=0-9") && has(*next, "If-Match: \"x\"")) << target;
    EXPECT_FALSE(next->has_credentials) << target;
  }
  const auto upgraded = follow(signed_request("http://host/a"), redirect_to("https://host/a"));
  ASSERT_TRUE(upgraded);
  EXPECT_EQ(upgraded->headers.size(), 2u);
}

TEST(Follow, DefaultPortIsTheSameHost) {
  const auto next = follow(signed_request("https://host/a"), redirect_to("https://HOST:443/b"));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->headers.size(), 5u);
}

TEST(Follow, SignedTargetIsSentAsItIs) {
  const std::string target = "https://cdn/x%2Fy/../z?X-Amz-Signature=a%2Bb&k=v%20w";
  EXPECT_EQ(follow(signed_request("https://host/a"), redirect_to(target))->url, target);
}

TEST(Follow, UserinfoAndFragmentOfTargetAreDropped) {
  EXPECT_EQ(follow(signed_request("https://host/a"), redirect_to("https://user:pass@other/b#part"))->url,
            "https://other/b");
}

TEST(Follow, OtherSchemesAndDowngradesAreRefused) {
  for (const char* const target : {"file:///etc/passwd", "ftp://host/x", "gopher://host/", "http://host/a"}) {
    const auto next = follow(signed_request("https://host/a"), redirect_to(target));
    ASSERT_FALSE(next) << target;
    EXPECT_EQ(next.error().code, Code::kUnsupported) << target;
  }
}

TEST(Follow, NonsenseIsAnIoError) {
  for (const char* const target : {"http://[::1", "http://", "https://host:99999999/"}) {
    const auto next = follow(signed_request("http://host/a"), redirect_to(target));
    ASSERT_FALSE(next) << target;
    EXPECT_EQ(next.error().os_error, EIO) << target;
  }
}

TEST(IsRedirect, OnlyStatusesWithTargetsAreFollowed) {
  for (const long status : {301, 302, 303, 307, 308}) EXPECT_TRUE(is_redirect(redirect_to("/x", status))) << status;
  for (const long status : {200, 206, 300, 304, 305, 404})
    EXPECT_FALSE(is_redirect(redirect_to("/x", status))) << status;
  EXPECT_FALSE(is_redirect(redirect_to("")));
  auto region = redirect_to("https://bucket.s3.eu-west-1.amazonaws.com/", 301);
  region.headers.emplace_back("x-amz-bucket-region", "eu-west-1");
  EXPECT_FALSE(is_redirect(region));
}

TEST(IsDirectoryOf, OnlyTheSlashDiffers) {
  EXPECT_TRUE(is_directory_of("http://h/a/", "http://h/a"));
  EXPECT_TRUE(is_directory_of("http://h/a/?x", "http://h/a?y"));
  EXPECT_FALSE(is_directory_of("http://h/a", "http://h/a"));
  EXPECT_FALSE(is_directory_of("http://h/b/", "http://h/a"));
  EXPECT_FALSE(is_directory_of("http://h/a/b/", "http://h/a"));
}

TEST(RequestForTarget, HasAnotherRange) {
  HttpRequest target;
  target.url = "https://cdn/x?sig=1";
  target.headers = {"Authorization: token", "range: bytes=0-4", "If-Match: \"old\""};
  const auto request = request_for_target(target, {.begin = 5, .end = 10, .if_match = "\"e\""});
  EXPECT_EQ(request.url, "https://cdn/x?sig=1");
  EXPECT_EQ(request.headers, (std::vector<std::string>{"Authorization: token", "Range: bytes=5-9", "If-Match: \"e\""}));
}

}  // namespace
}  // namespace recordfs::fetch
