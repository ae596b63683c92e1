// Inside: the parts of one record as a tree of directories and files with names.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/bytes.h"
#include "core/formats/chunk.h"
#include "core/formats/value.h"

namespace recordfs {

// A tree of numbered parts. Number 0 is the record's own directory. The parts of its value follow in order.
// Then each of these has a number for its names.tsv, and one for its NAME.json. Only a directory in which a file's name
// differs from its key has a names.tsv. Only a message has a NAME.json, and listings omit it.
//
// Immutable and thread-safe. Stores positions of the record's bytes, not the bytes.
class Inside {
 public:
  enum class Kind : std::uint8_t {
    kDirectory,
    kSlice,  // a file: a slice of the record's bytes
    kText,   // a file: generated text
  };

  // `value` is a record's as parts, and points into `record`.
  static Inside of(const Value& value, Bytes record);

  static constexpr int kNumberBits = 24;  // of a part's number

  // Unique in the process.
  std::uint64_t id() const { return id_; }

  bool contains(std::uint64_t part) const;

  // Returns the part with a name in a directory, or at a place in its listing; nullopt if there is none. REQUIRES:
  // `directory` is a directory.
  std::optional<std::uint64_t> find(std::uint64_t directory, std::string_view name) const;
  std::optional<std::uint64_t> at(std::uint64_t directory, std::uint64_t place) const;

  // The following functions REQUIRE contains(part).
  //
  // Returns the directory of a part, or 0 for 0.
  std::uint64_t parent(std::uint64_t part) const;
  // Returns the message that a NAME.json shows, or nullopt for any other part.
  std::optional<std::uint64_t> message_of(std::uint64_t part) const;

  // The following functions also REQUIRE that the part is not a NAME.json.
  Kind kind(std::uint64_t part) const;
  std::string_view name(std::uint64_t part) const;
  std::uint64_t size(std::uint64_t part) const;     // bytes; 0 for a directory
  Extent slice(std::uint64_t part) const;           // position of a kSlice in the record
  std::string_view text(std::uint64_t part) const;  // contents of a kText
  std::string_view type(std::uint64_t part) const;  // full type name of a message; empty otherwise

  // Returns the memory held, in bytes, approximately.
  std::uint64_t memory() const;

 private:
  struct Item {
    Kind kind = Kind::kDirectory;
    std::uint8_t name_size = 0;
    std::uint32_t name_begin = 0;  // in names_
    std::uint32_t parent = 0;
    std::uint32_t type = 0;  // in types_
    Extent extent{};         // kSlice: in the record; kText: in texts_; kDirectory: in listed_ and sorted_
  };

  using TypeNumbers = std::unordered_map<std::string_view, std::uint32_t>;

  // Appends the entries of a directory, each followed by its own.
  void add_entries(std::uint32_t directory, const Value& value, Bytes record, TypeNumbers& types);
  // Appends a part and its entries, and returns its number.
  std::uint32_t add(std::uint32_t directory, const Value& value, Bytes record, TypeNumbers& types);
  void name_entries(std::uint32_t directory, const std::vector<std::uint32_t>& entries,
                    const std::vector<std::string_view>& keys);
  std::optional<Extent> table(std::uint64_t part) const;
  std::optional<std::uint64_t> find_listed(std::uint64_t directory, std::string_view name) const;
  std::string_view name_of(const Item& item) const {
    return std::string_view(names_).substr(item.name_begin, item.name_size);
  }

  std::vector<Item> items_{Item{}};
  std::vector<std::uint32_t> listed_;       // entries by directory, in the format's order
  std::vector<std::uint32_t> sorted_;       // entries by directory, by name
  std::map<std::uint64_t, Extent> tables_;  // names.tsv in texts_, by directory
  std::string names_;
  std::string texts_;
  std::vector<std::string> types_{std::string()};
  std::uint64_t id_ = next_id_.fetch_add(1);

  static inline std::atomic<std::uint64_t> next_id_{0};
};

}  // namespace recordfs
