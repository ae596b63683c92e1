#include "core/fetch/http_headers.h"

#include <string>

#include <gtest/gtest.h>

#include "core/fetch/http_date.h"

namespace recordfs::fetch {
namespace {

using State = HeaderCollector::State;

TEST(ContentRange, AnswersOfServersAreParsed) {
  const auto range = parse_content_range("bytes 10-19/100");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 10u);
  EXPECT_EQ(range->end, 20u);
  EXPECT_EQ(range->total, 100u);
  const auto last = parse_content_range("bytes 0-18446744073709551613/18446744073709551614");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->end, 18446744073709551614u);
}

TEST(ContentRange, TotalMayBeUnknown) {
  const auto range = parse_content_range(" Bytes  0-0/* ");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->end, 1u);
  EXPECT_FALSE(range->total);
}

TEST(ContentRange, UnsatisfiedRangeHasNoBytes) {
  const auto range = parse_content_range("bytes */0");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, range->end);
  EXPECT_EQ(range->total, 0u);
}

TEST(ContentRange, ContradictionsAreMalformed) {
  for (const char* const text :
       {"", "bytes", "bytes 1-0/10", "bytes 0-9/9", "bytes 0-10/10", "bytes -5/10", "bytes 5-/10", "bytes 0-1",
        "items 0-1/2", "bytes 0-1/x", "bytes 0-1/-2", "bytes +0-1/2", "bytes 0-18446744073709551615/*",
        "bytes 0-1/18446744073709551616", "bytes 0-1/2, bytes 3-4/5"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

TEST(HttpDate, DatesAreSecondsSince1970) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), 784111777);
  EXPECT_FALSE(parse_http_date(""));
  EXPECT_FALSE(parse_http_date("yesterday or so"));
  EXPECT_FALSE(parse_http_date(std::string(1000, '1')));
}

TEST(StrongEtag, WeakAndUnquotedOnesAreNot) {
  EXPECT_TRUE(is_strong_etag("\"x\""));
  EXPECT_TRUE(is_strong_etag("\"\""));
  for (const char* const etag : {"", "\"", "x", "W/\"x\"", "\"x"}) EXPECT_FALSE(is_strong_etag(etag)) << etag;
}

TEST(HeaderCollector, NamesAreInLowerCaseAndValuesWithoutSpaces) {
  HeaderCollector collector;
  EXPECT_EQ(collector.add("HTTP/1.1 206 Partial Content\r\n"), State::kMore);
  EXPECT_EQ(collector.add("ETag:\t\"a b\"  \r\n"), State::kMore);
  EXPECT_EQ(collector.add("no header\r\n"), State::kMore);
  EXPECT_EQ(collector.add("\r\n"), State::kComplete);
  EXPECT_EQ(collector.response().status, 206);
  EXPECT_EQ(collector.response().header("etag"), "\"a b\"");
  EXPECT_EQ(collector.response().headers.size(), 1u);
}

TEST(HeaderCollector, FinalResponseFollowsInformationalOnes) {
  HeaderCollector collector;
  for (const char* const line : {"HTTP/1.1 103 Early Hints\r\n", "Link: </x>\r\n", "\r\n", "HTTP/2 200 \r\n"}) {
    EXPECT_EQ(collector.add(line), State::kMore);
  }
  EXPECT_EQ(collector.add("\r\n"), State::kComplete);
  EXPECT_EQ(collector.response().status, 200);
  EXPECT_EQ(collector.response().header("link"), "");
}

TEST(HeaderCollector, StatusLinesWithoutThreeDigitsHaveNoStatus) {
  for (const char* const line :
       {"HTTP/1.1 2", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 x00", "HTTP/1.1 -20"}) {
    HeaderCollector collector;
    collector.add(line);
    EXPECT_EQ(collector.response().status, 0) << line;
  }
}

TEST(HeaderCollector, HeadersWithControlCharactersAreDropped) {
  HeaderCollector collector;
  collector.add("HTTP/1.1 200 OK\r\n");
  collector.add("ETag: \"a\rX-Other: b\"\r\n");
  collector.add(std::string_view("Location: /x\0y\r\n", 16));
  EXPECT_TRUE(collector.response().headers.empty());
}

TEST(HeaderCollector, TrailersAreDropped) {
  HeaderCollector collector;
  collector.add("HTTP/1.1 200 OK\r\n");
  ASSERT_EQ(collector.add("\r\n"), State::kComplete);
  EXPECT_EQ(collector.add("ETag: \"late\"\r\n"), State::kMore);
  EXPECT_EQ(collector.response().header("etag"), "");
}

TEST(HeaderCollector, HeadersHaveALimit) {
  HeaderCollector collector;
  const std::string line = "X: " + std::string(1000, 'x') + "\r\n";
  auto state = State::kMore;
  std::size_t lines = 0;
  for (; state == State::kMore && lines < 10'000; ++lines) state = collector.add(line);
  EXPECT_EQ(state, State::kTooLong);
  EXPECT_LE(lines * line.size(), HeaderCollector::kMostBytes + line.size());
}

TEST(MessageText, ControlCharactersAndLengthAreBounded) {
  EXPECT_EQ(message_text("a\nb\x1b[31m\x7f", 100), "a?b?[31m?");
  EXPECT_EQ(message_text("0123456789", 8), "01234...");
  EXPECT_EQ(message_text("0123456789", 10), "0123456789");
}

}  // namespace
}  // namespace recordfs::fetch
