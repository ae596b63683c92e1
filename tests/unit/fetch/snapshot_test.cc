#include "core/fetch/snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace recordfs::fetch {
namespace {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

HttpResponse response_with(HeaderList headers) {
  HttpResponse response;
  response.status = 206;
  response.headers = std::move(headers);
  return response;
}

Snapshot snapshot_with(HeaderList headers, std::uint64_t size = 100) {
  return snapshot_of(response_with(std::move(headers)), {}, size);
}

constexpr const char* kOld = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr const char* kOld1 = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr const char* kLater = "Sun, 06 Nov 1994 08:50:00 GMT";

TEST(Snapshot, StrongEtagSettlesAndIsSentBack) {
  const auto snapshot = snapshot_with({{"etag", "\"a b%\""}});
  EXPECT_TRUE(snapshot.is_settled);
  EXPECT_EQ(snapshot.if_match(), "\"a b%\"");
  EXPECT_EQ(snapshot.version(), "etag:a%20b%25");
}

TEST(Snapshot, StrongEtagOfAnObjectThatWasModifiedJustNowDoesNotSettle) {
  EXPECT_FALSE(snapshot_with({{"etag", "\"a\""}, {"last-modified", kOld}, {"date", kOld1}}).is_settled);
  EXPECT_FALSE(snapshot_with({{"etag", "\"a\""}, {"last-modified", kLater}, {"date", kOld}}).is_settled);
  EXPECT_TRUE(snapshot_with({{"etag", "\"a\""}, {"last-modified", kOld}, {"date", kLater}}).is_settled);
  EXPECT_TRUE(snapshot_with({{"etag", "\"a\""}, {"last-modified", kOld}}).is_settled);
}

TEST(Snapshot, WeakEtagNeverSettlesNorIsSentBack) {
  const auto snapshot = snapshot_with({{"etag", "W/\"a\""}});
  EXPECT_FALSE(snapshot.is_settled);
  EXPECT_EQ(snapshot.if_match(), "");
  EXPECT_EQ(snapshot.version(), "size:100,weak:W/\"a\"");
}

TEST(Snapshot, LastModifiedSettlesAfterTwoSeconds) {
  EXPECT_TRUE(snapshot_with({{"last-modified", kOld}, {"date", kLater}}).is_settled);
  EXPECT_FALSE(snapshot_with({{"last-modified", kOld}, {"date", kOld1}}).is_settled);
  EXPECT_FALSE(snapshot_with({{"last-modified", kOld}}).is_settled);
  EXPECT_FALSE(snapshot_with({}).is_settled);
  EXPECT_EQ(snapshot_with({{"last-modified", kOld}}).version(), "size:100,modified:784111777");
}

TEST(Snapshot, VersionsOfBucketsAndLinksComeFirst) {
  EXPECT_EQ(snapshot_with({{"etag", "\"e\""}, {"x-amz-version-id", "v"}}).version(), "version:v,etag:e");
  EXPECT_EQ(snapshot_with({{"etag", "\"e\""}, {"x-amz-version-id", "null"}}).version(), "etag:e");
  const auto linked = snapshot_of(response_with({{"etag", "\"cdn\""}}), {.size = 100, .etag = "\"sha\""}, 100);
  EXPECT_EQ(linked.version(), "linked:\"sha\"");
  EXPECT_EQ(linked.if_match(), "");
}

TEST(Snapshot, LongVersionsAreHashed) {
  const auto version = snapshot_with({{"etag", '"' + std::string(5000, 'x') + '"'}}).version();
  EXPECT_EQ(version.size(), std::string("sha256:").size() + 64);
}

struct Case {
  HeaderList first;
  HeaderList later;
  std::uint64_t total;
  Comparison expected;
};

TEST(Compare, ResponsesAreOfTheSameVersionOrNot) {
  const HeaderList strong = {{"etag", "\"a\""}, {"last-modified", kOld}};
  const HeaderList modified = {{"last-modified", kOld}};
  const std::vector<Case> cases = {
      {strong, strong, 100, Comparison::kSame},
      {strong, {{"etag", "\"b\""}, {"last-modified", kOld}}, 100, Comparison::kChanged},
      {strong, {{"etag", "\"a\""}, {"last-modified", kLater}}, 100, Comparison::kSame},
      {strong, strong, 101, Comparison::kWrong},
      {strong, modified, 100, Comparison::kWrong},
      {strong, {{"etag", "W/\"a\""}}, 100, Comparison::kWrong},
      {modified, modified, 100, Comparison::kSame},
      {modified, {{"last-modified", kLater}}, 100, Comparison::kChanged},
      {modified, modified, 99, Comparison::kChanged},
      {modified, {}, 100, Comparison::kWrong},
      {modified, strong, 100, Comparison::kChanged},
      {{}, {}, 100, Comparison::kSame},
      {{}, {}, 5, Comparison::kChanged},
      {{{"etag", "W/\"a\""}}, {{"etag", "\"a\""}}, 100, Comparison::kSame},
      {{{"etag", "W/\"a\""}}, {{"etag", "W/\"b\""}}, 100, Comparison::kChanged},
      {{{"x-amz-version-id", "1"}}, {{"x-amz-version-id", "2"}}, 100, Comparison::kChanged},
      {{{"x-amz-version-id", "1"}}, {}, 100, Comparison::kWrong},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto snapshot = snapshot_with(cases[i].first);
    EXPECT_EQ(compare(snapshot, response_with(cases[i].later), {}, cases[i].total), cases[i].expected) << i;
  }
  EXPECT_EQ(compare(snapshot_with(strong), response_with(strong), {}, std::nullopt), Comparison::kSame);
}

TEST(Compare, LinkedObjectsMayComeFromServersWithOtherEtags) {
  const auto snapshot = snapshot_of(response_with({{"etag", "\"cdn1\""}}), {.size = 100, .etag = "\"sha\""}, 100);
  const auto other = response_with({{"etag", "\"cdn2\""}});
  EXPECT_EQ(compare(snapshot, other, {}, 100), Comparison::kSame);
  EXPECT_EQ(compare(snapshot, other, {.size = 100, .etag = "\"sha\""}, 100), Comparison::kSame);
  EXPECT_EQ(compare(snapshot, other, {.size = 100, .etag = "\"new\""}, 100), Comparison::kChanged);
  EXPECT_EQ(compare(snapshot, other, {}, 99), Comparison::kWrong);
}

}  // namespace
}  // namespace recordfs::fetch
