// Writes JSON (RFC 8259): the elements, and with JsonWriter a value incrementally, in bounded memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/decoding/json_filter.h"

namespace recordfs {

// How bytes are written where they may be text.
enum class ByteForm : std::uint8_t {
  kAuto,    // as a string if they are UTF-8, otherwise in base64
  kBase64,  // always in base64
  kHex,     // always in hexadecimal, two lower-case digits a byte
};

// Appends `bytes` to `text` in base64, with padding. Data may be appended in pieces if each piece but the last has a
// multiple of 3 bytes. Thread-safe.
void append_base64(std::string& text, Bytes bytes);
// Returns the bytes of what append_base64() appended. Thread-safe.
std::string decoded_base64(std::string_view text);

// The functions append to a string. Thread-safe.
//
// Appends a quoted and escaped string. REQUIRES: `value` is UTF-8.
void append_json_string(std::string& text, std::string_view value);

// Returns how many bytes append_json_string() appends.
std::uint64_t json_string_size(std::string_view value);

enum class JsonLayout : std::uint8_t {
  kLine,      // no white space
  kIndented,  // two spaces per level
  // As kLine, for a reader that keeps the types apart: bytes are a string of U+D800, which no other string contains,
  // and base64; all numbers are numbers, of which only integers are written as such, and NaN, Infinity and -Infinity
  // have no quotes. Python's json reads that.
  kTyped,
};

// Appends JSON to a string, and inserts commas and line breaks. If the output would exceed its limit, the writer
// becomes full: it then writes nothing, and the output is not valid JSON. Strings and names must be UTF-8. Not
// thread-safe.
class JsonWriter {
 public:
  // The recommended maximum of nesting(). JSON parsers have a slightly higher limit, for example 256 in jq.
  static constexpr std::uint32_t kDeepest = 240;
  static constexpr std::uint64_t kNoLimit = UINT64_MAX / 2;

  // Writes what the filter selects; all if it is null. `text` and the filter must outlive the writer.
  explicit JsonWriter(std::string& text, JsonLayout layout = JsonLayout::kLine, std::uint64_t most_bytes = kNoLimit,
                      ByteForm form = ByteForm::kAuto, JsonFilter* filter = nullptr)
      : text_(text), layout_(layout), end_(text.size() + most_bytes), form_(form), filter_(filter) {}

  // Returns a writer that continues an open, non-empty object at the end of `line`.
  static JsonWriter in_object(std::string& line, std::uint64_t most_bytes = kNoLimit, ByteForm form = ByteForm::kAuto,
                              JsonFilter* filter = nullptr);

  void begin_object() { begin('{'); }
  // Begins the object of a map, whose names are the keys. If wants_values(), a list of the entries precedes it, as
  // objects with key and value.
  void begin_entries() { begin('{', JsonFilter::Shape::kEntries); }
  void end_object() { end('}'); }
  void begin_list() { begin('[', JsonFilter::Shape::kList); }
  void end_list() { end(']'); }
  // Writes the name of the next member. `is_plain`: it needs no escapes.
  void name(std::string_view name, bool is_plain = false);

  void string(std::string_view text);
  // Writes bytes as a string, in base64 or in hexadecimal.
  void encoded(Bytes bytes, ByteForm form = ByteForm::kBase64);
  // Writes a JSON token: a number, true, false or null.
  void literal(std::string_view text);
  // Writes a std::uint64_t, std::int64_t, double or float. Of the latter two, writes the shortest digits that
  // round-trip, or the strings "NaN", "Infinity" and "-Infinity". `is_quoted`: as a string.
  template <class Number>
  void number(Number number, bool is_quoted = false);

  // Writes a value of an enum: its name, or the number if that is empty.
  void enumerator(std::int32_t number, std::string_view name);

  // Writes a member: a text, true or false, a number, or null for an optional number without a value. REQUIRES: the
  // name needs no escapes.
  template <class T>
  void member(std::string_view name, const T& value) {
    this->name(name, true);
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      string(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      literal(value ? "true" : "false");
    } else if constexpr (std::is_same_v<T, std::optional<std::uint64_t>>) {
      if (!value) return literal("null");
      number(*value);
    } else {
      number(value);
    }
  }
  // Writes a member: "NAME":"..." if the bytes are UTF-8, otherwise "INSTEAD":"..." in base64. ByteForm::kBase64 always
  // writes that, and ByteForm::kHex too, with "hex" for "base64" at the end of its name. With kTyped always "NAME", and
  // bytes. Both names are paths of a filter; the values at NAME are the bytes themselves.
  void bytes(std::string_view name, std::string_view instead, Bytes bytes);
  // Writes a value: an object with "text" or "base64". With kTyped, bytes.
  void bytes(Bytes bytes);
  // Writes the path of a file, which may hold any bytes, as a member: "NAME":"...". Bytes that are not UTF-8 become
  // \udc80 to \udcff, as os.fsdecode() of Python has them, and a second member "NAME_base64":"..." has the whole path.
  void path(std::string_view name, std::string_view path);

