// URLs as they are printed.
#include <string>

#include <gtest/gtest.h>

#include "core/fetch/origin.h"

namespace recordfs::fetch {
namespace {

TEST(Printable, HarmlessUrlIsPrintedAsItIs) {
  for (const char* const url : {"https://h/a/b.riegeli", "http://h:8080/x?page=3&raw", "s3://bucket/year=2024/x y?",
                                "hf://datasets/user/repo@main/x", "gs://b/"}) {
    EXPECT_EQ(printable(url), url);
  }
}

TEST(Printable, UserinfoIsLeftOut) { EXPECT_EQ(printable("https://user:secret@h/x"), "https://h/x"); }

TEST(Printable, QueryWithASecretIsAHash) {
  for (const std::string query :
       {"X-Amz-Algorithm=a&X-Amz-Signature=SECRET", "sig=SECRET", "token=SECRET", "Expires=1&Signature=SECRET",
        "a=0123456789_SECRET", "x=1&0123456789_SECRET", "%74oken=SECRET", "access_key=SECRET"}) {
    const std::string hidden = printable("https://h/x?" + query);
    EXPECT_EQ(hidden.find("SECRET"), std::string::npos) << hidden;
    EXPECT_TRUE(hidden.starts_with("https://h/x?...")) << hidden;
    EXPECT_EQ(hidden, printable("https://h/x?" + query));
    EXPECT_EQ(hidden, printable(hidden));
    EXPECT_NE(hidden, printable("https://h/x?" + query + "2"));
  }
  EXPECT_EQ(printable("https://h/?...token=SECRET").find("SECRET"), std::string::npos);
}

TEST(Printable, InvalidUrlIsNotPrinted) {
  EXPECT_EQ(printable("http://user:pass/word@h/x"), "...");
  EXPECT_EQ(printable("s3://key:secret@bucket/x"), "...");
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("http://h/a\nb"), "http://h/a%0Ab");
  EXPECT_EQ(printable("s3://b/a\nb"), "s3://b/a\\x0ab");
}

}  // namespace
}  // namespace recordfs::fetch
