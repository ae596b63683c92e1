// Location: the name of a file or directory, wherever it is stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace recordfs {

class Storage;

// A local path of any bytes, or a URL without its secrets, so that it can be printed. Immutable. Thread-safe.
class Location {
 public:
  enum class NamedBy : std::uint8_t {
    kUser,
    kFile,  // whose content may come from others
  };

  // Returns what a word means. It is a URL if it begins with a scheme that add_storage() has named and a colon, unless
  // a local file has this name. Any other word is a local path.
  Location(std::string word, NamedBy by = NamedBy::kUser);
  Location(const char* word) : Location(std::string(word)) {}

  const std::string& text() const { return text_; }
  // Returns where the file or directory is stored. Valid until the program ends.
  const Storage& storage() const { return *storage_; }
  bool is_local() const;

  // Returns the text without what follows the path in a URL.
  std::string_view path() const;
  // Returns the last component of the path; empty after a slash at the end.
  std::string_view name() const { return path().substr(path().rfind('/') + 1); }
  // Returns the file or directory with this name in this directory. A URL has some characters of the name encoded.
  Location child(std::string_view name) const;
  // Returns the location that means the same in any current directory.
  Location absolute() const;

  bool operator==(const Location& other) const { return text_ == other.text_ && storage_ == other.storage_; }

 private:
  Location(std::string text, const Storage& storage) : text_(std::move(text)), storage_(&storage) {}

  std::string text_;
  const Storage* storage_;
};

}  // namespace recordfs
