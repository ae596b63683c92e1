#include "core/export/mixed_bytes.h"

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {

void MixedBytes::note(std::string_view column, Bytes value) {
  if (value.empty()) return;
  const bool is_text = is_utf8(as_text(value));
  const std::lock_guard lock(mutex_);
  auto known = columns_.find(column);
  if (known == columns_.end()) {
    if (columns_.size() == kMostColumns) return;
    known = columns_.emplace(column, Kinds{}).first;
  }
  (is_text ? known->second.has_text : known->second.has_other) = true;
}

Result<void> MixedBytes::check() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, kinds] : columns_) {
    if (!kinds.has_text || !kinds.has_other) continue;
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("column {} has bytes that are text and others, which would be base64 (try: "
                                       "--bytes base64; --bytes auto allows both)",
                                       printable(name))};
  }
  return {};
}

}  // namespace recordfs
