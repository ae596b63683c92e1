// Pages of ListObjectsV2, errors of S3, and XML that is neither.
#include "core/fetch/s3_listing.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/fetch/xml.h"

namespace recordfs::fetch {
namespace {

std::string listing(const std::string& content) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>" +
         content + "</ListBucketResult>";
}

std::string object(const std::string& key, const std::string& size = "1") {
  return "<Contents><Key>" + key + "</Key><ETag>&quot;e&quot;</ETag><Size>" + size +
         "</Size><Owner><ID>x</ID></Owner></Contents>";
}

std::string directory(const std::string& prefix) {
  return "<CommonPrefixes><Prefix>" + prefix + "</Prefix></CommonPrefixes>";
}

std::vector<std::string> names(const Result<Origin::Page>& page) {
  std::vector<std::string> names;
  for (const remote::Entry& entry : page.value().entries) names.push_back(entry.name + (entry.is_directory ? "/" : ""));
  return names;
}

using Names = std::vector<std::string>;

TEST(S3Listing, HasFilesAndDirectories) {
  const auto page = parse_s3_listing(
      listing("<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b+/=</NextContinuationToken>" +
              object("dir/", "0") + object("dir/x &lt;1&gt;", "8589934592") + directory("dir/sub/")),
      "dir/");
  ASSERT_TRUE(page);
  EXPECT_EQ(names(page), (Names{"x <1>", "sub/"}));
  EXPECT_EQ(page->entries[0].size, 8589934592u);
  EXPECT_EQ(page->next, "a&b+/=");
}

TEST(S3Listing, DecodesNamesIfTheyAreEncoded) {
  const std::string content = object("a+b%2Bc%25%C3%A9%0A");
  EXPECT_EQ(names(parse_s3_listing(listing(content + "<EncodingType>url</EncodingType>"), "")),
            (Names{"a b+c%\xC3\xA9\n"}));
  EXPECT_EQ(names(parse_s3_listing(listing(content), "")), (Names{"a+b%2Bc%25%C3%A9%0A"}));
}

TEST(S3Listing, LeavesOutWhatCannotBeAFile) {
  const auto page =
      parse_s3_listing(listing("<EncodingType>url</EncodingType>" + object("d/") + object("d/.") + object("d/..") +
                               object("d/a/b") + object("d/a%2Fb") + object("d/%00") + object("other") +
                               directory("d//") + directory("d/../") + directory("d/x") + directory("d/ok/")),
                       "d/");
  EXPECT_EQ(names(page), (Names{"ok/"}));
}

TEST(S3Listing, EmptyBucketIsEmptyAndAMissingDirectoryIsMissing) {
  EXPECT_EQ(names(parse_s3_listing(listing(""), "")), Names{});
  EXPECT_EQ(names(parse_s3_listing(listing(object("d/")), "d/")), Names{});
  const auto missing = parse_s3_listing(listing("<KeyCount>0</KeyCount><IsTruncated>false</IsTruncated>"), "d/");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().os_error, ENOENT);
  const auto last_page = parse_s3_listing(listing("<ContinuationToken>t</ContinuationToken>"), "d/");
  EXPECT_EQ(names(last_page), Names{});
}

TEST(S3Listing, EveryFormOfIncompletenessIsRead) {
  const auto page_with = [](const std::string& content) {
    return parse_s3_listing(listing(content + "<NextContinuationToken>t</NextContinuationToken>"), "");
  };
  for (const char* const text : {"true", "True", "1", " true\n"}) {
    const auto page = page_with("<IsTruncated>" + std::string(text) + "</IsTruncated>");
    ASSERT_TRUE(page) << text;
    EXPECT_EQ(page->next, "t") << text;
  }
  EXPECT_EQ(page_with("")->next, "t");
  for (const char* const text : {"false", "0", " False "}) {
    EXPECT_EQ(page_with("<IsTruncated>" + std::string(text) + "</IsTruncated>")->next, "") << text;
  }
  for (const char* const text : {"", "yes", "2", "truefalse"}) {
    const auto page = page_with("<IsTruncated>" + std::string(text) + "</IsTruncated>");
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().code, Code::kDamage) << text;
  }
}

