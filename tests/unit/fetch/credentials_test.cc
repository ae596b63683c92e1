// Credentials of AWS: each place where they may be, in the order of the AWS command line.
#include "core/fetch/credentials.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "core/fetch/credential_services.h"
#include "tests/unit/fetch/fake_environment.h"

namespace recordfs::fetch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::FakeEnvironment;
using testing::response_with;

constexpr const char* kMachine = "http://169.254.169.254/latest/";

std::string json_keys(const std::string& key, const std::string& expires) {
  return R"({"Code":"Success","AccessKeyId":")" + key + R"(","SecretAccessKey":"s","Token":"t","Expiration":")" +
         expires + "\"}";
}

std::string xml_keys(const std::string& key) {
  return "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>" + key +
         "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
         "<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
         "</AssumeRoleWithWebIdentityResponse>";
}

class CredentialsTest : public ::testing::Test {
 protected:
  AwsCredentials make() { return {environment.get(), environment.send()}; }
  // Returns the access key, "none", or the error's text.
  static std::string key_of(AwsCredentials& credentials) {
    const auto found = credentials.get();
    if (!found) return found.error().detail;
    return *found == nullptr ? "none" : (*found)->access_key;
  }
  std::string key() {
    AwsCredentials credentials = make();
    return key_of(credentials);
  }
  void add_machine(const std::string& access_key, const std::string& expires = "2030-01-01T00:00:00Z") {
    const std::string roles = std::string("GET ") + kMachine + "meta-data/iam/security-credentials/";
    environment.responses[std::string("PUT ") + kMachine + "api/token"] = {response_with(200, "TOKEN")};
    environment.responses[roles] = {response_with(200, "my-role\n")};
    environment.responses[roles + "my-role"] = {response_with(200, json_keys(access_key, expires))};
  }

  FakeEnvironment environment;
};

TEST_F(CredentialsTest, EnvironmentIsFirst) {
  environment.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  environment.variables["AWS_SECRET_ACCESS_KEY"] = "secret";
  environment.variables["AWS_SESSION_TOKEN"] = "token";
  environment.home.write(".aws/credentials", "[default]\naws_access_key_id=FILE\naws_secret_access_key=x\n");
  AwsCredentials credentials = make();
  const Credentials* const found = credentials.get().value();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, (Credentials{.access_key = "ENV", .secret_key = "secret", .session_token = "token"}));
}

TEST_F(CredentialsTest, HalfAPairIsUnsupported) {
  environment.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  EXPECT_EQ(make().get().error().code, Code::kUnsupported);
  environment.variables["AWS_ACCESS_KEY_ID"] = "";
  environment.home.write(".aws/credentials", "[default]\naws_access_key_id=FILE\n");
  EXPECT_EQ(make().get().error().code, Code::kUnsupported);
}

TEST_F(CredentialsTest, ProfilesAreInTwoFiles) {
  environment.home.write(".aws/credentials",
                         "[default]\naws_access_key_id=A\naws_secret_access_key=x\n"
                         "[two]\naws_access_key_id=B\naws_secret_access_key=x\n");
  environment.home.write(".aws/config",
                         "[default]\naws_access_key_id=C\naws_secret_access_key=x\n"
                         "[profile three]\naws_access_key_id=D\naws_secret_access_key=x\n");
  EXPECT_EQ(key(), "A");
  environment.variables["AWS_PROFILE"] = "two";
  EXPECT_EQ(key(), "B");
  environment.variables["AWS_PROFILE"] = "three";
  EXPECT_EQ(key(), "D");
  environment.variables["AWS_PROFILE"] = "four";
  EXPECT_EQ(key(), "the AWS profile 'four' could not be found");
  environment.variables["AWS_PROFILE"] = "";
  environment.variables["AWS_SHARED_CREDENTIALS_FILE"] = "~/other";
  EXPECT_EQ(key(), "C");
  environment.home.write("other", "[default]\naws_access_key_id=E\naws_secret_access_key=x\n");
  EXPECT_EQ(key(), "E");
}

TEST_F(CredentialsTest, MalformedFileIsNamedAndNotPrinted) {
  environment.home.write(".aws/credentials", "[default]\nSECRET without a sign\n");
  const std::string text = key();
  EXPECT_NE(text.find("credentials: line 2"), std::string::npos) << text;
  EXPECT_EQ(text.find("SECRET"), std::string::npos) << text;
}

