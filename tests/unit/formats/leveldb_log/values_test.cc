// Values of records, compared with the corpus: the first batches or edits of every log and MANIFEST, as parsed by an
// independent reader.
#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <nlohmann/json.hpp>

#include "core/formats/value.h"
#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::leveldb_log {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text += "0123456789abcdef"[static_cast<int>(byte) >> 4], text += "0123456789abcdef"[static_cast<int>(byte) & 15];
  return text;
}

std::string sha256(Bytes bytes) {
  std::array<std::byte, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return hex(digest);
}

// Represents bytes as "NAME_hex".
Json as_json(const Value& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value.is)) return *number;
  if (const auto* text = std::get_if<std::string>(&value.is)) return *text;
  if (const auto* list = std::get_if<Value::List>(&value.is)) {
    Json made = Json::array();
    for (const Value& item : *list) made.push_back(as_json(item));
    return made;
  }
  Json made = Json::object();
  for (const Member& member : std::get<Value::Object>(value.is)) {
    if (const auto* bytes = std::get_if<Bytes>(&member.value.is)) {
      made[std::string(member.name) + "_hex"] = hex(*bytes);
    } else {
      made[std::string(member.name)] = as_json(member.value);
    }
  }
  return made;
}

// Converts to the form of the corpus: values as their size and hash, and no sequence numbers of operations.
Json as_expected(const Value& operation) {
  Json made = Json::object();
  for (const Member& member : std::get<Value::Object>(operation.is)) {
    const auto* bytes = std::get_if<Bytes>(&member.value.is);
    if (member.name == "sequence") continue;
    if (member.name == "value") {
      made["value_size"] = bytes->size();
      made["value_sha256"] = sha256(*bytes);
    } else if (bytes != nullptr) {
      made[std::string(member.name) + "_hex"] = hex(*bytes);
    } else {
      made[std::string(member.name)] = as_json(member.value);
    }
  }
  return made;
}

// Splits an internal key in hexadecimal digits.
Json split_key(const std::string& digits) {
  constexpr std::size_t kTag = 16;  // digits, little-endian: the type first
  const std::map<std::string, std::string> types = {
      {"00", "delete"}, {"01", "put"}, {"07", "single_delete"}, {"0f", "delete_range"}, {"11", "blob_index"}};
  std::string sequence;
  for (std::size_t at = digits.size() - 2; at > digits.size() - kTag; at -= 2) sequence += digits.substr(at, 2);
  return {{"key_hex", digits.substr(0, digits.size() - kTag)},
          {"sequence", std::stoull(sequence, nullptr, 16)},
          {"type", types.at(digits.substr(digits.size() - kTag, 2))}};
}

// Converts an edit of the corpus: texts, unnamed bytes like those of a value, and internal keys.
Json with_bytes_named(Json edit) {
  for (const std::string name : {"smallest", "largest", "internal_key"}) {
    if (!edit.contains(name + "_hex")) continue;
    edit[name] = split_key(edit[name + "_hex"].get<std::string>());
    edit.erase(name + "_hex");
  }
  for (Json* object : {&edit}) {
    if (object->contains("hex")) {
      (*object)["value_hex"] = (*object)["hex"];
      object->erase("hex");
    }
    if (object->contains("value") && (*object)["value"].is_string()) {
      (*object)["value_hex"] = hex(as_bytes((*object)["value"].get<std::string>()));
      object->erase("value");
    }
  }
  if (edit.contains("custom")) {
    for (Json& custom : edit["custom"]) custom = with_bytes_named(custom);
  }
  return edit;
}

void expect_batches(const Container& log, const std::vector<std::string>& records, const Json& want) {
  ASSERT_GE(records.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto batch = log.schema().value(as_bytes(records[i]), ValueForm::kJson);
    ASSERT_TRUE(batch);
    const auto& members = std::get<Value::Object>(batch->is);
    ASSERT_EQ(members.size(), 3u);
    EXPECT_EQ(as_json(members[0].value), want[i]["sequence"]);
    EXPECT_EQ(as_json(members[1].value), want[i]["count"]);
    Json operations = Json::array();
    for (const Value& operation : std::get<Value::List>(members[2].value.is))
      operations.push_back(as_expected(operation));
    EXPECT_EQ(operations, want[i]["ops"]);
  }
}

void expect_edits(const Container& log, const std::vector<std::string>& records, const Json& want) {
  ASSERT_GE(records.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto edit = log.schema().value(as_bytes(records[i]), ValueForm::kJson);
    ASSERT_TRUE(edit);
    Json expected = Json::array();
    for (const Json& change : want[i]) expected.push_back(with_bytes_named(change));
    EXPECT_EQ(as_json(*edit), expected);
  }
}

TEST(Values, ValuesMatchTheCorpus) {
  constexpr std::string_view kSuffix = ".expect.json";
  std::size_t logs = 0;
  std::size_t manifests = 0;
  for (const auto& entry : fs::recursive_directory_iterator("tests/corpus/leveldb_log")) {
    const std::string path = entry.path();
    if (!path.ends_with(kSuffix)) continue;
    const Json want = Json::parse(testing::read_file(path));
    const bool has_batches = !want.value("batches", Json::array()).empty();
    const bool has_edits = !want.value("version_edits", Json::array()).empty();
    if (!has_batches && !has_edits) continue;
    SCOPED_TRACE(path);
    const std::string bytes = testing::read_file(path.substr(0, path.size() - kSuffix.size()));
    const auto log = open_log(bytes);
    ASSERT_NE(log, nullptr);
    ASSERT_TRUE(log->schema().value);
    EXPECT_EQ(log->schema().change_kinds != nullptr, has_batches);
    EXPECT_EQ(log->schema().parts != RecordSchema::Parts::kNone, has_batches);
    const Reading reading = read_all(*log);
    if (has_batches) {
      expect_batches(*log, reading.records, want["batches"]);
      ++logs;
    } else {
      expect_edits(*log, reading.records, want["version_edits"]);
      ++manifests;
    }
  }
  EXPECT_GE(logs, 2u);
  EXPECT_GE(manifests, 6u);
}

}  // namespace
}  // namespace recordfs::leveldb_log
