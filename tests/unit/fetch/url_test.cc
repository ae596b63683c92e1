// The parts of URLs and their encoding.
#include "core/fetch/url.h"

#include <gtest/gtest.h>

namespace recordfs::fetch {
namespace {

TEST(Url, HasItsParts) {
  const Url url = parse_url("HTTPS://user:p%40ss@Example.COM:8443/a%20b/c?x=1&y#part").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.userinfo, "user:p%40ss");
  EXPECT_EQ(url.host, "example.com");
  EXPECT_EQ(url.port, "8443");
  EXPECT_EQ(url.path, "/a%20b/c");
  EXPECT_EQ(url.query, "x=1&y");
  EXPECT_EQ(url.text(), "https://example.com:8443/a%20b/c?x=1&y");
}

TEST(Url, OmitsThePortOfItsScheme) {
  EXPECT_EQ(parse_url("https://h:443").value().text(), "https://h/");
  EXPECT_EQ(parse_url("http://h:80/x").value().text(), "http://h/x");
  EXPECT_EQ(parse_url("http://h:443/x").value().text(), "http://h:443/x");
  EXPECT_EQ(parse_url("http://[::1]:8080/x").value().text(), "http://[::1]:8080/x");
}

TEST(Url, EncodesOnlyWhatMustNotBeInAUrl) {
  EXPECT_EQ(parse_url("http://h/a b%20c\xC3\xA9/100%/[x]=*:+").value().path, "/a%20b%20c%C3%A9/100%25/[x]=*:+");
  EXPECT_EQ(as_sent(as_sent("% %4 %41 <\"\n\x7F")), as_sent("% %4 %41 <\"\n\x7F"));
  EXPECT_EQ(as_sent("% %41"), "%25%20%41");
}

TEST(Url, OfAnotherSchemeHasThePathAsGiven) {
  const Url url = parse_url("s3://bucket/a?b#c%20 d//.././e").value();
  EXPECT_EQ(url.host, "bucket");
  EXPECT_EQ(url.path, "/a?b#c%20 d//.././e");
  EXPECT_EQ(url.query, "");
  EXPECT_EQ(parse_url("s3://bucket").value().path, "");
}

TEST(Url, InvalidOneIsUnsupportedAndNotPrinted) {
  for (const char* const text : {"", "x", "://h", "http:/h/", "http://", "http:///x", "http://secret:pa/ss@h/",
                                 "http://h:0/", "http://h:65536/", "http://h:8x/", "http://a b/", "http://[::1/",
                                 "http://h\n/", "s3://", "s3:///key", "s3://secret:key@bucket/x", "h t://x/"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Code::kUnsupported) << text;
    EXPECT_EQ(url.error().detail.find("secret"), std::string::npos) << text;
  }
}

TEST(Url, EncodesAndDecodesAnyBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decoded(percent_encoded(all)), all);
  EXPECT_EQ(percent_encoded("a/b=c:d*e+f g~h.i-j_k"), "a%2Fb%3Dc%3Ad%2Ae%2Bf%20g~h.i-j_k");
  EXPECT_EQ(percent_encoded("a/b=", "/"), "a/b%3D");
  EXPECT_EQ(percent_decoded("%2f%2F%zz%4"), "//%zz%4");
}

TEST(Url, FindsParametersOfAQuery) {
  EXPECT_EQ(query_value("a=1&b=x%20y&c", "b"), "x y");
  EXPECT_EQ(query_value("a=1&b=x%20y&c", "c"), "");
  EXPECT_EQ(query_value("", "a"), "");
}

TEST(SecretsOfUrls, AreFoundInTextsEncodedOrNot) {
  const std::string url = "https://me:pass%2Fword@host/path?token=SeCret%2Btoken&id=7";
  for (const char* const text : {"to pass%2fword", "to pass/word", "secret+token.invalid", "x SECRET%2BTOKEN"}) {
    EXPECT_TRUE(repeats_secret(url, text)) << text;
  }
  EXPECT_FALSE(repeats_secret(url, "host: HTTP 500 7 me path"));
  EXPECT_FALSE(repeats_secret("https://host/path?page=12345678", "page 12345678"));
  EXPECT_FALSE(repeats_secret("https://host/", "host"));
}

}  // namespace
}  // namespace recordfs::fetch
