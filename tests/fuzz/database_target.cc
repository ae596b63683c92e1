// The fuzz target of database directories. An input is a list of files: a byte for the name, 3 for the size, the bytes.
#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/database/database.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/target.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::fuzz {
namespace {

using database::Database;
using database::KeyRange;

constexpr std::size_t kMostFiles = 24;
constexpr std::size_t kMostKeys = 100'000;
constexpr std::size_t kMostLookups = 50;

// Returns the file name for a byte: the kind from its upper bits, the number from the lower ones.
std::string name_of(std::uint8_t byte) {
  constexpr unsigned kNumbers = 32;
  constexpr std::array<const char*, 6> kNames = {"CURRENT",   "MANIFEST-{:06}", "{:06}.ldb",
                                                 "{:06}.sst", "{:06}.log",      "{:06}.blob"};
  return fmt::format(fmt::runtime(kNames[byte / kNumbers % kNames.size()]), byte % kNumbers);
}

void write_files(Bytes input, const testing::TempFolder& folder) {
  constexpr int kBitsOfByte = 8;
  Cursor cursor(input);
  for (std::size_t i = 0; i < kMostFiles && !cursor.at_end(); ++i) {
    const std::string name = name_of(cursor.u8());
    std::uint64_t size = cursor.u16_le();
    size |= std::uint64_t{cursor.u8()} << (2 * kBitsOfByte);
    folder.write(name, as_text(cursor.take(std::min<std::uint64_t>(size, cursor.remaining()))));
  }
}

// A blob file may be missing, which is kNotFound.
void expect_permanent(const Error& error) {
  const bool is_lasting = is_permanent(error.code) || error.code == Code::kNotFound;
  expect(is_lasting, fmt::format("a failure of the files may not pass: {}", to_string(error)));
}

std::vector<std::string> iterate(const Database& opened, const database::Family& family) {
  std::vector<std::string> keys;
  const auto iterator = opened.keys(family.id, {});
  while (keys.size() < kMostKeys) {
    const auto found = iterator->next({});
    if (!found) expect(found.error().code == Code::kLimit, "an iteration fails only for a limit");
    if (!found || !*found) break;
    std::string key(as_text(iterator->key()));
    const bool is_bytewise = family.comparator.empty() || family.comparator == "leveldb.BytewiseComparator";
    expect(!is_bytewise || keys.empty() || keys.back() < key, "keys increase");
    if (const auto value = iterator->value({}); !value) expect_permanent(value.error());
    keys.push_back(std::move(key));
  }
  return keys;
}

void look_up(const Database& opened, const database::Family& family, const std::string& key) {
  const auto history = opened.history({}, family.id, as_bytes(key));
  if (!history) return expect_permanent(history.error());
  expect(!history->empty(), "a history has a version");
  for (std::size_t i = 1; i < history->size(); ++i) {
    expect((*history)[i].sequence <= (*history)[i - 1].sequence, "versions are sorted");
  }
  const auto found = opened.get({}, family.id, as_bytes(key));
  if (!found) return expect_permanent(found.error());
  expect(found->version.sequence == history->front().sequence, "the newest version is the value");
}

void run(Bytes input) {
  const testing::TempFolder folder;
  write_files(input, folder);
  const auto opened = Database::open({}, folder.path());
  if (!opened && opened.error().code == Code::kNoContainer) return;
  if (!opened) return expect_permanent(opened.error());
  for (const database::Family& family : (*opened)->families()) {
    const auto keys = iterate(**opened, family);
    for (std::size_t i = 0; i < std::min(keys.size(), kMostLookups); ++i) look_up(**opened, family, keys[i]);
  }
  (*opened)->files();
  (*opened)->problems();
}

}  // namespace

Target database_target() {
  return {.run_input = run, .mutator_for = [](Bytes) -> const Mutator* { return nullptr; }};
}

}  // namespace recordfs::fuzz
