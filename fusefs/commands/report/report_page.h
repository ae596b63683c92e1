// A survey as a page.
#pragma once

#include <string>
#include <string_view>

#include "fusefs/commands/report/file_survey.h"

namespace recordfs {

// Returns an HTML document that needs no other file, no script and no network. `path` names the container. Nothing that
// comes from the container can become markup.
std::string report_page(std::string_view path, const FileSurvey& survey);

}  // namespace recordfs
