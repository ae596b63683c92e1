// A report as a page.
#pragma once

#include <string>
#include <string_view>

#include "core/report/set_report.h"

namespace recordfs {

// Returns an HTML document that needs no other file, no script and no network. `name` is the path of the only file, or
// names the set. Nothing that comes from a container can become markup.
std::string report_page(std::string_view name, const SetReport& report);

}  // namespace recordfs
