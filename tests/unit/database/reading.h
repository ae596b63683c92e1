// Opens samples of tests/corpus/database, as they are or as damaged copies.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/database/database.h"
#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::database {

inline const std::string kCorpus = "tests/corpus/database/";

inline std::unique_ptr<const Database> open_database(const std::string& folder, const Options& options = {}) {
  auto opened = Database::open({}, folder, options);
  EXPECT_TRUE(opened) << folder << ": " << (opened ? "" : to_string(opened.error()));
  return opened ? std::move(*opened) : nullptr;
}

struct ListedKey {
  std::string key;
  Version version;
  std::string value;  // or the name of the error's code
  bool is_readable = true;
};

inline std::string text_of(const Result<Slice>& value) {
  return value ? std::string(as_text(value->bytes)) : std::string(to_string(value.error().code));
}

inline std::vector<ListedKey> list_keys(const Database& database, std::uint32_t family = 0, const KeyRange& range = {},
                                        std::uint64_t at = kNewest) {
  std::vector<ListedKey> listed;
  const auto keys = database.keys(family, range, at);
  while (true) {
    const auto found = keys->next({});
    EXPECT_TRUE(found) << (found ? "" : to_string(found.error()));
    if (!found || !*found) return listed;
    const auto value = keys->value({});
    listed.push_back({std::string(as_text(keys->key())), keys->version(), text_of(value), value.has_value()});
  }
}

// Returns the value of a key, or the name of the error's code.
inline std::string get(const Database& database, std::string_view key, std::uint32_t family = 0,
                       std::uint64_t at = kNewest) {
  const auto found = database.get({}, family, as_bytes(key), at);
  return found ? std::string(as_text(found->value.bytes)) : std::string(to_string(found.error().code));
}

// A copy of a sample that a test may damage.
class Copy {
 public:
  explicit Copy(const std::string& sample) {
    std::filesystem::copy(kCorpus + sample, folder(), std::filesystem::copy_options::recursive);
    const std::string logs = sample + ".logs";  // a wal_dir beside the database
    if (std::filesystem::exists(kCorpus + logs)) std::filesystem::copy(kCorpus + logs, folder_.path() + "/" + logs);
  }
  std::string folder() const { return folder_.path() + "/copy"; }
  std::string path(const std::string& name) const { return folder() + "/" + name; }
  void remove(const std::string& name) const { std::filesystem::remove(path(name)); }
  std::string read(const std::string& name) const { return testing::read_file(path(name)); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  // Changes one byte; a negative position counts from the end.
  void flip(const std::string& name, std::ptrdiff_t at) const {
    std::string bytes = read(name);
    bytes[static_cast<std::size_t>(at < 0 ? static_cast<std::ptrdiff_t>(bytes.size()) + at : at)] ^= 0x40;
    write(name, bytes);
  }

 private:
  testing::TempFolder folder_;
};

}  // namespace recordfs::database
