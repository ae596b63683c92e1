// What the fetcher reads out of the headers of a response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Content-Range of a 206 or a 416.
struct ContentRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;               // after the last byte; begin == end: unsatisfied, as in a 416
  std::optional<std::uint64_t> total;  // nullopt: the server does not tell
};

// Returns nullopt if the text is malformed.
std::optional<ContentRange> parse_content_range(std::string_view text);

// Returns whether an ETag is strong, with its quotes.
bool is_strong_etag(std::string_view etag);

// Collects the headers of a response line by line. Of several responses that follow each other, such as 100 and 200,
// it holds the last one.
class HeaderCollector {
 public:
  static constexpr std::size_t kMostBytes = 256u << 10;

  enum class State : std::uint8_t {
    kMore,
    kComplete,  // the line was the empty one after the headers of a final response
    kTooLong,
  };
  // Takes a line with its end. Lines after kComplete are trailers, and are dropped.
  State add(std::string_view line);
  // Returns the response so far. Its body is empty.
  const HttpResponse& response() const { return response_; }

 private:
  HttpResponse response_;
  std::size_t bytes_ = 0;
  bool is_complete_ = false;
};

// Returns text with ASCII letters in lower case.
std::string lower_case(std::string_view text);

// Returns text as a message may have it: control characters become "?", and a text of more than `most` bytes is cut.
std::string message_text(std::string_view text, std::size_t most);

}  // namespace recordfs::fetch
