// Index files as bytes.
#include "core/store/index_file.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

std::vector<std::string> parts_of(const std::string& file) {
  std::vector<std::string> texts;
  const auto parts = parts_of_index_file(as_bytes(file));
  if (!parts) return {"failed: " + parts.error().detail};
  for (const Bytes part : *parts) texts.emplace_back(as_text(part));
  return texts;
}

TEST(IndexFile, PartsRoundTrip) {
  for (const std::vector<std::string>& parts :
       {std::vector<std::string>{}, {"counts"}, {"counts", "sizes"}, {"", std::string(100, '\0')}}) {
    EXPECT_EQ(parts_of(pack_index_file(parts)), parts);
  }
}

TEST(IndexFile, TruncatedFileIsDamage) {
  const std::string file = pack_index_file({"counts", "sizes"});
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(parts_of_index_file(as_bytes(file).first(size))) << size;
  }
  EXPECT_FALSE(parts_of_index_file(as_bytes(file + "x")));
}

TEST(IndexFile, ChangedByteIsDamage) {
  const std::string file = pack_index_file({"counts", "sizes"});
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(parts_of_index_file(as_bytes(changed))) << at;
  }
}

TEST(IndexFile, MoreThanTwoPartsAreDamage) {
  EXPECT_EQ(parts_of(pack_index_file({"a", "b", "c"})), std::vector<std::string>{"failed: corrupt index"});
}

TEST(IndexFile, OtherFileIsRefusedAsSuch) {
  EXPECT_EQ(parts_of("<html>not found, but with status 200</html>"),
            std::vector<std::string>{"failed: not an index file"});
}

}  // namespace
}  // namespace recordfs::testing
