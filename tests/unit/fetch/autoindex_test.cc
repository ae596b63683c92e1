// Listings of nginx, and JSON of another kind.
#include "core/fetch/autoindex.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/fetch/json_objects.h"

namespace recordfs::fetch {
namespace {

TEST(Autoindex, ListsFilesAndDirectories) {
  const auto page = parse_autoindex(R"([
{ "name":"sub", "type":"directory", "mtime":"Sun, 29 Nov 2026 07:00:00 GMT" },
{ "name":"a b.riegeli", "type":"file", "mtime":"Sun, 29 Nov 2026 07:00:00 GMT", "size":8589934592 },
{ "name":"socket", "type":"other", "mtime":"Sun, 29 Nov 2026 07:00:00 GMT" }
])");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->entries.size(), 2u);
  EXPECT_EQ(page->entries[0].name, "sub");
  EXPECT_TRUE(page->entries[0].is_directory);
  EXPECT_EQ(page->entries[1].name, "a b.riegeli");
  EXPECT_FALSE(page->entries[1].is_directory);
  EXPECT_EQ(page->entries[1].size, 8589934592u);
  EXPECT_EQ(page->next, "");
  EXPECT_TRUE(parse_autoindex("[\n]\n")->entries.empty());
}

TEST(Autoindex, NamesAreAsTheyAreAppendedToAUrl) {
  const auto page = parse_autoindex(R"([{"name":"100%?#.x","type":"file","size":1}])");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries.at(0).name, "100%?#.x");
}

TEST(Autoindex, NamesThatCannotBeThoseOfFilesAreLeftOut) {
  const auto page = parse_autoindex(
      R"([{"name":"","type":"file"},{"name":"..","type":"directory"},{"name":".","type":"directory"},{"name":"a/b","type":"file"},
          {"name":"a\u0000b","type":"file"}])");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->entries.empty());
}

TEST(Autoindex, FileWithoutAValidSizeIsDamage) {
  for (const std::string size : {"", R"(,"size":2962.0)", R"(,"size":-1)", R"(,"size":null)", R"(,"size":"")"}) {
    const auto page = parse_autoindex(R"([{"name":"d","type":"directory"},{"name":"x","type":"file")" + size + "}]");
    ASSERT_FALSE(page) << size;
    EXPECT_EQ(page.error().code, Code::kDamage) << size;
  }
}

TEST(Autoindex, EntryWithoutNameOrTypeIsOfAnotherKindOfPage) {
  for (const char* const entry :
       {R"({"name":"x","size":1})", R"({"type":"file","size":1})", R"({"name":"x","type":null,"size":1})", "{}"}) {
    const auto page = parse_autoindex("[" + std::string(entry) + "]");
    ASSERT_FALSE(page) << entry;
    EXPECT_EQ(page.error().code, Code::kUnsupported) << entry;
  }
}

TEST(Autoindex, PageOfAnotherKindIsUnsupported) {
  for (const char* const body : {"", "<html><a href=\"x\">x</a></html>", "{\"name\":\"x\"}", "x"}) {
    const auto page = parse_autoindex(body);
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().code, Code::kUnsupported) << body;
    EXPECT_NE(page.error().detail.find("autoindex_format json"), std::string::npos);
  }
}

TEST(Autoindex, MalformedJsonIsDamage) {
  const std::string kEntry = R"({"name":"d","type":"directory"})";
  for (const std::string& body :
       std::vector<std::string>{"[", "[1]", "[[]]", "[{]", "[{\"name\":\"\xFF\"}]", "[" + kEntry, "[" + kEntry + "] x",
                                "[{\"a\":" + std::string(100'000, '[')}) {
    const auto page = parse_autoindex(body);
    ASSERT_FALSE(page) << body.substr(0, 20);
    EXPECT_EQ(page.error().code, Code::kDamage);
  }
}

TEST(JsonObjects, OneObjectHasItsOwnMembersOnly) {
  int objects = 0;
  const auto done = for_each_object(R"({"a":"x","b":{"a":"y","c":[1,{"a":"z"}]},"d":12,"e":-1.50,"f":true,"g":null})",
                                    [&](const JsonObject& object) -> Result<void> {
                                      ++objects;
                                      EXPECT_EQ(object["a"], "x");
                                      EXPECT_EQ(object["c"], "");
                                      EXPECT_EQ(object["d"], "12");
                                      EXPECT_EQ(object["e"], "-1.50");
                                      EXPECT_EQ(object["f"], "true");
                                      EXPECT_EQ(object["g"], "");
                                      return {};
                                    });
  EXPECT_TRUE(done);
  EXPECT_EQ(objects, 1);
}

TEST(JsonObjects, FirstErrorEndsIt) {
  int objects = 0;
  const auto done = for_each_object("[{},{}]", [&](const JsonObject&) -> Result<void> {
    ++objects;
    return Error{.code = Code::kLimit, .detail = "too many"};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kLimit);
  EXPECT_EQ(objects, 1);
}

}  // namespace
}  // namespace recordfs::fetch