TEST(S3Listing, ObjectWithoutAValidSizeIsDamage) {
  for (const std::string& content :
       {object("x", ""), object("x", "2962.0"), object("x", "-1"), object("x") + "<Contents><Key>y</Key></Contents>"}) {
    const auto page = parse_s3_listing(listing(content), "");
    ASSERT_FALSE(page) << content;
    EXPECT_EQ(page.error().code, Code::kDamage) << content;
  }
}

TEST(S3Listing, PageThatNamesItselfIsDamage) {
  for (const char* const content : {"<IsTruncated>true</IsTruncated>",
                                    "<IsTruncated>true</IsTruncated><NextContinuationToken></NextContinuationToken>",
                                    "<IsTruncated>true</IsTruncated><ContinuationToken>t</ContinuationToken>"
                                    "<NextContinuationToken>t</NextContinuationToken>"}) {
    const auto page = parse_s3_listing(listing(content), "");
    ASSERT_FALSE(page) << content;
    EXPECT_EQ(page.error().code, Code::kDamage) << content;
  }
}

TEST(S3Listing, AnotherPageIsUnsupported) {
  for (const char* const body : {"", "text", "<!DOCTYPE html><html></html>", "<?xml version=\"1.0\"?><Other/>"}) {
    const auto page = parse_s3_listing(body, "");
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().code, Code::kUnsupported) << body;
  }
}

TEST(Xml, WithDocumentTypeNestingOrTooMuchTextIsDamage) {
  const std::string bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
      "\"&a;&a;&a;&a;\">]><ListBucketResult>&b;"
      "</ListBucketResult>";
  std::string deep = "<?xml version=\"1.0\"?>";
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (const std::string& xml :
       {bomb, deep, listing("<Name>" + std::string(100'000, 'x') + "</Name>"), listing("<Contents>"),
        listing("&unknown;"), listing("\xFF"), std::string("<?xml version=\"1.0\" encoding=\"EBCDIC\"?><a/>")}) {
    const auto page = parse_s3_listing(xml, "");
    ASSERT_FALSE(page) << xml.substr(0, 100);
    EXPECT_EQ(page.error().code, Code::kDamage) << xml.substr(0, 100);
  }
}

TEST(Xml, PassesElementsWithTheirPaths) {
  std::vector<std::string> elements;
  ASSERT_TRUE(for_each_element("<a>1<b c='d'>2</b>3<e/><![CDATA[<4>]]></a>", [&](const auto& path, const auto& text) {
    elements.push_back(path + "=" + text);
    return Result<void>();
  }));
  EXPECT_EQ(elements, (Names{"a/b=2", "a/e=", "a=13<4>"}));
}

TEST(Xml, FirstErrorEndsIt) {
  int elements = 0;
  const auto done = for_each_element("<a><b/><c/></a>", [&](const auto&, const auto&) -> Result<void> {
    ++elements;
    return Error{.code = Code::kLimit, .detail = "too many"};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kLimit);
  EXPECT_EQ(elements, 1);
}

TEST(S3Error, HasItsParts) {
  const S3Error error = parse_s3_error(
      "<?xml "
      "version=\"1.0\"?><Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>eu-west-1</Region>"
      "<RequestId>r</RequestId></Error>");
  EXPECT_EQ(error.code, "AuthorizationHeaderMalformed");
  EXPECT_EQ(error.message, "m");
  EXPECT_EQ(error.region, "eu-west-1");
  for (const char* const body : {"", "text", "<Error><Code>x</Code>", "<a><Error><Code>x</Code></Error></a>"}) {
    EXPECT_EQ(parse_s3_error(body).code, "") << body;
  }
}

}  // namespace
}  // namespace recordfs::fetch
