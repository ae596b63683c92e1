// Signatures: the examples that Amazon has published for S3.
#include "core/fetch/sigv4.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/fetch/fake_environment.h"

namespace recordfs::fetch {
namespace {

using testing::header;

const Credentials kExample{.access_key = "AKIAIOSFODNN7EXAMPLE",
                           .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
constexpr std::time_t kExampleTime = 1'369'353'600;  // 2013-05-24T00:00:00Z

SigningScope example_scope() {
  return {.region = "us-east-1", .service = "s3", .time = std::chrono::system_clock::from_time_t(kExampleTime)};
}

// The examples sign the hash of no payload, which recordfs does over http.
HttpRequest example_request(const std::string& target) {
  HttpRequest request;
  request.url = "http://examplebucket.s3.amazonaws.com" + target;
  return request;
}

std::string signature(const HttpRequest& request) {
  const std::string authorization = header(request, "Authorization");
  return authorization.substr(authorization.rfind('=') + 1);
}

TEST(Sigv4, SignsARangeOfAnObject) {
  HttpRequest request = example_request("/test.txt");
  request.headers = {"Range: bytes=0-9"};
  sign(kExample, example_scope(), request);
  EXPECT_EQ(header(request, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(header(request, "x-amz-date"), "20130524T000000Z");
  EXPECT_EQ(header(request, "x-amz-content-sha256"),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_TRUE(request.has_credentials);
}

TEST(Sigv4, SignsAParameterWithoutAValue) {
  HttpRequest request = example_request("/?lifecycle");
  sign(kExample, example_scope(), request);
  EXPECT_EQ(signature(request), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(Sigv4, SignsParametersInAnyOrder) {
  for (const char* const query : {"/?max-keys=2&prefix=J", "/?prefix=J&max-keys=2"}) {
    HttpRequest request = example_request(query);
    sign(kExample, example_scope(), request);
    EXPECT_EQ(signature(request), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") << query;
  }
}

TEST(Sigv4, LeavesThePayloadUnsignedOverTls) {
  HttpRequest request;
  request.url = "https://h/x";
  sign(kExample, example_scope(), request);
  EXPECT_EQ(header(request, "x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
}

TEST(Sigv4, SendsAndSignsTheSessionToken) {
  Credentials credentials = kExample;
  credentials.session_token = "token";
  HttpRequest request = example_request("/test.txt");
  sign(credentials, example_scope(), request);
  EXPECT_EQ(header(request, "x-amz-security-token"), "token");
  EXPECT_NE(header(request, "Authorization").find(";x-amz-security-token,"), std::string::npos);
}

}  // namespace
}  // namespace recordfs::fetch
