// A survey of several files as a page.
#pragma once

#include <string>
#include <string_view>

#include "fusefs/commands/report/files_survey.h"

namespace recordfs {

// Returns an HTML document as report_page() does. `name` names the files.
std::string files_page(std::string_view name, const FilesSurvey& survey);

}  // namespace recordfs
