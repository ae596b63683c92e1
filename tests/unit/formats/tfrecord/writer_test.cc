#include "core/formats/tfrecord/writer.h"

#include <gtest/gtest.h>

#include "tests/unit/formats/tfrecord/files.h"
#include "tests/unit/formats/written_file.h"

namespace recordfs::tfrecord {
namespace {

const std::vector<std::string> kRecords = {"one", "", std::string(100000, 'x')};

TEST(TFRecordWriter, PlainFileHasTheBytesOfTheSpecification) {
  EXPECT_EQ(written(kWriter, kRecords), framed("one") + framed("") + framed(kRecords[2]));
  EXPECT_EQ(written(kWriter, {}), "");
}

TEST(TFRecordWriter, CompressedFileIsOneStreamOfTheSameRecords) {
  for (const std::string_view codec : {"gzip", "zlib"}) {
    const std::string file = written(kWriter, kRecords, {.codec = std::string(codec)});
    EXPECT_LT(file.size(), 1000u);
    EXPECT_EQ(read_bytes(file).records, kRecords);
    EXPECT_EQ(copied(kWriter, file), file);
  }
}

TEST(TFRecordWriter, OptionsThatTheFormatHasNoPlaceForAreRefused) {
  MemorySink sink;
  for (const WriterOptions& options : {WriterOptions{.codec = "zstd"}, WriterOptions{.trailer = ""},
                                       WriterOptions{.metadata = {{.key = "a", .type = "", .value = "b"}}}}) {
    EXPECT_EQ(kWriter.open({}, sink, options).error().code, Code::kUnsupported);
  }
}

}  // namespace
}  // namespace recordfs::tfrecord
