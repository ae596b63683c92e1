// Checks that the mutator of databases gives databases that can be read; otherwise fuzzing would only test refusals.
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/database/database.h"
#include "tests/fuzz/database_files.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::fuzz {
namespace {

std::vector<std::string> archives() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("tests/corpus/database/archives")) {
    found.push_back(testing::read_file(entry.path()));
  }
  return found;
}

struct Content {
  std::size_t keys = 0;
  std::size_t problems = 0;
  bool operator==(const Content&) const = default;
};

Content content_of(const std::string& input) {
  const testing::TempFolder folder;
  for (const InputFile& file : split_input(as_bytes(input))) folder.write(file.file_name(), as_text(file.bytes));
  Content content;
  const auto opened = database::Database::open({}, folder.path());
  if (!opened) return content;
  for (const database::Family& family : (*opened)->families()) {
    const auto keys = (*opened)->keys(family.id, {});
    for (auto next = keys->next({}); next && *next; next = keys->next({})) ++content.keys;
  }
  content.problems = (*opened)->problems().size();
  return content;
}

std::string with_checksums(std::string input) {
  kDatabaseMutator.fix_checksums(std::as_writable_bytes(std::span(input)));
  return input;
}

void flip_middle(std::string& bytes, std::size_t) {
  if (!bytes.empty()) bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
}

TEST(DatabaseMutatorTest, FixingAnUndamagedDatabaseChangesNothing) {
  ASSERT_GE(archives().size(), 5u);
  for (const std::string& input : archives()) {
    EXPECT_EQ(content_of(input).problems, 0u);
    EXPECT_EQ(content_of(with_checksums(input)), content_of(input));
  }
}

TEST(DatabaseMutatorTest, RestructuredDatabasesKeepMostOfTheirKeysAndManyAreWhole) {
  std::mt19937_64 random(1);
  std::size_t before = 0;
  std::size_t after = 0;
  int whole = 0;
  for (const std::string& input : archives()) {
    for (int i = 0; i < 30; ++i) {
      before += content_of(input).keys;
      const Content content =
          content_of(with_checksums(kDatabaseMutator.restructure(as_bytes(input), random(), flip_middle)));
      after += content.keys;
      whole += content.problems == 0 && content.keys > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(after, before / 2);
  EXPECT_GT(whole, 30);
}

TEST(DatabaseMutatorTest, ArbitraryBytesCanBeFixedAndRestructured) {
  std::mt19937_64 random(2);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() & 0xFF);
    EXPECT_EQ(with_checksums(bytes).size(), size);
    EXPECT_EQ(with_checksums(bytes.substr(0, size / 2) + '\x20').size(), size / 2 + 1);  // the header of a MANIFEST
    static_cast<void>(content_of(with_checksums(kDatabaseMutator.restructure(as_bytes(bytes), random(), flip_middle))));
  }
}

}  // namespace
}  // namespace recordfs::fuzz
