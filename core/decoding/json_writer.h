// JsonWriter: writes a value of JSON piece by piece, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

enum class JsonLayout : std::uint8_t {
  kLine,      // without white space
  kIndented,  // two spaces for each level
};

// Appends to a text. Commas, and the lines of kIndented, come by themselves. When the text would grow by more than it
// may, the writer is full: from then on it writes nothing, and what is written is no JSON. Strings have to be UTF-8.
// Not thread-safe.
class JsonWriter {
 public:
  // What nesting() should not pass: readers of JSON give up somewhere behind it, jq at 256.
  static constexpr std::uint32_t kDeepest = 240;

  // `text` has to outlive it.
  JsonWriter(std::string& text, JsonLayout layout, std::uint64_t most_bytes)
      : text_(text), layout_(layout), end_(text.size() + most_bytes) {}

  // Goes on in an object of a line that is open in the text and has members.
  static JsonWriter in_object(std::string& line, std::uint64_t most_bytes);

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_list() { begin('['); }
  void end_list() { end(']'); }
  // The name of the member that comes next.
  void name(std::string_view name);

  void string(std::string_view text);
  void base64(Bytes bytes);
  // A value as it stands in JSON: a number, true, false, null.
  void literal(std::string_view text);
  void number(std::uint64_t number);
  void number(std::int64_t number);
  // Strings for what is no number of JSON: "NaN", "Infinity", "-Infinity". The shortest digits that give it back.
  void number(double number);
  void number(float number);
  // In quotes.
  void quoted(std::uint64_t number);
  void quoted(std::int64_t number);

  // A member: "NAME":"..." where the bytes are UTF-8, "INSTEAD":"..." in base64 where they are not.
  void bytes(std::string_view name, std::string_view instead, Bytes bytes);

  // How deep what comes next stands, counted as jq does: two for each open object, one for each open list.
  std::uint32_t nesting() const { return nesting_; }
  bool is_full() const { return is_full_; }

  // What was written so far, as a place to which it can be taken back.
  struct Mark {
    std::size_t size;
    std::uint32_t depth;
    std::uint32_t nesting;
    bool is_first;
    bool is_full;
  };
  // REQUIRES: no name is waiting for its value, unless there was no room for that.
  Mark mark() const { return {text_.size(), depth_, nesting_, is_first_, is_full_}; }
  void take_back(const Mark& mark);

 private:
  // Bytes that it takes to end all that is open, in which `depth` things stand in each other.
  std::uint64_t closing(std::uint32_t depth) const;
  bool has_room(std::uint64_t size) const;
  // Makes ready for a value or a name of `size` bytes. False: there is no room.
  bool make_room(std::uint64_t size);
  bool make_room_for(std::string_view string);
  void new_line();
  void begin(char bracket);
  void end(char bracket);
  template <class Number>
  void write_number(Number number, bool is_quoted);

  std::string& text_;
  const JsonLayout layout_;
  const std::uint64_t end_;
  std::uint32_t depth_ = 0;  // open objects and lists
  std::uint32_t nesting_ = 0;
  bool is_first_ = true;  // in its object or list
  bool is_behind_name_ = false;
  bool is_full_ = false;
};

}  // namespace recordfs
