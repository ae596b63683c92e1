// Each test runs in a child process whose address space is limited to slightly more than it already uses.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"

namespace recordfs {
namespace {

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// Exits with the error code, or with 99 if there was no error.
[[noreturn]] void exit_with_outcome(CodecId codec, std::string_view packed, std::uint64_t more) {
  struct rlimit limit {};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = address_space() + more;
  ::setrlimit(RLIMIT_AS, &limit);
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;
  auto out = decompress({}, codec, as_bytes(packed), 0, kNoLimit, kNoLimit);
  std::_Exit(out ? 99 : static_cast<int>(out.error().code));
}

class OutOfMemory : public ::testing::Test {
 protected:
  // Children start fresh, without free memory left over from other tests.
  OutOfMemory() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

const auto kNoMemory = ::testing::ExitedWithCode(static_cast<int>(Code::kOutOfMemory));

#ifdef RECORDFS_HAVE_ZSTD
// A window of 2 GiB, and content of unknown size.
TEST_F(OutOfMemory, ZstdWindowBeyondTheMemoryIsAnError) {
  const std::string packed("\x28\xB5\x2F\xFD\x00\xA8\x21\x00\x00text", 13);
  EXPECT_EXIT(exit_with_outcome(CodecId::kZstd, packed, 100 << 20), kNoMemory, "");
}
#endif

TEST_F(OutOfMemory, OutputBeyondTheMemoryIsAnError) {
  for (const auto& [codec, pack] : testing::packers()) {
    // Each child runs the test up to its own statement again, so only statements compress.
    EXPECT_EXIT(exit_with_outcome(codec, pack(std::string(50 << 20, 'x')), 30 << 20), kNoMemory, "")
        << to_string(codec);
  }
}

#ifdef RECORDFS_HAVE_BROTLI
// A window of 2^24 bytes, and 2^24 bytes announced, of which 4 are present.
TEST_F(OutOfMemory, BrotliWindowBeyondTheMemoryIsAnError) {
  const std::string packed("\xCF\xFF\xFF\xFFtext", 8);
  EXPECT_EXIT(exit_with_outcome(CodecId::kBrotli, packed, 4 << 20), kNoMemory, "");
}
#endif

}  // namespace
}  // namespace recordfs
