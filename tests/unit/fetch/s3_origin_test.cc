// Requests to buckets, and what the answers of S3 mean.
#include "core/fetch/s3_origin.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/fetch/fake_environment.h"

namespace recordfs::fetch {
namespace {

using testing::FakeEnvironment;
using testing::header;
using testing::response_with;

const Credentials kKeys{.access_key = "AKIDEXAMPLE", .secret_key = "SECRETKEY", .session_token = "SESSIONTOKEN"};

// Has other keys each time it is asked to renew them.
class ChangingCredentials final : public CredentialSource {
 public:
  Result<const Credentials*> get() override { return &keys_; }
  bool renew() override {
    keys_.access_key += "X";
    return true;
  }

 private:
  Credentials keys_ = kKeys;
};

class S3OriginTest : public ::testing::Test {
 protected:
  std::unique_ptr<Origin> make(bool sign = true) {
    return make(std::make_unique<FixedCredentials>(sign ? std::optional(kKeys) : std::nullopt), sign);
  }
  std::unique_ptr<Origin> make(std::unique_ptr<CredentialSource> credentials, bool sign = true) {
    return s3_origin(amazon_service(environment.get(), sign), std::move(credentials), environment.get());
  }
  std::unique_ptr<Origin> make_google(bool sign = true) {
    return s3_origin(google_service(environment.get(), sign), google_credentials(environment.get()), environment.get());
  }
  static std::string url_of(Origin& origin, const std::string& url) {
    return origin.object(url, {.end = 1}).value().url;
  }

  FakeEnvironment environment;
};

HttpResponse error_with(long status, const std::string& code, const std::string& rest = {}) {
  return response_with(status, "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code>" + rest + "</Error>");
}

TEST_F(S3OriginTest, BucketIsInTheHost) {
  const auto origin = make();
  EXPECT_EQ(url_of(*origin, "s3://bucket/year=2024/a b*:+%~.x"),
            "https://bucket.s3.us-east-1.amazonaws.com/year%3D2024/a%20b%2A%3A%2B%25~.x");
  EXPECT_EQ(url_of(*origin, "s3://bucket//a/./../b?c#d"),
            "https://bucket.s3.us-east-1.amazonaws.com//a/./../b%3Fc%23d");
}

TEST_F(S3OriginTest, NameThatIsNoLabelIsInThePath) {
  const auto origin = make();
  EXPECT_EQ(url_of(*origin, "s3://my.bucket/x"), "https://s3.us-east-1.amazonaws.com/my.bucket/x");
  EXPECT_EQ(url_of(*origin, "s3://Old_Bucket/x"), "https://s3.us-east-1.amazonaws.com/Old_Bucket/x");
  EXPECT_TRUE(origin->list("s3://my.bucket/", "")->url.starts_with("https://s3.us-east-1.amazonaws.com/my.bucket?"));
}

TEST_F(S3OriginTest, EndpointsHaveTheBucketInThePath) {
  environment.variables["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000/";
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "http://127.0.0.1:9000/bucket/x");
  environment.variables["AWS_ENDPOINT_URL_S3"] = "https://minio.example/s3api";
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "https://minio.example/s3api/bucket/x");
  environment.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "https://bucket.s3.us-east-1.amazonaws.com/x");
}

TEST_F(S3OriginTest, RegionAndEndpointComeFromTheProfile) {
  environment.home.write(".aws/config", "[default]\nregion = eu-central-1\n[profile other]\nendpoint_url=http://h:1\n");
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "https://bucket.s3.eu-central-1.amazonaws.com/x");
  environment.variables["AWS_PROFILE"] = "other";
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "http://h:1/bucket/x");
  environment.variables["AWS_PROFILE"] = "";
  environment.variables["AWS_DEFAULT_REGION"] = "cn-north-1";
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "https://bucket.s3.cn-north-1.amazonaws.com.cn/x");
  environment.variables["AWS_REGION"] = "us-west-2";
  EXPECT_EQ(url_of(*make(), "s3://bucket/x"), "https://bucket.s3.us-west-2.amazonaws.com/x");
}

