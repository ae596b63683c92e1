#include "core/formats/proio/event_parts.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/formats/proio/event.h"

namespace recordfs::proio {
namespace {

constexpr std::size_t kPartsOfEveryEvent = 3;

void append_number(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

// Appends text escaped for a table cell.
void append_escaped(std::string& cell, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      cell += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F) {
      cell += fmt::format("\\x{:02x}", byte);
    } else {
      cell += c;
    }
  }
}

// A type name may be repeated for each mention of an entry, so all of them may be much longer than the event.
Error too_long(const Limits& limits) {
  return {.code = Code::kLimit, .detail = fmt::format("the types of the event exceed {} bytes", limits.metadata_bytes)};
}

// Makes the parts. read_event() has already limited their number.
class PartsMaker {
 public:
  PartsMaker(const Event& event, const Limits& limits)
      : event_(event), limits_(limits), shown_(event.entries.size(), 0) {}

  Result<Parts> make(std::string types) {
    parts_.reserve(event_.tags.size() + event_.ids.size() + event_.entries.size() + kPartsOfEveryEvent);
    add_tags();
    const std::size_t directory = add_directory("entries", std::nullopt);
    for (const EventEntry& entry : event_.entries) add_entry(entry, directory);
    parts_.push_back({.key = "types.tsv", .kind = PartKind::kText, .text = std::move(types)});
    if (types_size_ > limits_.metadata_bytes) return too_long(limits_);
    return std::move(parts_);
  }

 private:
  std::size_t add_directory(std::string_view key, std::optional<std::size_t> parent) {
    parts_.push_back({.key = std::string(key), .parent = parent, .kind = PartKind::kDirectory});
    return parts_.size() - 1;
  }
  // Omits the type once all types together exceed the limit.
  void add_entry(const EventEntry& entry, std::size_t parent) {
    const std::string_view type = event_.message_type(entry);
    types_size_ += type.size();
    parts_.push_back({.key = std::to_string(entry.key),
                      .parent = parent,
                      .kind = PartKind::kSlice,
                      .extent = entry.payload,
                      .type = std::string(types_size_ > limits_.metadata_bytes ? std::string_view{} : type)});
  }

  void add_tags() {
    const std::size_t tags = add_directory("tags", std::nullopt);
    for (const EventTag& tag : event_.tags) add_tagged(tag, add_directory(tag.key, tags));
  }

  // Skips ids without an entry.
  void add_tagged(const EventTag& tag, std::size_t directory) {
    const auto mark = static_cast<std::uint32_t>(directory);
    for (std::uint64_t i = tag.ids.begin; i < tag.ids.begin + tag.ids.size; ++i) {
      const std::size_t place = place_of(event_.entries, event_.ids[static_cast<std::size_t>(i)]);
      if (place < event_.entries.size() && std::exchange(shown_[place], mark) != mark) {
        add_entry(event_.entries[place], directory);
      }
    }
  }

  const Event& event_;
  const Limits& limits_;
  std::uint64_t types_size_ = 0;      // total size of the types of all parts, in bytes
  std::vector<std::uint32_t> shown_;  // for each entry, the last directory that contains it (never 0)
  Parts parts_;
};

Result<std::string> types_table(const Event& event, const Limits& limits) {
  std::string text = "entry\ttype\tname\n";
  for (const EventEntry& entry : event.entries) {
    append_number(text, entry.key);
    text += '\t';
    append_number(text, entry.type);
    text += '\t';
    append_escaped(text, event.type_of(entry));
    text += '\n';
    if (text.size() > limits.metadata_bytes) return too_long(limits);
  }
  return text;
}

}  // namespace

Result<Parts> parts_of_event(Bytes bytes, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto event, read_event(bytes, limits));
  ASSIGN_OR_RETURN(auto types, types_table(event, limits));
  return PartsMaker(event, limits).make(std::move(types));
}

}  // namespace recordfs::proio
