// Chunks of a damaged file, as scans describe them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "core/formats/array_record/format.h"
#include "core/formats/container.h"

namespace recordfs::array_record {
namespace {

std::string sample(const std::string& name) {
  std::ifstream file(std::filesystem::path("tests/corpus/array_record") / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ArrayRecord, ChunkLostInASearchOfSeveralStepsIsFoundAgainByItsKey) {
  constexpr Position kSecondChunk = 100136;
  std::string bytes = sample("large.array_record");
  bytes.at(kSecondChunk + 5) = static_cast<char>(~bytes[kSecondChunk + 5]);
  Limits limits;
  limits.scan_bytes = 4096;
  const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
  const auto container = kFormat.open({}, source, limits).value();
  int lost = 0;
  for (std::optional<ChunkKey> key = container->traits().first; key;) {
    const Step step = container->scan({}, *key).value();
    if (step.chunk && step.chunk->begin == kSecondChunk) {
      ++lost;
      EXPECT_EQ(step.chunk->records, 2u);
      const Step again = container->scan({}, step.chunk->key).value();
      ASSERT_TRUE(again.chunk);
      EXPECT_EQ(again.chunk->begin, kSecondChunk);
      EXPECT_EQ(again.chunk->records, 2u);
    }
    key = step.next;
  }
  EXPECT_EQ(lost, 1);
}

}  // namespace
}  // namespace recordfs::array_record