TEST_F(S3OriginTest, UnusableConfigurationIsUnsupported) {
  const auto is_unsupported = [&] {
    const auto request = make()->object("s3://bucket/x", {.end = 1});
    return !request && request.error().code == Code::kUnsupported;
  };
  environment.variables["AWS_REGION"] = "evil.example/";
  EXPECT_TRUE(is_unsupported());
  environment.variables["AWS_REGION"] = "";
  environment.variables["AWS_ENDPOINT_URL"] = "ftp://h";
  EXPECT_TRUE(is_unsupported());
  environment.variables["AWS_ENDPOINT_URL"] = "https://user:pass@h";
  EXPECT_TRUE(is_unsupported());
  environment.variables["AWS_ENDPOINT_URL"] = "";
  environment.variables["AWS_PROFILE"] = "none";
  EXPECT_TRUE(is_unsupported());
  EXPECT_TRUE(make(false)->object("s3://bucket/x", {.end = 1}));
}

TEST_F(S3OriginTest, UrlsThatNameNoObjectAreRefused) {
  const auto origin = make();
  EXPECT_EQ(origin->object("s3://bucket", {.end = 1}).error().os_error, EISDIR);
  EXPECT_EQ(origin->object("s3://bucket/", {.end = 1}).error().os_error, EISDIR);
  for (const char* const url : {"s3://b/x", "s3://bucket--x-s3/x", "s3://bucket/a\nb", "s3://bucket/\xFF"}) {
    EXPECT_EQ(origin->object(url, {.end = 1}).error().code, Code::kUnsupported) << url;
  }
}

TEST_F(S3OriginTest, RequestHasRangeVersionPayerAndSignature) {
  environment.variables["AWS_REQUEST_PAYER"] = "requester";
  const auto request =
      make()->object("s3://bucket/x", {.begin = 5, .end = 9, .if_match = "\"e\"", .version = "v/1"}).value();
  EXPECT_EQ(request.url, "https://bucket.s3.us-east-1.amazonaws.com/x?versionId=v%2F1");
  EXPECT_EQ(header(request, "Range"), "bytes=5-8");
  EXPECT_EQ(header(request, "If-Match"), "\"e\"");
  EXPECT_EQ(header(request, "x-amz-security-token"), "SESSIONTOKEN");
  const std::string authorization = header(request, "Authorization");
  EXPECT_NE(authorization.find("Credential=AKIDEXAMPLE/"), std::string::npos);
  EXPECT_NE(authorization.find("/us-east-1/s3/aws4_request"), std::string::npos);
  EXPECT_NE(authorization.find("x-amz-request-payer"), std::string::npos);
  EXPECT_TRUE(request.has_credentials);
}

TEST_F(S3OriginTest, RequestWithoutCredentialsIsNotSigned) {
  const auto request = make(false)->object("s3://bucket/x", {.end = 1}).value();
  EXPECT_EQ(request.headers, std::vector<std::string>{"Range: bytes=0-0"});
  EXPECT_FALSE(request.has_credentials);
}

TEST_F(S3OriginTest, ListsADirectory) {
  const auto origin = make();
  const std::string start = "https://bucket.s3.us-east-1.amazonaws.com/?";
  const std::string end = "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=";
  EXPECT_EQ(origin->list("s3://bucket", "")->url, start + end);
  EXPECT_EQ(origin->list("s3://bucket/a=b/", "")->url, start + end + "a%3Db%2F");
  EXPECT_EQ(origin->list("s3://bucket/a=b", "1+/=")->url, start + "continuation-token=1%2B%2F%3D&" + end + "a%3Db%2F");
  const auto page = origin->parse_list(
      "s3://bucket/d",
      response_with(200, "<ListBucketResult><Contents><Key>d/x</Key><Size>1</Size></Contents></ListBucketResult>"));
  EXPECT_EQ(page->entries.at(0).name, "x");
}

