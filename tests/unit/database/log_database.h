// Databases of logs that tests write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/database/reading.h"
#include "tests/unit/support/temp_folder.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::database {

using namespace std::string_literals;
using Records = std::vector<std::string>;

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

inline std::string text_field(const std::string& text) { return std::string(1, static_cast<char>(text.size())) + text; }

// The operations of batches.
inline std::string put(const std::string& key, const std::string& value) {
  return "\1"s + text_field(key) + text_field(value);
}
inline std::string remove(const std::string& key) { return "\0"s + text_field(key); }
inline std::string put_in(char family, const std::string& key) {
  return std::string{'\5', family} + text_field(key) + text_field("v");
}
inline std::string delete_range_in(char family, const std::string& from, const std::string& to) {
  return std::string{'\x0e', family} + text_field(from) + text_field(to);
}
inline std::string end_prepare(const std::string& name) { return "\x0a"s + text_field(name); }
inline std::string commit(const std::string& name) { return "\x0b"s + text_field(name); }
inline std::string commit_at(std::uint64_t timestamp, const std::string& name) {
  return "\x15"s + text_field(little_endian(timestamp, 8)) + text_field(name);
}
inline std::string rollback(const std::string& name) { return "\x0c"s + text_field(name); }
// An edit of the MANIFEST.
inline std::string add_family(char number, const std::string& name) {
  return "\xc8\x01"s + number + "\xc9\x01" + text_field(name);
}
inline const std::string kNoop = "\x0d";
inline const std::string kBeginPrepare = "\x09";
inline const std::string kBeginPersistedPrepare = "\x12";
inline const std::string kBeginUnprepare = "\x13";

inline std::string batch(std::uint64_t sequence, std::uint32_t count, const std::string& operations) {
  return little_endian(sequence, 8) + little_endian(count, 4) + operations;
}

// A new RocksDB database without tables, whose first log is 5.
class LogDatabase {
 public:
  explicit LogDatabase(const std::string& comparator = "leveldb.BytewiseComparator") {
    std::filesystem::create_directory(folder());
    write_manifest(5, "", comparator);
    write("CURRENT", "MANIFEST-000004\n");
  }
  // `fields`: more of the edit. `edits`: that follow it.
  void write_manifest(char first_log, const std::string& fields,
                      const std::string& comparator = "leveldb.BytewiseComparator", const Records& edits = {}) const {
    leveldb_log::LogWriter manifest;
    manifest.append("\1"s + text_field(comparator) + "\2"s + first_log + "\x09\0\3\x20\4\x09\xcb\x01\7"s + fields);
    for (const std::string& edit : edits) manifest.append(edit);
    write("MANIFEST-000004", manifest.log());
  }
  std::string folder() const { return folder_.path() + "/db"; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder() + "/" + name, std::ios::binary) << bytes;
  }
  void append(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder() + "/" + name, std::ios::binary | std::ios::app) << bytes;
  }
  void write_log(const std::string& name, const Records& batches,
                 std::optional<std::uint32_t> log_number = std::nullopt) const {
    leveldb_log::LogWriter log({.log_number = log_number});
    for (const std::string& record : batches) log.append(record);
    write(name, log.log());
  }
  // Returns "key=value" of each key, and the problems.
  Records read() const {
    Records lines;
    const auto database = open_database(folder());
    for (const ListedKey& key : list_keys(*database)) {
      lines.push_back(key.key + "=" + key.value);
      EXPECT_EQ(get(*database, key.key), key.value);
    }
    for (const Problem& problem : database->problems()) lines.push_back(problem.file + ": " + problem.error.detail);
    return lines;
  }

 private:
  testing::TempFolder folder_;
};

// A log that was cut inside its last record.
inline std::string cut_log(std::uint32_t sequence) {
  leveldb_log::LogWriter log;
  log.append(batch(sequence, 1, put("a", "1")));
  log.append(batch(sequence + 1, 1, put("b", "1")));
  return log.log().substr(0, log.log().size() - 1);
}

}  // namespace recordfs::database
