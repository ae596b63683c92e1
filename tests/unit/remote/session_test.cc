// The names of URLs.
#include "core/remote/session.h"

#include <gtest/gtest.h>

#include "tests/unit/remote/fake_fetcher.h"

namespace recordfs::testing {
namespace {

using remote::may_have_secrets;
using remote::RequestKind;
using remote::Session;
using remote::without_secrets;

TEST(Names, UserinfoAndQueriesMayBeSecrets) {
  EXPECT_TRUE(may_have_secrets("https://user:word@host/x"));
  EXPECT_TRUE(may_have_secrets("https://host/x?X-Amz-Signature=1"));
  EXPECT_TRUE(may_have_secrets("https://user:pa/ss@host/x"));
  EXPECT_FALSE(may_have_secrets("https://host/x"));
  EXPECT_FALSE(may_have_secrets("s3://bucket/train-?-of-8.tfrecord"));
  EXPECT_FALSE(may_have_secrets("s3://bucket/train@128.tfrecord"));
  EXPECT_FALSE(may_have_secrets("hf://datasets/user/repo@main/x"));
}

TEST(Names, SecretsAreRemoved) {
  EXPECT_EQ(without_secrets("https://user:word@host/x?sig=1"), "https://host/x");
  EXPECT_EQ(without_secrets("https://a@b@host/x"), "https://host/x");
  EXPECT_EQ(without_secrets("https://user:pa/ss@host/x"), "https://...");
  EXPECT_EQ(without_secrets("s3://key:word@bucket/x?y"), "s3://bucket/x?y");
  EXPECT_EQ(without_secrets("https://host"), "https://host");
}

TEST(Session, EachNameIsMadeKnownOnce) {
  FakeFetcher fake({});
  Session session(1u << 20, [&fake](bool) { return fake.client(); });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.fetcher_for({}, "http://host/x"));
  EXPECT_EQ(fake.count(RequestKind::kName), 1u);
}

TEST(Session, FilesOfAKnownDirectoryNeedNoName) {
  FakeFetcher fake({});
  Session session(1u << 20, [&fake](bool) { return fake.client(); });
  ASSERT_TRUE(session.fetcher_for({}, "http://host/folder/"));
  ASSERT_TRUE(session.fetcher_for({}, "http://host/folder/x"));
  ASSERT_TRUE(session.fetcher_for({}, "http://host/folder/below/x"));
  EXPECT_EQ(fake.count(RequestKind::kName), 1u);
  ASSERT_TRUE(session.fetcher_for({}, "http://host/folders"));
  EXPECT_EQ(fake.count(RequestKind::kName), 2u);
}

TEST(Session, AnotherFetcherIsStartedAfterOneHasEnded) {
  FakeFetcher first({});
  FakeFetcher second({});
  std::vector<bool> starts;
  Session session(1u << 20, [&](bool is_first) {
    starts.push_back(is_first);
    return is_first ? first.client() : second.client();
  });
  ASSERT_TRUE(session.fetcher_for({}, "http://host/x"));
  first.die();
  static_cast<void>(first.client()->ask({}, {.kind = RequestKind::kStatus, .name = "http://host/x"}));
  const auto fetcher = session.fetcher_for({}, "http://host/x");
  ASSERT_TRUE(fetcher);
  EXPECT_EQ(*fetcher, second.client());
  EXPECT_EQ(second.count(RequestKind::kName), 1u);
  EXPECT_EQ(starts, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace recordfs::testing