TEST_F(S3OriginTest, LearnsTheRegion) {
  const auto origin = make();
  HttpResponse redirect = error_with(301, "PermanentRedirect");
  redirect.headers = {{"x-amz-bucket-region", "eu-west-3"}};
  EXPECT_EQ(origin->explain("s3://bucket/x", redirect).advice, Advice::kSignAgain);
  EXPECT_EQ(url_of(*origin, "s3://bucket/x"), "https://bucket.s3.eu-west-3.amazonaws.com/x");
  EXPECT_EQ(origin->explain("s3://bucket/x", redirect).advice, Advice::kFail);

  const auto malformed = error_with(400, "AuthorizationHeaderMalformed", "<Region>ap-south-1</Region>");
  EXPECT_EQ(origin->explain("s3://bucket/x", malformed).advice, Advice::kSignAgain);
  EXPECT_EQ(url_of(*origin, "s3://bucket/x"), "https://bucket.s3.ap-south-1.amazonaws.com/x");
}

TEST_F(S3OriginTest, RegionThatIsNoRegionIsNotLearned) {
  const auto origin = make();
  HttpResponse redirect = error_with(301, "PermanentRedirect");
  redirect.headers = {{"x-amz-bucket-region", "evil.example/"}};
  EXPECT_EQ(origin->explain("s3://bucket/x", redirect).advice, Advice::kFail);
  EXPECT_EQ(url_of(*origin, "s3://bucket/x"), "https://bucket.s3.us-east-1.amazonaws.com/x");
}

TEST_F(S3OriginTest, LearnsThatTheClockDiffers) {
  const auto origin = make();
  const std::string before = header(origin->object("s3://bucket/x", {.end = 1}).value(), "x-amz-date");
  HttpResponse response = error_with(403, "RequestTimeTooSkewed");
  response.headers = {{"date", "Fri, 01 Jan 2027 00:00:00 GMT"}};
  EXPECT_EQ(origin->explain("s3://bucket/x", response).advice, Advice::kSignAgain);
  const std::string after = header(origin->object("s3://bucket/x", {.end = 1}).value(), "x-amz-date");
  EXPECT_NE(after, before);
  EXPECT_EQ(after, "20270101T000000Z");
  EXPECT_EQ(origin->explain("s3://bucket/x", response).advice, Advice::kFail);
  response.headers = {{"date", "yesterday"}};
  EXPECT_EQ(origin->explain("s3://bucket/x", response).advice, Advice::kFail);
}

TEST_F(S3OriginTest, RefusedKeysAreRenewed) {
  const auto origin = make(std::make_unique<ChangingCredentials>());
  ASSERT_TRUE(origin->object("s3://bucket/x", {.end = 1}));
  EXPECT_EQ(origin->explain("s3://bucket/x", error_with(400, "ExpiredToken")).advice, Advice::kSignAgain);
  EXPECT_NE(header(origin->object("s3://bucket/x", {.end = 1}).value(), "Authorization").find("=AKIDEXAMPLEX/"),
            std::string::npos);
  EXPECT_EQ(origin->explain("s3://bucket/x", error_with(403, "AccessDenied")).advice, Advice::kFail);

  const auto fixed = make();
  ASSERT_TRUE(fixed->object("s3://bucket/x", {.end = 1}));
  const Failure failure = fixed->explain("s3://bucket/x", error_with(400, "ExpiredToken"));
  EXPECT_EQ(failure.advice, Advice::kFail);
  EXPECT_EQ(failure.error.os_error, EACCES);
}

TEST_F(S3OriginTest, AnswersHaveTheirMeaning) {
  const auto origin = make();
  ASSERT_TRUE(origin->object("s3://bucket/x", {.end = 1}));
  struct Case {
    long status;
    const char* code;
    Advice advice;
    int os_error;
    const char* text;
  };
  for (const Case& one : {Case{404, "NoSuchKey", Advice::kFail, ENOENT, "no such key"},
                          Case{404, "NoSuchBucket", Advice::kFail, ENOENT, "no such bucket"},
                          Case{403, "AccessDenied", Advice::kFail, EACCES, "access denied (or no such key"},
                          Case{403, "InvalidObjectState", Advice::kFail, EACCES, "archived"},
                          Case{403, "SignatureDoesNotMatch", Advice::kFail, EACCES, "secret key"},
                          Case{503, "SlowDown", Advice::kRetry, EIO, "SlowDown"},
                          Case{400, "ThrottlingException", Advice::kRetry, EIO, "Throttling"},
                          Case{500, "InternalError", Advice::kRetry, EIO, "InternalError"},
                          Case{400, "RequestTimeout", Advice::kRetry, EIO, "RequestTimeout"},
                          Case{400, "InvalidRequest", Advice::kFail, EIO, "InvalidRequest: why"}}) {
    const Failure failure =
        origin->explain("s3://bucket/x", error_with(one.status, one.code, "<Message>why</Message>"));
    EXPECT_EQ(failure.advice, one.advice) << one.code;
    EXPECT_EQ(failure.error.os_error, one.os_error) << one.code;
    EXPECT_NE(failure.error.detail.find(one.text), std::string::npos) << failure.error.detail;
    EXPECT_TRUE(failure.error.detail.starts_with("HTTP " + std::to_string(one.status))) << failure.error.detail;
  }
}

