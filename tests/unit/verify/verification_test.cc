#include "core/verify/verification.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/read_window.h"
#include "core/store/open_container.h"
#include "tests/toy/toy_format.h"
#include "tests/unit/formats/proio/streams.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kBuckets = 300;  // too many for steps alone
constexpr std::uint64_t kEvents = 40;    // of a bucket
const std::string kEvent(150, 'e');

std::string proio_file() {
  std::string file;
  for (std::uint64_t bucket = 0; bucket < kBuckets; ++bucket) {
    file += proio::bucket({.events = std::vector<std::string>(kEvents, kEvent)});
  }
  return file;
}

Verdict verdict_of(const std::string& bytes, const Limits& limits) {
  StoreResources services(64u << 20, 2, [](Severity, const std::string&) {});
  const auto source = std::make_shared<WindowedSource>(toy::source_of(bytes));
  const RecordStore store("file", source, open_container({}, source, "file", limits).value(), services);
  return verify(store, 1, 64u << 20, [](std::uint64_t) { return true; });
}

TEST(VerifyInBatches, CountsWhatIsInThem) {
  const Verdict verdict = verdict_of(proio_file(), {});
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_EQ(verdict.chunks, kBuckets);
  EXPECT_EQ(verdict.records, kBuckets * kEvents);
  EXPECT_EQ(verdict.bytes, kBuckets * kEvents * kEvent.size());
}

TEST(VerifyInBatches, MetadataBetweenThemIsChecked) {
  Limits limits;
  limits.metadata_bytes = 1000;
  const std::string large =
      proio::bucket({.events = {"a"}, .metadata = {{"a", std::string(600, 'x')}, {"b", std::string(600, 'x')}}});
  const std::string bytes = proio_file() + large + proio_file();
  const Verdict verdict = verdict_of(bytes, limits);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].word, "unsupported");
  EXPECT_TRUE(verdict_of(bytes, {}).findings.empty());
}

}  // namespace
}  // namespace recordfs