  // Returns the nesting of the next value as jq counts it: two for each open object, one for each open list.
  std::uint32_t nesting() const { return nesting_; }
  bool is_full() const { return is_full_; }
  bool is_typed() const { return layout_ == JsonLayout::kTyped; }
  // Returns whether scalars go to the sink of the filter, and nothing is written.
  bool takes_scalars() const { return filter_ != nullptr && filter_->takes_scalars(); }
  // Returns whether the values have no other structure than that of a visitor.
  bool takes_all() const { return filter_ != nullptr && filter_->takes_all(); }
  // Return whether the filter wants the values of fields alone, also defaults of absent fields, and whether it wants
  // nothing of the value that follows a name, which then need not be written.
  bool wants_values() const { return filter_ != nullptr && filter_->wants_values(); }
  bool skips_next() const { return filter_ != nullptr && filter_->skips_next(); }

  JsonMark mark() const;
  void take_back(const JsonMark& mark);

 private:
  // Returns how many bytes the next value may have.
  std::uint64_t room() const;
  // Prepares for a value or a name of `size` bytes. Returns false if there is no room.
  bool make_room(std::uint64_t size);
  // Returns whether the filter lets the writer write a scalar. REQUIRES: there is a filter.
  bool begin_scalar();
  // Writes a name that the filter has accepted.
  void write_name(std::string_view name, bool is_plain);
  void begin(char bracket, JsonFilter::Shape shape = JsonFilter::Shape::kObject);
  void end(char bracket);

  std::string& text_;
  const JsonLayout layout_;
  const std::uint64_t end_;
  const ByteForm form_;
  JsonFilter* const filter_;
  std::uint32_t depth_ = 0;  // open objects and lists
  std::uint32_t nesting_ = 0;
  bool is_first_ = true;  // the next value is the first in its object or list
  bool is_after_name_ = false;
  bool is_full_ = false;
};

// Writes what JsonWriter::bytes() does, and passes it to `write` in pieces of at most 6 MiB. `text` and `form` are
// those of the writer. What precedes the member in the text is passed too, and the end of the member is left there.
void write_json_bytes(JsonWriter& json, std::string& text, std::string_view name, std::string_view instead, Bytes bytes,
                      ByteForm form, const std::function<void(std::string_view piece)>& write);

// The path of a file, which JsonWriter::path() writes.
struct JsonPath {
  std::string bytes;
};

// An object that is changed and read before it is written.
struct JsonObject {
  struct Member;
  using List = std::vector<JsonObject>;
  // A string may hold any bytes: those that are not UTF-8 are written as U+FFFD. The empty alternative is null.
  using Content =
      std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, JsonPath, JsonObject, List>;

  // Not inline, since g++ 14 warns of uninitialized members in objects that contain one.
  JsonObject();
  JsonObject(const JsonObject&);
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(const JsonObject&);
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  // Appends a member, or replaces the one of this name. `value` is a Content or one of its alternatives, a text, or an
  // optional number.
  template <class T>
  void set(std::string_view name, T&& value);
  // Returns the content of a member; null if there is none.
  const Content* find(std::string_view name) const;

  std::vector<Member> members;
};

struct JsonObject::Member {
  std::string name;
  Content content;
};

template <class T>
void JsonObject::set(std::string_view name, T&& value) {
  auto member = std::ranges::find(members, name, &Member::name);
  if (member == members.end()) member = members.insert(member, Member{std::string(name), {}});
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    member->content = std::string(std::string_view(value));
  } else if constexpr (std::is_same_v<std::remove_cvref_t<T>, std::optional<std::uint64_t>>) {
    member->content = value ? Content(*value) : Content();
  } else {
    member->content = std::forward<T>(value);
  }
}

// Returns the object as a document with a final newline.
std::string to_json(const JsonObject& object, JsonLayout layout);

}  // namespace recordfs