TEST_F(S3OriginTest, DeniedRequestWithoutCredentialsSaysSo) {
  const auto denied = error_with(403, "AccessDenied");
  const auto no_keys = make(std::make_unique<FixedCredentials>(std::nullopt));
  EXPECT_NE(no_keys->explain("s3://bucket/x", denied).error.detail.find("AWS_PROFILE"), std::string::npos);
  const auto not_signed = make(false);
  EXPECT_NE(not_signed->explain("s3://bucket/x", denied).error.detail.find("--no-sign-request"), std::string::npos);
}

TEST_F(S3OriginTest, SecretsInAServersTextAreNotPrinted) {
  const auto origin = make();
  ASSERT_TRUE(origin->object("s3://bucket/x", {.end = 1}));
  for (const char* const message : {"key AKIDEXAMPLE is bad", "SECRETKEY", "x SESSIONTOKEN", "Signature=0123"}) {
    const auto response = error_with(400, "InvalidRequest", std::string("<Message>") + message + "</Message>");
    const std::string text = origin->explain("s3://bucket/x", response).error.detail;
    EXPECT_EQ(text, "HTTP 400: InvalidRequest") << message;
  }
}

TEST_F(S3OriginTest, GoogleUsesItsOwnKeys) {
  environment.variables["AWS_ACCESS_KEY_ID"] = "AWSKEY";
  environment.variables["AWS_SECRET_ACCESS_KEY"] = "AWSSECRET";
  EXPECT_FALSE(make_google()->object("gs://bucket/x", {.end = 1})->has_credentials);
  environment.variables["GS_ACCESS_KEY_ID"] = "GOOG1E";
  environment.variables["GS_SECRET_ACCESS_KEY"] = "secret";
  const auto request = make_google()->object("gs://my.bucket/a=b", {.end = 1}).value();
  EXPECT_EQ(request.url, "https://storage.googleapis.com/my.bucket/a%3Db");
  EXPECT_NE(header(request, "Authorization").find("Credential=GOOG1E/"), std::string::npos);
  EXPECT_NE(header(request, "Authorization").find("/auto/s3/aws4_request"), std::string::npos);
}

TEST_F(S3OriginTest, GoogleTakesATokenAndAnEmulator) {
  environment.variables["GOOGLE_OAUTH_ACCESS_TOKEN"] = "ya29.token\n";
  environment.variables["STORAGE_EMULATOR_HOST"] = "localhost:4443";
  const auto request = make_google()->object("gs://bucket/x", {.end = 1}).value();
  EXPECT_EQ(request.url, "http://localhost:4443/bucket/x");
  EXPECT_EQ(header(request, "Authorization"), "Bearer ya29.token");
  EXPECT_TRUE(request.has_credentials);
  EXPECT_EQ(header(make_google(false)->object("gs://bucket/x", {.end = 1}).value(), "Authorization"), "");
}

TEST_F(S3OriginTest, SchemesHaveTheirOrigin) {
  EXPECT_NE(origin_for("s3://bucket/x", {.sign = false}, environment.send()), nullptr);
  EXPECT_NE(origin_for("gs://bucket/x", {.sign = false}, environment.send()), nullptr);
}

}  // namespace
}  // namespace recordfs::fetch
