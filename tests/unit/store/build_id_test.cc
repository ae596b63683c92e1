#include "core/store/open_container.h"

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

TEST(BuildId, IsAHashInHexadecimal) {
  const std::string id = build_id();
  EXPECT_GE(id.size(), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  EXPECT_EQ(build_id(), id);
}

}  // namespace
}  // namespace recordfs::testing
