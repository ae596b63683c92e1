#include "fusefs/commands/report/thumbnails.h"

#include <utility>
#include <variant>

namespace recordfs {

std::optional<std::string_view> image_type(Bytes bytes) {
  constexpr std::size_t kTagAt = 8;  // of WebP, in a RIFF file
  const std::string_view text = as_text(bytes);
  if (text.starts_with("\xFF\xD8\xFF")) return "image/jpeg";
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return "image/png";
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) return "image/gif";
  if (text.starts_with("RIFF") && text.size() > kTagAt && text.substr(kTagAt).starts_with("WEBP")) return "image/webp";
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

void ImageFinder::take_value(std::size_t column, bool, const Scalar& value) {
  const auto* const bytes = std::get_if<Bytes>(&value);
  const auto type = bytes == nullptr ? std::nullopt : image_type(*bytes);
  if (!type) return;
  if (bytes->size() > Thumbnails::kLargest) {
    ++found_.too_large;
  } else {
    found_.add({.column = names()[column], .ordinal = ordinal_, .type = *type, .bytes = std::string(as_text(*bytes))});
  }
}

}  // namespace recordfs
