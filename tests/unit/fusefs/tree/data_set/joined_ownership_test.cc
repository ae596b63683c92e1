// The owner and the permissions of what the shards of a data set contain together.
#include <unistd.h>

#include <gtest/gtest.h>

#include <vector>

#include "fusefs/tree/data_set/data_set_shards.h"

namespace recordfs::testing {
namespace {

Ownership owned_by(uid_t uid, gid_t gid, mode_t mode) { return container_ownership(uid, gid, mode, {}); }

TEST(CommonOwnershipTest, ReaderNeedsPermissionForEachFile) {
  const std::vector<Ownership> same = {owned_by(1, 2, 0644), owned_by(1, 2, 0640)};
  EXPECT_EQ(common_ownership(same).uid, 1u);
  EXPECT_EQ(common_ownership(same).gid, 2u);
  EXPECT_EQ(common_ownership(same).file_mode, 0440u);
  EXPECT_EQ(common_ownership(same).directory_mode, 0750u);
}

TEST(CommonOwnershipTest, GroupThatDiffersGetsWhatOthersHave) {
  const std::vector<Ownership> groups = {owned_by(1, 2, 0640), owned_by(1, 3, 0644)};
  EXPECT_EQ(common_ownership(groups).file_mode, 0400u);
  const std::vector<Ownership> readable = {owned_by(1, 2, 0644), owned_by(1, 3, 0604)};
  EXPECT_EQ(common_ownership(readable).file_mode, 0400u) << "a member of group 3 may not read the second file";
}

TEST(CommonOwnershipTest, OwnerThatDiffersIsTheUserWhoMounts) {
  const std::vector<Ownership> owners = {owned_by(1, 2, 0600), owned_by(5, 2, 0644)};
  EXPECT_EQ(common_ownership(owners).uid, ::geteuid());
  EXPECT_EQ(common_ownership(owners).file_mode, 0400u);
  const std::vector<Ownership> denied = {owned_by(1, 2, 0444), owned_by(5, 2, 0044)};
  EXPECT_EQ(common_ownership(denied).file_mode, 0400u) << "user 5 may not read the second file";
}

TEST(CommonOwnershipTest, TimeIsTheLatest) {
  std::vector<Ownership> times(3);
  times[1].modified = {.tv_sec = 5, .tv_nsec = 2};
  times[2].modified = {.tv_sec = 5, .tv_nsec = 1};
  EXPECT_EQ(common_ownership(times).modified.tv_nsec, 2);
}

TEST(CommonOwnershipTest, NobodyReadsASetWithoutFiles) { EXPECT_EQ(common_ownership({}).directory_mode, 0u); }

}  // namespace
}  // namespace recordfs::testing