TEST_F(CredentialsTest, SsoRolesAndProcessesAreRefusedByName) {
  const auto refused = [&](const std::string& config) {
    environment.home.write(".aws/config", "[default]\n" + config);
    const auto found = make().get();
    return found ? std::string() : found.error().detail;
  };
  EXPECT_NE(refused("sso_session = my-sso\n").find("SSO"), std::string::npos);
  EXPECT_NE(refused("sso_start_url = https://x\n").find("SSO"), std::string::npos);
  EXPECT_NE(refused("role_arn = arn:aws:iam::1:role/x\nsource_profile = y\n").find("role_arn"), std::string::npos);
  EXPECT_NE(refused("credential_process = /bin/keys\n").find("credential_process"), std::string::npos);
  EXPECT_EQ(environment.requests.size(), 0u);
}

TEST_F(CredentialsTest, TokenOfAWebIdentityIsExchanged) {
  environment.home.write("token", "JWT+TOKEN\n");
  environment.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = environment.home.path() + "/token";
  environment.variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/x";
  environment.variables["AWS_REGION"] = "eu-west-1";
  environment.responses["POST https://sts.eu-west-1.amazonaws.com/"] = {response_with(200, xml_keys("STS"))};
  AwsCredentials credentials = make();
  EXPECT_EQ(key_of(credentials), "STS");
  ASSERT_EQ(environment.requests.size(), 1u);
  const HttpRequest& request = environment.requests[0];
  EXPECT_EQ(request.url.find("JWT"), std::string::npos);
  EXPECT_NE(request.body.find("&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"), std::string::npos);
  EXPECT_TRUE(request.body.ends_with("&WebIdentityToken=JWT%2BTOKEN"));
  EXPECT_EQ(credentials.get().value()->session_token, "t");
  EXPECT_TRUE(credentials.get().value()->expires);
}

