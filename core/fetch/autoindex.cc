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

Result<Origin::Page> parse_autoindex(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || body[first] != '[') {
    return Error{.code = Code::kUnsupported,
                 .detail =
                     "the server sends no list of this directory's files that recordfs can read "
                     "(supported: nginx with 'autoindex on; autoindex_format json;')"};
  }
  Origin::Page page;
  TRY(for_each_object(body, [&](const JsonObject& entry) -> Result<void> {
    const std::string_view type = entry["type"];
    if (!is_entry_name(entry["name"]) || (type != "file" && type != "directory")) return {};
    const bool is_directory = type == "directory";
    page.entries.push_back({.name = std::string(entry["name"]),
                            .is_directory = is_directory,
                            .size = is_directory ? 0 : parse_number<std::uint64_t>(entry["size"]).value_or(0),
                            .modified = parse_http_date(entry["mtime"]).value_or(0)});
    return {};
  }));
  return page;
}

}  // namespace recordfs::fetch
