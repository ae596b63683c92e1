#include "core/recover/recovery.h"

#include <fcntl.h>

#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/store/open_container.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kMemory = 64u << 20;
const std::string kFlip = "tests/corpus/tfrecord/damaged/data-flip.tfrecord";
const std::string kProio = "tests/corpus/proio/small/lz4.proio";

struct Source {
  explicit Source(const std::string& path, const Limits& limits = {})
      : file(open_file({}, Location(path), limits, services, path).value()) {
    services.limits = limits;
  }

  StoreResources services{kMemory, 2, [](Severity, const std::string&) {}};
  OpenedFile file;
};

// Recovers a source to a file that is not published.
Recovered recovered(Source& source, const Recovery::Options& options) {
  const testing::TempFolder folder;
  OutputFile output(Descriptor(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)), "out", {});
  EXPECT_TRUE(output.create());
  return Recovery(*source.file.store, *writer_for(*source.file.store), options, source.services).run(output);
}

TEST(Recovery, ReadableRecordsAreWrittenAndTheOthersAreLost) {
  struct Case {
    std::string path;
    std::uint64_t records;
    std::uint64_t lost;
  };
  for (const auto& [path, records, lost] : {Case{"tests/corpus/tfrecord/small.tfrecord", 300, 0}, Case{kFlip, 299, 1},
                                            Case{kProio, 8, 0}, Case{"tests/corpus/tfrecord/empty.tfrecord", 0, 0}}) {
    for (const unsigned threads : {1u, 3u}) {
      for (const bool copies : {false, true}) {
        Source source(path);
        const Recovered done = recovered(source, {.threads = threads, .memory = kMemory, .copies_chunks = copies});
        EXPECT_FALSE(done.error) << path << ": " << done.error->detail;
        EXPECT_EQ(done.records, records) << path;
        EXPECT_EQ(done.losses().records, lost) << path;
      }
    }
  }
}

TEST(Recovery, ProgressIsTheSizeOfTheSource) {
  for (const std::string& path : {kFlip, kProio}) {
    Source source(path);
    std::uint64_t bytes = 0;
    const auto add = [&](std::uint64_t more) {
      bytes += more;
      return true;
    };
    EXPECT_FALSE(recovered(source, {.memory = kMemory, .goes_on = add}).error);
    EXPECT_EQ(bytes, source.file.store->source().size()) << path;
  }
}

TEST(Recovery, StopsWhenTheCallerWantsIt) {
  Source source(kFlip);
  const Recovered done = recovered(source, {.memory = kMemory, .goes_on = [](std::uint64_t) { return false; }});
  EXPECT_TRUE(done.was_stopped);
  EXPECT_FALSE(done.error);
}

TEST(Recovery, ChunkBeyondTheLimitsIsLostOnlyIfThatIsWanted) {
  Source source(kProio, limits_for_chunks_of(100));
  const Recovered refused = recovered(source, {.memory = kMemory});
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Code::kUnsupported);
  EXPECT_NE(refused.error->detail.find("(try: --max-chunk, --skip-unsupported)"), std::string::npos);
  const Recovered skipped = recovered(source, {.memory = kMemory, .skips_unsupported = true});
  EXPECT_FALSE(skipped.error) << skipped.error->detail;
  EXPECT_EQ(skipped.records, 0u);
  EXPECT_EQ(skipped.losses().records, 8u);
}

TEST(Recovery, NameOfAnotherFormatIsRecognized) {
  const Source source(kProio);
  const FileWriter& writer = *writer_for(*source.file.store);
  EXPECT_EQ(writer.format, "proio");
  EXPECT_TRUE(has_other_name("x.tfrecord", writer));
  EXPECT_FALSE(has_other_name("x.proio", writer));
  EXPECT_FALSE(has_other_name("x", writer));
}

}  // namespace
}  // namespace recordfs