TEST_F(CredentialsTest, TokenServiceThatRefusesIsAnError) {
  environment.home.write("token", "JWT");
  environment.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = environment.home.path() + "/token";
  environment.variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/x";
  environment.variables["AWS_ENDPOINT_URL_STS"] = "http://127.0.0.1:1";
  environment.responses["POST http://127.0.0.1:1/"] = {
      response_with(400, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>")};
  const auto found = make().get();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().os_error, EACCES);
  EXPECT_NE(found.error().detail.find("InvalidIdentityToken"), std::string::npos) << found.error().detail;
}

TEST_F(CredentialsTest, ServiceInTroubleIsAskedTwice) {
  environment.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/keys?id=1";
  environment.responses["GET http://169.254.170.2/keys?id=1"] = {
      response_with(503), response_with(200, json_keys("AGENT", "2030-01-01T00:00:00Z"))};
  EXPECT_EQ(key(), "AGENT");
  EXPECT_EQ(environment.requests.size(), 2u);
}

TEST_F(CredentialsTest, ContainerHasAnAgent) {
  environment.home.write("authorization", "FILETOKEN\n");
  environment.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  environment.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "TOKEN";
  environment.responses["GET http://169.254.170.23/v1/credentials"] = {
      response_with(200, json_keys("AGENT", "2030-01-01T00:00:00.123Z"))};
  EXPECT_EQ(key(), "AGENT");
  EXPECT_EQ(environment.requests.back().headers.back(), "Authorization: TOKEN");
  environment.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = environment.home.path() + "/authorization";
  EXPECT_EQ(key(), "AGENT");
  EXPECT_EQ(environment.requests.back().headers.back(), "Authorization: FILETOKEN");
}

TEST_F(CredentialsTest, ContainersTokenIsNotSentToAnotherHostWithoutTls) {
  for (const char* const uri :
       {"http://example.com/", "http://127.0.0.1.example.com/", "http://169.254.169.254/", "ftp://h/"}) {
    environment.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = uri;
    EXPECT_EQ(make().get().error().code, Code::kUnsupported) << uri;
  }
  EXPECT_EQ(environment.requests.size(), 0u);
  for (const char* const uri :
       {"https://example.com/", "http://127.0.0.1:8080/", "http://localhost/", "http://[::1]/"}) {
    environment.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = uri;
    EXPECT_NE(make().get().error().code, Code::kUnsupported) << uri;
  }
}

TEST_F(CredentialsTest, MachineHasAMetadataService) {
  add_machine("IMDS");
  EXPECT_EQ(key(), "IMDS");
  ASSERT_EQ(environment.requests.size(), 3u);
  EXPECT_EQ(environment.requests[0].headers[0], "x-aws-ec2-metadata-token-ttl-seconds: 21600");
  EXPECT_EQ(environment.requests[2].headers[0], "x-aws-ec2-metadata-token: TOKEN");
  for (const auto timeout : environment.timeouts) EXPECT_EQ(timeout, std::chrono::seconds(1));
}

TEST_F(CredentialsTest, MetadataServiceCanBeOffOrElsewhere) {
  add_machine("IMDS");
  environment.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_EQ(key(), "none");
  EXPECT_EQ(environment.requests.size(), 0u);
  environment.variables["AWS_EC2_METADATA_DISABLED"] = "false";
  environment.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:7";
  EXPECT_EQ(key(), "none");
  EXPECT_EQ(environment.requests.at(0).url, "http://127.0.0.1:7/latest/api/token");
}

TEST_F(CredentialsTest, MachineWithoutServiceOrRoleHasNone) {
  EXPECT_EQ(key(), "none");
  EXPECT_EQ(environment.requests.size(), 1u);
  add_machine("IMDS");
  environment.responses[std::string("GET ") + kMachine + "meta-data/iam/security-credentials/"] = {response_with(404)};
  EXPECT_EQ(key(), "none");
}

TEST_F(CredentialsTest, MalformedAnswersAreDamage) {
  for (const char* const body :
       {"", "[", "{}", R"({"AccessKeyId":"a"})", R"({"AccessKeyId":"a\nX: y","SecretAccessKey":"s"})",
        R"({"AccessKeyId":"a","SecretAccessKey":"s","Expiration":"soon"})"}) {
    add_machine("IMDS");
    environment.responses[std::string("GET ") + kMachine + "meta-data/iam/security-credentials/my-role"] = {
        response_with(200, body)};
    const auto found = make().get();
    ASSERT_FALSE(found) << body;
    EXPECT_EQ(found.error().code, Code::kDamage) << body;
  }
}

TEST_F(CredentialsTest, KeysAreReplacedFiveMinutesBeforeTheyExpire) {
  add_machine("FIRST", "2026-12-01T12:00:00Z");
  environment.now = parse_time("2026-12-01T10:00:00Z").value();
  AwsCredentials credentials = make();
  EXPECT_EQ(key_of(credentials), "FIRST");
  add_machine("SECOND", "2026-12-01T14:00:00Z");
  environment.now = parse_time("2026-12-01T11:54:00Z").value();
  EXPECT_EQ(key_of(credentials), "FIRST");
  environment.now = parse_time("2026-12-01T11:56:00Z").value();
  EXPECT_EQ(key_of(credentials), "SECOND");
}

TEST_F(CredentialsTest, ValidKeysSurviveATroubledService) {
  add_machine("FIRST", "2026-12-01T12:00:00Z");
  environment.now = parse_time("2026-12-01T10:00:00Z").value();
  AwsCredentials credentials = make();
  EXPECT_EQ(key_of(credentials), "FIRST");
  environment.responses.clear();
  environment.now = parse_time("2026-12-01T11:58:00Z").value();
  const std::size_t before = environment.requests.size();
  EXPECT_EQ(key_of(credentials), "FIRST");
  EXPECT_EQ(environment.requests.size(), before + 1);
  EXPECT_EQ(key_of(credentials), "FIRST");
  EXPECT_EQ(environment.requests.size(), before + 1);
  environment.now = parse_time("2026-12-01T12:00:01Z").value();
  EXPECT_EQ(key_of(credentials), "none");
}

TEST_F(CredentialsTest, RefusedKeysAreLookedForOnceAMinute) {
  environment.home.write(".aws/credentials", "[default]\naws_access_key_id=OLD\naws_secret_access_key=x\n");
  AwsCredentials credentials = make();
  EXPECT_EQ(key_of(credentials), "OLD");
  EXPECT_FALSE(credentials.renew());
  environment.home.write(".aws/credentials", "[default]\naws_access_key_id=NEW\naws_secret_access_key=x\n");
  EXPECT_FALSE(credentials.renew());
  environment.now += minutes(2);
  EXPECT_TRUE(credentials.renew());
  EXPECT_EQ(key_of(credentials), "NEW");
}

TEST(ParseTime, TakesTheTimesOfServices) {
  EXPECT_EQ(parse_time("1970-01-02T00:00:01Z")->time_since_epoch(), hours(24) + std::chrono::seconds(1));
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.999Z")->time_since_epoch().count(), 0);
  EXPECT_EQ(parse_time("1970-01-01T00:00:00+00:00")->time_since_epoch().count(), 0);
  for (const char* const text :
       {"", "soon", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00+01:00", "1970-01-01 00:00:00Z"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

}  // namespace
}  // namespace recordfs::fetch
