#include "fusefs/commands/range_option.h"

#include <string>

#include <CLI/CLI.hpp>

namespace recordfs {

const std::string_view kRangeHelp =
    "RANGE is 42, 10:20 (without record 20), :100, 5:, -5: (the last five), or @OFFSET/INDEX: the record at this index "
    "of\n"
    "the chunk that begins at this byte, which does not change if other parts of the file are damaged.";

namespace {

NamedRange parse(const std::string& text) {
  const auto range = parse_range(text);
  if (!range) throw CLI::ValidationError("RANGE", "not a range: " + text);
  return {*range, text.find(':') == std::string::npos};
}

constexpr const char* kWhat = "which records (default: all)";

}  // namespace

void declare_range(CLI::App& app, std::optional<NamedRange>& range) {
  app.add_option_function<std::string>(
         "RANGE", [&range](const std::string& text) { range = parse(text); }, kWhat)
      ->type_name("");
}

void declare_ranges(CLI::App& app, std::vector<NamedRange>& ranges) {
  app.add_option_function<std::vector<std::string>>(
         "RANGE",
         [&ranges](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) ranges.push_back(parse(text));
         },
         kWhat)
      ->type_name("");
}

}  // namespace recordfs
