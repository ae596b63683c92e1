// The fuzz target of database directories. database_files.h has the form of an input.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/database/database.h"
#include "tests/fuzz/database_files.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/target.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::fuzz {
namespace {

using database::Database;
using database::KeyRange;

constexpr std::size_t kMostKeys = 100'000;
constexpr std::size_t kMostLookups = 50;

void write_files(Bytes input, const testing::TempFolder& folder) {
  for (const InputFile& file : split_input(input)) folder.write(file.file_name(), as_text(file.bytes));
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
  return {.run_input = run, .mutator_for = [](Bytes) { return &kDatabaseMutator; }};
}

}  // namespace recordfs::fuzz
