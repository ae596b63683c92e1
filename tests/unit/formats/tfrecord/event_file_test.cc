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
std::string type_in(const std::string& file, const std::string& name = "") {
  const auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(file)).value(), name);
  const auto container = kFormat.open({}, source, {});
  if (!container || (*container)->metadata() == nullptr) return "";
  return std::string((*container)->metadata()->record_type({}).value());
}

// Returns an event with a summary of one value.
std::string summary(const std::string& value) {
  std::string values;
  protobuf::append_field(values, 1, value);
  std::string record = kTime + "\x10\x05";
  protobuf::append_field(record, 5, values);
  return record;
}

// Returns a field whose number and wire type are its first byte.
std::string bytes_field(char tag, const std::string& content) {
  return std::string(1, tag) + static_cast<char>(content.size()) + content;
}

const std::string kLoss = bytes_field('\x0A', "loss") + "\x15" + number(0x3F800000, 4);  // a tag, and a simple value

TEST(EventFile, VersionIsCertain) {
  const std::string first = version("brain.Event:2");
  EXPECT_EQ(evidence_of_event(as_bytes(first)), EventEvidence::kCertain);
  EXPECT_EQ(evidence_of_event(as_bytes(std::string("\x10\x00", 2) + first + "\x52\x03\x0A\x01w")),
            EventEvidence::kCertain);
  for (const std::string& possible : {kTime, version("brain.Event:"), version("brain.Event:x"), kTime + "\x22\x01g"}) {
    EXPECT_EQ(evidence_of_event(as_bytes(possible)), EventEvidence::kPossible);
  }
  for (const std::string& other : {std::string(), "\x09" + number(12345, 8)}) {
    EXPECT_EQ(evidence_of_event(as_bytes(other)), EventEvidence::kFields);
  }
  for (const std::string& other :
       {first + first, first + "\x2A", first + "\x2A\x01x", "x" + first, first + "\x5A\x01x"}) {
    EXPECT_EQ(evidence_of_event(as_bytes(other)), EventEvidence::kNone) << other;
  }
}

TEST(EventFile, SummaryIsCertainIfItHasNothingElse) {
  const std::string metadata = bytes_field('\x4A', bytes_field('\x0A', bytes_field('\x0A', "scalars")));
  const std::string tensor = bytes_field('\x42', "\x08\x01" + bytes_field('\x2A', number(0x3F800000, 4)));
  const std::string tag = bytes_field('\x0A', "a");
  for (const std::string& value :
       {kLoss, tag + metadata + tensor, tag + bytes_field('\x2A', bytes_field('\x3A', ""))}) {
    EXPECT_EQ(evidence_of_event(as_bytes(summary(value))), EventEvidence::kCertain);
  }
  for (const std::string& value : {std::string(), tag, bytes_field('\x0A', "") + kLoss.substr(6), tag + metadata}) {
    EXPECT_EQ(evidence_of_event(as_bytes(summary(value))), EventEvidence::kPossible) << value;
  }
  for (const std::string& value :
       {kLoss + tensor, kLoss + tag, tag + "\x10\x01", tag + bytes_field('\x52', "x"), bytes_field('\x0A', "\xFF"),
        tag + bytes_field('\x42', "\x09" + number(1, 8)), tag + bytes_field('\x2A', bytes_field('\x3A', "1234567"))}) {
    EXPECT_EQ(evidence_of_event(as_bytes(summary(value))), EventEvidence::kNone) << value;
  }
}

TEST(EventFile, RecordsHaveTheTypeOfEvents) {
  const std::string event = framed(kTime);
  const std::string first = framed(version("brain.Event:2"));
  EXPECT_EQ(type_in(first + event), "tensorflow.Event");
  EXPECT_EQ(type_in(event + framed(summary(kLoss))), "tensorflow.Event");
  EXPECT_EQ(type_in(event + event), "");
  EXPECT_EQ(type_in(event + framed("record") + framed(summary(kLoss))), "");
  EXPECT_EQ(type_in(framed("record") + first), "");
  for (const std::size_t place : {0u, 20u}) {  // in the header, and in the content
    std::string damaged = first + event;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    EXPECT_EQ(type_in(damaged), "");
    EXPECT_EQ(type_in(damaged + framed(summary(kLoss))), "tensorflow.Event");
  }
}

TEST(EventFile, NameDecidesIfNoRecordDoes) {
  const std::string name = "events.out.tfevents.1611911647.host";
  std::string graph = kTime;
  protobuf::append_field(graph, 4, std::string(1u << 20, 'g'));
  std::string packed = framed(kTime);
  if (can_compress(CodecId::kZlib)) {
    packed.clear();
    ASSERT_TRUE(compress(CodecId::kZlib, {}, as_bytes(framed(kTime)), packed));
  }
  for (const std::string& file :
       {framed(kTime), framed("\x10\x05"), framed(graph), framed(graph) + framed(kTime), packed}) {
    EXPECT_EQ(type_in(file, name), "tensorflow.Event");
    EXPECT_EQ(type_in(file, "a.tfrecord"), "");
  }
  EXPECT_EQ(type_in(framed(kTime) + framed("record"), name), "");
  EXPECT_EQ(type_in(framed("record"), name), "");
  EXPECT_EQ(type_in("", name), "");
}

TEST(EventFile, LongRecordsMayPrecedeTheOneThatIsCertain) {
  std::string graph = kTime;
  protobuf::append_field(graph, 4, std::string(1u << 20, 'g'));
  EXPECT_EQ(type_in(framed(graph) + framed(graph) + framed(summary(kLoss))), "tensorflow.Event");
  EXPECT_EQ(type_in(framed(graph) + framed(graph)), "");
  EXPECT_EQ(type_in(framed(std::string(1u << 20, 'g')) + framed(summary(kLoss))), "");
}

TEST(EventFile, CompressedFileHasTheTypeOfEvents) {
  if (!can_compress(CodecId::kGzip)) GTEST_SKIP() << "built without zlib";
  std::string packed;
  ASSERT_TRUE(compress(CodecId::kGzip, {}, as_bytes(framed(kTime) + framed(summary(kLoss))), packed));
  EXPECT_EQ(type_in(packed), "tensorflow.Event");
}

}  // namespace
}  // namespace recordfs::tfrecord
