// Tables for the tests of the writers of files.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/append.h"
#include "core/base/protobuf.h"
#include "core/columns/column_builder.h"
#include "core/columns/table_writer.h"

namespace recordfs::testing {

class StringSink final : public ByteSink {
 public:
  Result<void> write(Bytes bytes) override {
    text += as_text(bytes);
    return {};
  }
  std::string text;
};

// The columns id (int64, nullable), name (string), counts (list of uint64), points (list of {x: double, nullable}).
inline MessageField sample_root() {
  const MessageField x{.name = "x", .number = 1, .type = FieldType::kDouble, .has_presence = true};
  return {.name = "decoded",
          .number = 1,
          .type = FieldType::kMessage,
          .has_presence = true,
          .fields = {{.name = "id", .number = 1, .type = FieldType::kInt64, .has_presence = true},
                     {.name = "name", .number = 2, .type = FieldType::kString},
                     {.name = "counts", .number = 3, .type = FieldType::kUint64, .is_repeated = true},
                     {.name = "points", .number = 4, .type = FieldType::kMessage, .is_repeated = true, .fields = {x}}}};
}

// A point; NaN: without x.
inline std::string point(double x) {
  std::string message;
  if (x != x) return message;
  message.push_back('\x09');
  append_le(message, std::bit_cast<std::uint64_t>(x));
  return message;
}

inline std::string sample_row(std::int64_t id, std::string_view name, const std::vector<std::uint64_t>& counts,
                              const std::vector<std::string>& points) {
  std::string message;
  message.push_back('\x08');
  protobuf::append_varint(message, static_cast<std::uint64_t>(id));
  protobuf::append_field(message, 2, name);
  for (const std::uint64_t count : counts) {
    message.push_back('\x18');
    protobuf::append_varint(message, count);
  }
  for (const std::string& one : points) protobuf::append_field(message, 4, one);
  return message;
}

inline ArrowColumn batch_of(const MessageField& root, const std::vector<std::string>& messages) {
  ColumnBudget budget(1u << 30);
  ColumnBuilder builder(root, budget);
  for (const std::string& message : messages) EXPECT_TRUE(builder.append_message(as_bytes(message)));
  return builder.finish();
}

using OpenTable = Result<std::unique_ptr<TableWriter>> (*)(ByteSink& sink, const ArrowField& root,
                                                           const TableOptions& options);

// Returns the file that has the batches as one group.
inline std::string file_of(OpenTable open, const MessageField& root, const std::vector<ArrowColumn>& batches,
                           const TableOptions& options = {}) {
  StringSink sink;
  const auto writer = open(sink, arrow_field_of(root), options);
  if (!writer) {
    ADD_FAILURE() << writer.error().detail;
    return {};
  }
  if (!batches.empty()) {
    const auto encoded = (*writer)->encode(batches);
    EXPECT_TRUE(encoded && (*writer)->append(**encoded));
  }
  EXPECT_TRUE((*writer)->finish());
  return sink.text;
}

}  // namespace recordfs::testing
