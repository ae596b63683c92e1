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

// The header of an image. `type` is its media type, in static storage. `pixels`: width times height.
struct ImageHeader {
  std::string_view type;
  std::uint64_t pixels = 0;
};
// Returns that of a JPEG, PNG, GIF or WebP file, which the first bytes tell; nullopt for all else. Without a size in
// the expected place, an image has UINT64_MAX pixels.
std::optional<ImageHeader> image_header(Bytes bytes);

// The images of consecutive records, up to a bound. Larger ones are only counted.
struct Thumbnails {
  static constexpr std::size_t kMost = 12;
  static constexpr std::size_t kMostBytes = 192u << 10;  // of all
  static constexpr std::size_t kLargest = 96u << 10;
  static constexpr std::uint64_t kMostPixels = 4u << 20;  // a browser needs four bytes for each

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
  void start_record(std::uint64_t ordinal) {
    restart();
    ordinal_ = ordinal;
  }

 private:
  void take_value(std::size_t column, const Place& place, const Scalar& value) override;

  Thumbnails& found_;
  std::uint64_t ordinal_ = 0;
};

}  // namespace recordfs
