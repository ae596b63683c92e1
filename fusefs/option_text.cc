#include "fusefs/option_text.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace recordfs {

std::string OptionText::usage() const {
  const std::string_view separator = value.empty() ? "" : names.front().starts_with('-') ? " " : "=";
  return fmt::format("{}{}{}", fmt::join(names, ", "), separator, value);
}

std::vector<OptionText> option_texts(const CLI::App& app) {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : app.get_options()) {
    OptionText text{.text = option->get_description()};
    if (option->get_items_expected_max() > 0) text.value = option->get_type_name();
    for (const std::string& letter : option->get_snames()) text.names.push_back("-" + letter);
    for (const std::string& word : option->get_lnames()) text.names.push_back("--" + word);
    if (!text.names.empty() && !text.text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace recordfs
