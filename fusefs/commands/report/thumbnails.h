// The first images in columns of bytes, for a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/columns/column_visitor.h"

namespace recordfs {

// An image. `type` is its media type, in static storage.
struct Thumbnail {
  std::string column;
  std::uint64_t ordinal = 0;  // of its record
  std::string_view type;
  std::string bytes;
};

// Returns the media type of a JPEG, PNG, GIF or WebP file, by its first bytes; nullopt for all else.
std::optional<std::string_view> image_type(Bytes bytes);

// The images of consecutive records, up to a bound. Larger ones are only counted.
struct Thumbnails {
  static constexpr std::size_t kMost = 12;
  static constexpr std::size_t kMostBytes = 192u << 10;  // of all
  static constexpr std::size_t kLargest = 96u << 10;

  std::vector<Thumbnail> images{};
  std::uint64_t too_large = 0;

  void add(Thumbnail image);
  // Adds those of later records.
  void add(Thumbnails others);
};

// Finds the images of records. Not thread-safe.
class ImageFinder final : public ColumnVisitor {
 public:
  explicit ImageFinder(Thumbnails& found) : found_(found) {}

  // Is called before a record is visited.
  void begin_record(std::uint64_t ordinal) {
    restart();
    ordinal_ = ordinal;
  }

 private:
  void take_value(std::size_t column, bool is_in_list, const Scalar& value) override;

  Thumbnails& found_;
  std::uint64_t ordinal_ = 0;
};

}  // namespace recordfs
