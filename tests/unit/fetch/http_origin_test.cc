// Requests to web servers, and what their answers mean.
#include "core/fetch/http_origin.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/fetch/http_failure.h"
#include "tests/unit/fetch/fake_environment.h"

namespace recordfs::fetch {
namespace {

using testing::response_with;
using Headers = std::vector<std::string>;

std::unique_ptr<Origin> origin_of(const std::string& url) { return origin_for(url, {}, nullptr); }

TEST(HttpOrigin, AsksForARange) {
  const auto request = origin_of("http://h/a b")->object("http://h/a b", {.begin = 10, .end = 20, .if_match = "\"e\""});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->url, "http://h/a%20b");
  EXPECT_EQ(request->headers, (Headers{"Range: bytes=10-19", "If-Match: \"e\""}));
  EXPECT_FALSE(request->has_credentials);
}

TEST(HttpOrigin, UserinfoIsAHeader) {
  const std::string url = "https://user:p%40ss@h/x";
  const auto request = origin_of(url)->object(url, {.end = 1});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->url, "https://h/x");
  EXPECT_EQ(request->headers[0], "Authorization: Basic dXNlcjpwQHNz");
  EXPECT_TRUE(request->has_credentials);
  EXPECT_EQ(basic_authorization("user"), "Authorization: Basic dXNlcjo=");
}

TEST(HttpOrigin, PlaceIsTheUserWithoutThePassword) {
  const auto place = [](const std::string& url) { return origin_of(url)->place(url); };
  EXPECT_EQ(place("http://h/x"), "");
  EXPECT_EQ(place("http://alice:one@h/x"), place("http://alic%65:two@h/y"));
  EXPECT_NE(place("http://alice:one@h/x"), place("http://bob:one@h/x"));
  EXPECT_NE(place("http://:one@h/x"), "");
}

TEST(HttpOrigin, SignedQueryIsACredential) {
  const std::string url = "https://h/x?X-Amz-Signature=1";
  EXPECT_TRUE(origin_of(url)->object(url, {.end = 1})->has_credentials);
  EXPECT_EQ(origin_of(url)->object(url, {.end = 1})->url, url);
}

TEST(HttpOrigin, ListsADirectory) {
  const auto origin = origin_of("http://h/");
  EXPECT_EQ(origin->list("http://h/dir", "")->url, "http://h/dir/");
  EXPECT_EQ(origin->list("http://h/dir/?a=b", "")->url, "http://h/dir/?a=b");
  const auto page = origin->parse_list("http://h/dir/", response_with(200, R"([{"name":"x","type":"file","size":3}])"));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries.at(0).size, 3u);
}

TEST(HttpOrigin, StatusesHaveTheirMeaning) {
  const auto origin = origin_of("http://h/");
  struct Case {
    long status;
    Advice advice;
    int os_error;
  };
  for (const Case& one :
       {Case{404, Advice::kFail, ENOENT}, Case{410, Advice::kFail, ENOENT}, Case{401, Advice::kFail, EACCES},
        Case{403, Advice::kFail, EACCES}, Case{408, Advice::kRetry, ETIMEDOUT}, Case{429, Advice::kRetry, EIO},
        Case{500, Advice::kRetry, EIO}, Case{503, Advice::kRetry, EIO}, Case{501, Advice::kFail, EIO},
        Case{204, Advice::kFail, EIO}}) {
    const Failure failure = origin->explain("http://h/x", response_with(one.status));
    EXPECT_EQ(failure.advice, one.advice) << one.status;
    EXPECT_EQ(failure.error.code, Code::kIo) << one.status;
    EXPECT_EQ(failure.error.os_error, one.os_error) << one.status;
    EXPECT_TRUE(failure.error.detail.starts_with("HTTP " + std::to_string(one.status))) << failure.error.detail;
  }
  EXPECT_EQ(origin->explain("http://h/x", response_with(412)).error.code, Code::kChanged);
}

TEST(HttpOrigin, RefusedCredentialsOfAUrlAreNamedAndNotPrinted) {
  const Failure failure = origin_of("http://h/")->explain("http://h/x?sig=SECRET", response_with(403));
  EXPECT_NE(failure.error.detail.find("credentials in the URL"), std::string::npos);
  EXPECT_EQ(failure.error.detail.find("SECRET"), std::string::npos);
}

TEST(HttpOrigin, UnknownSchemesAndInvalidUrlsHaveNone) {
  for (const char* const url : {"ftp://h/x", "file:///etc/passwd", "http://", "x"}) {
    EXPECT_EQ(origin_of(url), nullptr) << url;
  }
}

TEST(HttpFailure, TextOfAServerIsOneShortLine) {
  EXPECT_EQ(quoted_text("a\nb\x1B[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(quoted_text(std::string(1000, 'x')), std::string(200, 'x') + "...");
}

TEST(HttpResponse, FindsAHeader) {
  HttpResponse response;
  response.headers = {{"etag", "\"a\""}, {"etag", "\"b\""}};
  EXPECT_EQ(response.header("etag"), "\"a\"");
  EXPECT_EQ(response.header("date"), "");
}

TEST(HttpFailure, OnlyPassingStatusesAreRetried) {
  for (const long status : {408, 429, 500, 502, 503, 504, 509, 598, 599}) {
    EXPECT_EQ(http_failure(status).advice, Advice::kRetry) << status;
  }
  for (const long status : {304, 400, 401, 403, 404, 405, 410, 501}) {
    EXPECT_EQ(http_failure(status).advice, Advice::kFail) << status;
  }
}

}  // namespace
}  // namespace recordfs::fetch
