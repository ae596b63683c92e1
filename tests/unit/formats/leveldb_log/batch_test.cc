// Write batches and version edits: recognizing them, and parsing their operations.
#include <gtest/gtest.h>

#include "core/formats/leveldb_log/version_edit.h"
#include "core/formats/leveldb_log/write_batch.h"
#include "tests/toy/parts.h"
#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

using namespace std::string_literals;

std::string batch(char count, std::string_view operations, char sequence = 7) {
  return std::string(1, sequence) + std::string(7, '\0') + std::string(1, count) + std::string(3, '\0') +
         std::string(operations);
}

const Value* member(const Value& object, std::string_view name) {
  for (const Member& each : std::get<Value::Object>(object.is)) {
    if (each.name == name) return &each.value;
  }
  return nullptr;
}

std::string word(const Value& object, std::string_view name) {
  const Value* value = member(object, name);
  if (value == nullptr) return "-";
  if (const auto* number = std::get_if<std::uint64_t>(&value->is)) return std::to_string(*number);
  if (const auto* bytes = std::get_if<Bytes>(&value->is)) return std::string(as_text(*bytes));
  return std::get<std::string>(value->is);
}

// Returns "op tag sequence cf key value timestamp xid" for each operation.
std::vector<std::string> operations(const std::string& record) {
  const auto value = batch_value(as_bytes(record), {}, ValueForm::kJson);
  if (!value) return {to_string(value.error())};
  std::vector<std::string> lines;
  for (const Value& operation : std::get<Value::List>(member(*value, "ops")->is)) {
    std::string line;
    for (const auto* name : {"op", "tag", "sequence", "cf", "key", "value", "timestamp", "xid"}) {
      line += word(operation, name) + " ";
    }
    line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> changes(const std::string& record) {
  static constexpr const char* kNames[] = {"set",   "unknown", "delete", "delete_range",
                                           "begin", "prepare", "commit", "rollback"};
  std::vector<std::string> lines;
  const auto handed =
      batch_changes(as_bytes(record), [&](KeyChangeKind kind) { lines.emplace_back(kNames[static_cast<int>(kind)]); });
  if (!handed) lines.push_back(to_string(handed.error()));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(WriteBatch, OperationsHaveConsecutiveSequenceNumbers) {
  EXPECT_EQ(operations(batch(3, "\1\1a\2bb\3\4blob\0\1c\5\2\1d\1e"s)),
            (Lines{"put 1 7 - a bb - -", "log_data 3 - - - blob - -", "delete 0 8 - c - - -", "put 5 9 2 d e - -"}));
}

TEST(WriteBatch, OperationsPreparedOrAfterACommitHaveNoSequenceNumber) {
  EXPECT_EQ(operations(batch(4, "\1\1a\1b\x09\1\1c\1d\x0a\1x\1\1e\1f\x0b\1x\1\1g\1h"s)),
            (Lines{"put 1 7 - a b - -", "begin_prepare 9 - - - - - -", "put 1 - - c d - -",
                   "end_prepare 10 - - - - - x", "put 1 8 - e f - -", "commit 11 - - - - - x", "put 1 - - g h - -"}));
}

TEST(WriteBatch, WritesOfATransactionThatWritesBeforeItCommitsHaveOneSequenceNumber) {
  EXPECT_EQ(operations(batch(2, "\x12\1\1a\1b\1\1c\1d\x0a\1x"s)),
            (Lines{"begin_persisted_prepare 18 - - - - - -", "put 1 7 - a b - -", "put 1 7 - c d - -",
                   "end_prepare 10 - - - - - x"}));
  EXPECT_EQ(operations(batch(1, "\x13\1\1a\1b\x0a\1x"s)),
            (Lines{"begin_unprepare 19 - - - - - -", "put 1 7 - a b - -", "end_prepare 10 - - - - - x"}));
}

TEST(WriteBatch, SecondWriteOfAKeyAndEndOfABatchTakeTheNextSequenceNumber) {
  EXPECT_EQ(operations(batch(5, "\x0d\1\1a\1b\1\1c\1d\0\1a\x0d\x0d\1\1a\1e\5\1\1a\1f\x0d"s)),
            (Lines{"noop 13 - - - - - -", "put 1 7 - a b - -", "put 1 7 - c d - -", "delete 0 8 - a - - -",
                   "noop 13 - - - - - -", "noop 13 - - - - - -", "put 1 9 - a e - -", "put 5 9 1 a f - -",
                   "noop 13 - - - - - -"}));
}

TEST(WriteBatch, EveryTagIsParsed) {
  EXPECT_EQ(operations(batch(14,
                             "\2\1a\1b\4\1\1a\6\1\1a\1b\7\1a\x08\1\1a\x0e\1\1a\1b\x0f\1a\1b\x10\1\1a\1b\x11\1a\1b"
                             "\x16\1a\1b\x17\1\1a\1b\x18\1a\1b\x19\1\1a\1b\1\1a\1b\x0c\1x\x0d\x15\1t\1x"s)),
            (Lines{"merge 2 7 - a b - -", "delete 4 8 1 a - - -", "merge 6 9 1 a b - -", "single_delete 7 10 - a - - -",
                   "single_delete 8 11 1 a - - -", "delete_range 14 12 1 a b - -", "delete_range 15 13 - a b - -",
                   "blob_index 16 14 1 a b - -", "blob_index 17 15 - a b - -", "put_entity 22 16 - a b - -",
                   "put_entity 23 17 1 a b - -", "timed_put 24 18 - a b - -", "timed_put 25 19 1 a b - -",
                   "put 1 20 - a b - -", "rollback 12 - - - - - x", "noop 13 - - - - - -",
                   "commit_with_timestamp 21 - - - - t x"}));
}

TEST(WriteBatch, IncompleteOrTrailingBytesAreRefused) {
  const Lines none = {"byte 0: the record is not a write batch"};
  EXPECT_EQ(operations(batch(1, "\1\1a\2b"s)), none);
  EXPECT_EQ(operations(batch(2, "\1\1a\1b"s)), none);
  EXPECT_EQ(operations(batch(0, "\x14"s)), none);
  EXPECT_EQ(operations("short"), none);
  EXPECT_EQ(changes(batch(2, "\1\1a\1b"s)), none);
  EXPECT_EQ(operations(batch(0, "")), Lines{});
}

TEST(WriteBatch, ValuesAndPartsBeyondTheLimitAreRefused) {
  const std::string record = batch(1, "\1\1a\1b"s);
  EXPECT_EQ(batch_value(as_bytes(record), {.parts_per_record = 9}, ValueForm::kJson).error().code, Code::kLimit);
  EXPECT_TRUE(batch_value(as_bytes(record), {.parts_per_record = 10}, ValueForm::kJson));
  EXPECT_EQ(batch_value(as_bytes(record), {.parts_per_record = 4}, ValueForm::kParts).error().code, Code::kLimit);
  EXPECT_TRUE(batch_value(as_bytes(record), {.parts_per_record = 5}, ValueForm::kParts));
}

TEST(WriteBatch, ReturnsTheKindsOfItsChanges) {
  EXPECT_EQ(changes(batch(5, "\1\1a\2bb\7\1c\x0e\3\1d\1e\2\1f\1g\x18\1h\x0aiimmmmmmmm\x0d"s)),
            (Lines{"set", "delete", "delete_range", "unknown", "set"}));
  EXPECT_EQ(changes(batch(1, "\x09\1\1c\1d\x0a\1x\x0b\1y\x15\1t\1z\x0c\1w"s)),
            (Lines{"begin", "set", "prepare", "commit", "commit", "rollback"}));
}

TEST(WriteBatch, HasADirectoryForEachOperation) {
  const std::string record = batch(2, "\5\2\1a\2bb\x0f\1c\1d\x0b\1x"s);
  const auto value = batch_value(as_bytes(record), {}, ValueForm::kParts);
  ASSERT_TRUE(value);
  const Parts parts = parts_in(*value, as_bytes(record));
  Lines lines;
  for (const Part& part : parts) {
    if (part.kind == PartKind::kDirectory) lines.push_back(part.key);
    if (part.kind == PartKind::kText) lines.push_back(part.key + "=" + part.text);
    if (part.kind == PartKind::kSlice)
      lines.push_back(part.key + ":" + record.substr(part.extent.begin, part.extent.size));
  }
  EXPECT_EQ(lines, (Lines{"000000", "op=put\n", "sequence=7\n", "cf=2\n", "key:a", "value:bb", "000001",
                          "op=delete_range\n", "sequence=8\n", "key:c", "end:d", "000002", "op=commit\n", "xid:x"}));
  EXPECT_EQ(parts[7].parent, 6u);
}

TEST(VersionEdit, FieldsHaveNames) {
  const std::string record = "\x66\1\2\3\4\1a\1b\5\6\x90\3\1\2\3\1m\1v\x05\1c\x00\x84\x40\1\2\x9\1\xff\x40\1z\xca\1"s;
  const auto edit = edit_value(as_bytes(record), {});
  ASSERT_TRUE(edit);
  const auto& list = std::get<Value::List>(edit->is);
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(word(list[0], "name"), "new_file3");
  EXPECT_EQ(word(list[0], "path_id"), "3");
  EXPECT_EQ(word(list[0], "largest_seqno"), "6");
  EXPECT_EQ(word(list[1], "name"), "blob_file_addition");
  EXPECT_EQ(word(std::get<Value::List>(member(list[1], "custom")->is)[0], "value"), "c");
  EXPECT_EQ(word(list[2], "name"), "wal_addition");
  EXPECT_EQ(word(std::get<Value::List>(member(list[2], "custom")->is)[0], "value"), "9");
  EXPECT_EQ(word(list[3], "name"), "unknown");
  EXPECT_EQ(word(list[3], "value"), "z");
  EXPECT_EQ(word(list[4], "name"), "column_family_drop");
}

TEST(VersionEdit, InternalKeysAreSplitInJson) {
  const std::string record = "\5\1\x0auk\1\x2c\1\0\0\0\0\0\5\2\3abc"s;
  const auto edit = edit_value(as_bytes(record), {});
  ASSERT_TRUE(edit);
  const auto& list = std::get<Value::List>(edit->is);
  const Value key = *member(list[0], "internal_key");
  EXPECT_EQ(word(key, "key"), "uk");
  EXPECT_EQ(word(key, "sequence"), "300");
  EXPECT_EQ(word(key, "type"), "put");
  EXPECT_EQ(word(list[1], "internal_key"), "abc");
  const auto stored = parse_edit(as_bytes(record), {});
  ASSERT_TRUE(stored);
  EXPECT_EQ(as_text((*stored)[0].text), record.substr(3, 10));
}

TEST(VersionEdit, ChangesHaveTypedFields) {
  const std::string record = "\x67\1\2\3\1a\1b\5\6\x05\1c\x07\2de\1\x84\x40\1\2\x9\1\7\1\2\3\1a\1b\xca\1"s;
  const auto edit = parse_edit(as_bytes(record), {});
  ASSERT_TRUE(edit);
  ASSERT_EQ(edit->size(), 4u);
  const Change& table = (*edit)[0];
  EXPECT_EQ(table.kind, ChangeKind::kNewTable);
  EXPECT_EQ(table.level, 1u);
  EXPECT_EQ(table.number, 2u);
  EXPECT_EQ(table.size, 3u);
  EXPECT_EQ(as_text(table.smallest), "a");
  EXPECT_EQ(table.largest_sequence, 6u);
  EXPECT_EQ(as_text(table.custom_text(7).value_or(Bytes())), "de");
  EXPECT_FALSE(table.custom_text(6));
  EXPECT_EQ((*edit)[1].kind, ChangeKind::kNewLog);
  EXPECT_EQ((*edit)[1].custom_number(2), 9u);
  EXPECT_EQ((*edit)[1].custom_number(3), 0u);
  EXPECT_EQ((*edit)[2].kind, ChangeKind::kNewTable);
  EXPECT_EQ((*edit)[3].kind, ChangeKind::kDroppedFamily);
}

TEST(VersionEdit, IncompleteOrTooLargeEditIsRefused) {
  EXPECT_TRUE(std::get<Value::List>(edit_value({}, {})->is).empty());
  EXPECT_EQ(edit_value(as_bytes("\x08"s), {}).error().code, Code::kDamage);
  EXPECT_EQ(edit_value(as_bytes("\1\4nam"s), {}).error().code, Code::kDamage);
  EXPECT_EQ(edit_value(as_bytes("\2\1\2\2"s), {.parts_per_record = 8}).error().code, Code::kLimit);
  EXPECT_TRUE(edit_value(as_bytes("\2\1\2\2"s), {.parts_per_record = 9}));
}

TEST(WriteBatch, UnwantedWritesOfOneFamilyAreNotPassedOneByOne) {
  const auto wants = [](std::uint8_t type, Bytes key) { return type == 0x0f || as_text(key) == "b"; };
  const auto unwanted = [&](const std::string& record) {
    return summarize_batch(as_bytes(record), wants).value().unwanted_family;
  };
  EXPECT_EQ(unwanted(batch(2, "\1\1a\1v\0\1c"s)), 0u);
  EXPECT_EQ(unwanted(batch(2, "\5\3\1a\1v\4\3\1c"s)), 3u);
  EXPECT_EQ(unwanted(batch(2, "\1\1a\1v\3\1x\0\1c\x0d"s)), 0u);
  EXPECT_EQ(unwanted(batch(2, "\1\1a\1v\1\1b\1v"s)), std::nullopt);
  EXPECT_EQ(unwanted(batch(2, "\1\1b\1v\0\1a"s)), std::nullopt);
  EXPECT_EQ(unwanted(batch(2, "\1\1a\1v\5\3\1a\1v"s)), std::nullopt);   // two families
  EXPECT_EQ(unwanted(batch(1, "\x0f\1a\1z"s)), std::nullopt);           // a deletion of a range
  EXPECT_EQ(unwanted(batch(1, "\x09\1\1a\1v\x0a\1t"s)), std::nullopt);  // of a transaction
  EXPECT_EQ(unwanted(batch(1, "\1\1a\1v\x0b\1t"s)), std::nullopt);
  EXPECT_EQ(unwanted(batch(0, "\3\1x"s)), std::nullopt);
  EXPECT_EQ(summarize_batch(as_bytes(batch(1, "\1\1a\1v"s)))->unwanted_family, std::nullopt);
  EXPECT_EQ(summarize_batch(as_bytes(batch(2, "\1\1a\1v"s)), wants).error().code, Code::kDamage);
}

TEST(Content, IsDetectedFromABatchThatContinuesInTheNextFrame) {
  LogWriter writer;
  writer.append(batch(1, "\1\1a\xa0\x8d\6"s + text(100000)));
  const auto log = open_log(writer.log());
  EXPECT_TRUE(log->schema().change_kinds);
  LogWriter opaque;
  opaque.append(text(100000));
  EXPECT_FALSE(open_log(opaque.log())->schema().change_kinds);
  EXPECT_FALSE(open_log(opaque.log())->schema().value);
}

TEST(Content, IsDetectedFromTheFirstUndamagedRecord) {
  std::string log = fragment(1, batch(1, "\1\1a\1b"s)) + fragment(1, batch(1, "\1\1a\1c"s));
  log[7] = '#';
  EXPECT_TRUE(open_log(log)->schema().change_kinds);
}

TEST(Content, IsDetectedFromACompressedBatch) {
  LogWriter writer({.zstd = true});
  writer.append(batch(1, "\1\1a\xa0\x8d\6"s + std::string(100000, 'v')));
  EXPECT_TRUE(open_log(writer.log())->schema().change_kinds);
}

}  // namespace
}  // namespace recordfs::leveldb_log
