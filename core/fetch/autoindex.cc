#include "core/fetch/autoindex.h"

#include <utility>

#include "core/base/parse_number.h"
#include "core/fetch/http_date.h"
#include "core/fetch/json_objects.h"

namespace recordfs::fetch {

bool is_entry_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Error listed_without_size() { return {.code = Code::kDamage, .detail = "a listing with a file without a valid size"}; }

Result<Origin::Page> parse_autoindex(std::string_view body) {
  const auto of_another_kind = [] {
    return Error{.code = Code::kUnsupported,
                 .detail =
                     "the server sends no list of this directory's files that recordfs can read "
                     "(supported: nginx with 'autoindex on; autoindex_format json;')"};
  };
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || body[first] != '[') return of_another_kind();
  Origin::Page page;
  TRY(for_each_object(body, [&](const JsonObject& entry) -> Result<void> {
    const std::string_view type = entry["type"];
    if (type.empty() || !entry.has("name")) return of_another_kind();
    if (!is_entry_name(entry["name"]) || (type != "file" && type != "directory")) return {};
    const bool is_directory = type == "directory";
    const auto size = parse_number<std::uint64_t>(entry["size"]);
    if (!is_directory && !size) return listed_without_size();
    page.entries.push_back({.name = std::string(entry["name"]),
                            .is_directory = is_directory,
                            .size = is_directory ? 0 : *size,
                            .modified = parse_http_date(entry["mtime"]).value_or(0)});
    return {};
  }));
  return page;
}

}  // namespace recordfs::fetch
