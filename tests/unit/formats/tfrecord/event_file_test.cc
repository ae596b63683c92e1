#include "core/formats/tfrecord/event_file.h"

#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "core/codec/compress.h"
#include "tests/unit/formats/tfrecord/files.h"

namespace recordfs::tfrecord {
namespace {

const std::string kTime = "\x09" + number(0x41D954FC40000000, 8);

std::string version(std::string_view text) {
  std::string record = kTime;
  protobuf::append_field(record, 3, text);
  return record;
}

// Returns the type that the file states for its records.
std::string type_in(const std::string& file) {
  const auto container = kFormat.open({}, source_of(file), {});
  if (!container || (*container)->metadata() == nullptr) return "";
  return std::string((*container)->metadata()->record_type({}).value());
}

TEST(EventFile, BeginsWithItsVersion) {
  const std::string first = version("brain.Event:2");
  EXPECT_TRUE(begins_event_file(as_bytes(first)));
  EXPECT_TRUE(begins_event_file(as_bytes(std::string("\x10\x00", 2) + first + "\x52\x03\x0A\x01w")));
  EXPECT_FALSE(begins_event_file({}));
  for (const std::string& other : {kTime, version("brain.Event:"), version("brain.Event:x"), version("brain.event:2"),
                                   first + first, first + "\x2A", first + "\x2A\x01x", "x" + first}) {
    EXPECT_FALSE(begins_event_file(as_bytes(other)));
  }
}

TEST(EventFile, RecordsHaveTheTypeOfEvents) {
  const std::string event = framed(kTime);
  EXPECT_EQ(type_in(framed(version("brain.Event:2")) + event), "tensorflow.Event");
  EXPECT_EQ(type_in(event + framed(version("brain.Event:2"))), "");
  EXPECT_EQ(type_in(framed("record") + event), "");
  std::string damaged = framed(version("brain.Event:2")) + event;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  EXPECT_EQ(type_in(damaged), "");
}

TEST(EventFile, CompressedFileHasTheTypeOfEvents) {
  if (!can_compress(CodecId::kGzip)) GTEST_SKIP() << "built without zlib";
  std::string packed;
  ASSERT_TRUE(compress(CodecId::kGzip, {}, as_bytes(framed(version("brain.Event:2")) + framed(kTime)), packed));
  EXPECT_EQ(type_in(packed), "tensorflow.Event");
}

}  // namespace
}  // namespace recordfs::tfrecord
