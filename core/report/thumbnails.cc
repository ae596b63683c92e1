#include "core/report/thumbnails.h"

#include <utility>
#include <variant>

namespace recordfs {

namespace {

// Returns `bytes` as a number, or nothing if they are beyond the end.
std::optional<std::uint64_t> number_at(Bytes file, std::size_t at, std::size_t bytes, bool is_little_endian) {
  if (file.size() < at + bytes) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(file[at + (is_little_endian ? bytes - 1 - i : i)]);
    number = number << 8 | byte;
  }
  return number;
}

using Number = std::optional<std::uint64_t>;

std::uint64_t area(const Number& width, const Number& height) {
  return width && height && *width > 0 && *height > 0 ? *width * *height : UINT64_MAX;
}

// Finds the frame header among the segments before the picture (ITU-T T.81, B.1.1).
std::uint64_t jpeg_pixels(Bytes file) {
  for (std::size_t at = 2; at < file.size();) {
    const Number marker = number_at(file, at, 2, false);
    if (marker == 0xFFFFu) {
      ++at;  // a fill byte
      continue;
    }
    const Number size = number_at(file, at + 2, 2, false);
    if (!marker || *marker >> 8 != 0xFF || !size || *size < 2) return UINT64_MAX;
    const std::uint64_t kind = *marker & 0xFF;
    const bool is_frame = kind >= 0xC0 && kind <= 0xCF && kind != 0xC4 && kind != 0xC8 && kind != 0xCC;
    if (is_frame) return area(number_at(file, at + 7, 2, false), number_at(file, at + 5, 2, false));
    at += 2 + *size;
  }
  return UINT64_MAX;
}

// Reads the header of the first chunk, of which there are three kinds (RFC 9649, 2.5 to 2.7).
std::uint64_t webp_pixels(Bytes file) {
  constexpr std::size_t kChunk = 12;
  constexpr std::size_t kContent = 20;
  constexpr std::uint64_t kSide = (1u << 14) - 1;  // of VP8 and VP8L
  const std::string_view kind = as_text(file).substr(kChunk, 4);
  const auto plus_one = [](const Number& number) { return number ? Number(*number + 1) : number; };
  if (kind == "VP8X") {
    return area(plus_one(number_at(file, kContent + 4, 3, true)), plus_one(number_at(file, kContent + 7, 3, true)));
  }
  if (kind == "VP8L") {
    const Number sides = number_at(file, kContent + 1, 4, true);
    return sides ? ((*sides & kSide) + 1) * ((*sides >> 14 & kSide) + 1) : UINT64_MAX;
  }
  const Number width = number_at(file, kContent + 6, 2, true);
  const Number height = number_at(file, kContent + 8, 2, true);
  return kind == "VP8 " && width && height ? area(*width & kSide, *height & kSide) : UINT64_MAX;
}

}  // namespace

std::optional<ImageHeader> image_header(Bytes bytes) {
  constexpr std::size_t kTagAt = 8;  // of WebP, in a RIFF file
  const std::string_view text = as_text(bytes);
  if (text.starts_with("\xFF\xD8\xFF")) return ImageHeader{"image/jpeg", jpeg_pixels(bytes)};
  if (text.starts_with("\x89PNG\r\n\x1A\n")) {
    return ImageHeader{"image/png", area(number_at(bytes, 16, 4, false), number_at(bytes, 20, 4, false))};
  }
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) {
    return ImageHeader{"image/gif", area(number_at(bytes, 6, 2, true), number_at(bytes, 8, 2, true))};
  }
  if (text.starts_with("RIFF") && text.size() > kTagAt && text.substr(kTagAt).starts_with("WEBP")) {
    return ImageHeader{"image/webp", bytes.size() < 20 ? UINT64_MAX : webp_pixels(bytes)};
  }
  return std::nullopt;
}

void Thumbnails::add(Thumbnail image) {
  if (images.size() == kMost) return;
  std::size_t bytes = image.bytes.size();
  if (bytes <= kLargest) {
    for (const Thumbnail& known : images) bytes += known.bytes.size();
  }
  if (bytes > kMostBytes || image.bytes.size() > kLargest) {
    ++too_large;
  } else {
    images.push_back(std::move(image));
  }
}

void Thumbnails::add(Thumbnails others) {
  for (Thumbnail& image : others.images) add(std::move(image));
  too_large += others.too_large;
}

void ImageFinder::take_value(std::size_t column, const Place& /*place*/, const Scalar& value) {
  const auto* const bytes = std::get_if<Bytes>(&value);
  const auto header = bytes == nullptr ? std::nullopt : image_header(*bytes);
  if (!header) return;
  if (bytes->size() > Thumbnails::kLargest || header->pixels > Thumbnails::kMostPixels) {
    ++found_.too_large;
  } else {
    found_.add(
        {.column = names()[column], .ordinal = ordinal_, .type = header->type, .bytes = std::string(as_text(*bytes))});
  }
}

}  // namespace recordfs
