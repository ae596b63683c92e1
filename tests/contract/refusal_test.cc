#include <algorithm>

#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class RefusalTest : public SampleTest {};

RECORDFS_FOR_EACH(all_samples(), RefusalTest);

TEST_P(RefusalTest, OtherFormatsDoNotRecognizeOrOpenIt) {
  if (bytes().empty()) return;  // only the name identifies the format
  const auto own = sample().format->probe({}, *source_of(bytes()), base_name(sample().file_name), ProbeDepth::kSearch);
  ASSERT_TRUE(own);
  for (const Format* other : all_formats()) {
    if (other == sample().format || other->name == sample().format->built_on) continue;
    const auto bid = other->probe({}, *source_of(bytes()), base_name(sample().file_name), ProbeDepth::kSearch);
    ASSERT_TRUE(bid);
    EXPECT_EQ(*bid, 0) << other->name;
    const auto opened = other->open({}, source_of(bytes()), Limits{});
    ASSERT_FALSE(opened) << other->name;
    EXPECT_EQ(opened.error().code, Code::kNoContainer) << other->name;
  }
}

TEST_P(RefusalTest, RegistryRecognizesItsFormat) {
  if (sample().format == all_formats().back()) return;  // the toy is not in the registry
  const auto opened = open_container({}, source_of(bytes()), base_name(sample().file_name), Limits{});
  if (sample().want.refused) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kNoContainer);
  } else if (!sample().want.damaged) {
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_EQ((*opened)->traits().format, sample().format->name);
  } else if (opened && (*opened)->traits().format != sample().format->built_on) {
    EXPECT_EQ((*opened)->traits().format, sample().format->name);
  }
}

TEST_P(RefusalTest, ProbeAndOpenAgree) {
  const auto bid = sample().format->probe({}, *source_of(bytes()), base_name(sample().file_name), ProbeDepth::kSearch);
  ASSERT_TRUE(bid);
  if (*bid > 0) {
    EXPECT_TRUE(open(bytes())) << "probe bids " << *bid;
  }
  if (!sample().want.damaged && !sample().want.refused) {
    EXPECT_GT(*bid, 0);
  }
}

TEST(CorpusTest, EveryFormatHasUndamagedAndDamagedSamples) {
  for (const Format* format : all_formats()) {
    const auto samples_with_damage = [&](bool damaged) {
      return std::ranges::count_if(all_samples(), [&](const Sample& sample) {
        return sample.format == format && !sample.want.refused && sample.want.damaged == damaged;
      });
    };
    EXPECT_GT(samples_with_damage(false), 5) << format->name;
    EXPECT_GT(samples_with_damage(true), 4) << format->name;
  }
}

}  // namespace
}  // namespace recordfs::contract
