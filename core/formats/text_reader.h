// Parsing of short texts.
#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/cursor.h"

namespace recordfs {

// A base of parsers, which reads the characters of a text. Not thread-safe.
class TextReader {
 protected:
  // `space`: the characters that may be between two words.
  TextReader(Bytes text, std::string_view space) : cursor_(text), space_(space) {}

  // Returns 0 at the end, which is not a character of JSON or of a type.
  char peek() const { return cursor_.at_end() ? '\0' : static_cast<char>(cursor_.rest().front()); }
  char take() { return static_cast<char>(cursor_.u8()); }

  void skip_space() {
    while (!cursor_.at_end() && space_.find(peek()) != std::string_view::npos) take();
  }

  bool take_if(char c) {
    skip_space();
    if (peek() != c || cursor_.at_end()) return false;
    take();
    return true;
  }

  void expect(char c) {
    if (!take_if(c)) cursor_.fail();
  }

  // Reads a string after its opening quote. `read_escape` appends what an escape after its backslash means.
  template <class ReadEscape>
  std::string read_until(char quote, ReadEscape read_escape) {
    std::string text;
    while (cursor_.ok()) {
      const char c = take();
      if (c == quote) return text;
      if (static_cast<unsigned char>(c) < 0x20) cursor_.fail();
      c == '\\' ? read_escape(text) : text.push_back(c);
    }
    return text;
  }

  Cursor cursor_;

 private:
  const std::string_view space_;
};

}  // namespace recordfs
