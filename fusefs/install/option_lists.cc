// Prints a man page or a completion: recordfs_option_lists TEMPLATE. Replaces each line `@OPTIONS LIST@` of the
// template: in completions, where LIST is `bash`, `zsh` or `fish`, with all lists, and in man pages with one list in
// mdoc.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "fusefs/commands/command.h"
#include "fusefs/options.h"

namespace recordfs {
namespace {

using OptionList = std::vector<OptionText>;

const std::map<std::string, OptionList>& command_lists() {
  static const auto lists = [] {
    std::map<std::string, OptionList> made;
    for (const Command& command : commands()) made.emplace(command.name, options_of(command));
    return made;
  }();
  return lists;
}

std::map<std::string, OptionList> all_lists() {
  auto lists = command_lists();
  lists["-o"] = mount_options();
  lists["mount"] = mount_flags(Form::kCommand);
  for (const HelpLine& command : command_lines()) lists.try_emplace(std::string(command.name));
  return lists;
}

auto has(const OptionText& option) {
  return [&option](const auto& list) { return std::ranges::find(list.second, option) != list.second.end(); };
}

// Puts `escape` before each of the characters `special`.
std::string escaped(std::string_view text, std::string_view special, std::string_view escape = "\\") {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += escape;
    result += c;
  }
  return result;
}

// --- man pages

// Starts each sentence on a new line, sets `x` in bold, and keeps the dashes of options from becoming hyphens.
std::string to_mdoc(std::string_view text) {
  std::string result;
  bool is_literal = false;
  char before = ' ';
  for (const char c : text) {
    if (c == '`') is_literal = !is_literal;
    if (c == '`') {
      result += is_literal ? "\\fB" : "\\fP";
    } else if (c == '-' && (is_literal || before == ' ' || before == '-')) {
      result += "\\-";
    } else {
      result += c == ' ' && before == '.' ? '\n' : c;
    }
    before = c;
  }
  return result;
}

// Returns names and value: Fl m , Fl -max-count Ar N.
std::string term_of(const OptionText& option) {
  const bool is_flag = option.names.front().starts_with('-');
  std::string term;
  for (const std::string& name : option.names) {
    term += (term.empty() ? "" : " , ") + (is_flag ? "Fl " + name.substr(1) : "Cm " + name);
  }
  return option.value.empty() ? term : term + (is_flag ? " Ar " : " Ns = Ns Ar ") + option.value;
}

std::string item_of(const OptionText& option) {
  std::string text = option.help() + ".";
  if (text.size() < option.text.size()) text += " " + option.text.substr(text.size());
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return fmt::format(".It {}\n{}\n", term_of(option), to_mdoc(text));
}

// Orders options like a dictionary: -E before -e, and both before --files.
std::string sort_key(const OptionText& option) {
  const std::string& name = option.names.front();
  std::string key;
  for (const char c : name) {
    if (c != '-') key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key + name;
}

// If an option is the same in an earlier command, the list refers to that.
std::string mdoc_list(const std::string& name, OptionList options) {
  std::ranges::sort(options, {}, sort_key);
  std::string items;
  std::map<std::string, std::vector<std::string>> elsewhere;
  for (const OptionText& option : options) {
    const auto first = std::ranges::find_if(command_lists(), has(option));
    if (command_lists().contains(name) && first->first != name) {
      elsewhere[first->first].push_back(term_of(option));
    } else {
      items += item_of(option);
    }
  }
  for (const auto& [command, terms] : elsewhere) {
    items += fmt::format(".It {}\nAs in\n.Cm {} .\n", fmt::join(terms, " , "), command);
  }
  return fmt::format(".Bl -tag -width Ds\n{}.El\n", items);
}

// Returns whether every command that reads containers has an option.
bool is_shared(const OptionText& option) {
  return std::ranges::all_of(commands(), [&option](const Command& command) {
    return !command.reads || has(option)(*command_lists().find(std::string(command.name)));
  });
}

// Returns the options of a list that are shared, or the others. Every command has --help.
OptionList part_of(OptionList options, bool shared) {
  std::erase_if(options, [shared](const OptionText& option) {
    return option.names.back() == "--help" || is_shared(option) != shared;
  });
  return options;
}

// --- completions

// Returns branches of a `case` statement, which set the array `reply`.
template <class CommandWord, class OptionWord>
std::string shell_lists(CommandWord command_word, OptionWord option_word) {
  const auto branch = [](std::string_view name, const std::vector<std::string>& words) {
    std::string text = fmt::format("        {})\n            reply=(\n", name);
    for (const std::string& word : words) text += fmt::format("                '{}'\n", escaped(word, "'", "'\\'"));
    return text + "            ) ;;\n";
  };
  std::vector<std::string> words;
  for (const HelpLine& command : command_lines()) words.push_back(command_word(command));
  std::string text = branch("commands", words);
  for (const auto& [name, options] : all_lists()) {
    words.clear();
    for (const OptionText& option : options) {
      for (const std::string& spelling : option.names) words.push_back(option_word(option, spelling));
    }
    text += branch(name, words);
  }
  return text;
}

std::string bash_command(const HelpLine& command) { return std::string(command.name); }

std::string bash_option(const OptionText& option, const std::string& spelling) {
  return option.value.empty() ? spelling : fmt::format("{}={}", spelling, option.value);
}

std::string zsh_command(const HelpLine& command) { return fmt::format("{}:{}", command.name, command.summary); }

// Returns a specification for _arguments, or for _values.
std::string zsh_option(const OptionText& option, const std::string& spelling) {
  const std::string excluded = spelling.starts_with('-') ? fmt::format("({})", fmt::join(option.names, " ")) : "";
  std::string text = fmt::format("{}{}[{}]", excluded, spelling, escaped(option.help(), "[]"));
  if (option.value.empty()) return text;
  return fmt::format("{}:{}:_recordfs_value {}", text, escaped(option.value, ":"), option.value);
}

std::string fish_word(std::string_view text) { return fmt::format("'{}'", escaped(text, "\\'")); }

std::string fish_spelling(std::string_view name) {
  if (name.starts_with("--")) return fmt::format(" -l {}", name.substr(2));
  return fmt::format(" -{} {}", name.size() == 2 ? 's' : 'o', name.substr(1));
}

std::string fish_option(std::string_view command, const OptionText& option) {
  std::string line = fmt::format("complete -c recordfs -n '__recordfs_in {}'", command);
  for (const std::string& name : option.names) line += fish_spelling(name);
  if (option.value == "FILE" || option.value == "F" || option.value == "OUT") {
    line += " -r -F";
  } else if (!option.value.empty()) {
    line += fmt::format(" -x -a '(__recordfs_value {})'", option.value);
  }
  return fmt::format("{} -d {}\n", line, fish_word(option.help()));
}

// Returns calls of `complete`, and a list of mount options with their descriptions.
std::string fish_lists() {
  std::string text;
  for (const HelpLine& command : command_lines()) {
    text += fmt::format("__recordfs_add_command {} {}\n", command.name, fish_word(command.summary));
  }
  for (const auto& [name, options] : all_lists()) {
    for (const OptionText& option : options) {
      if (name != "-o") {
        text += fish_option(name, option);
        continue;
      }
      for (const std::string& spelling : option.names) {
        text += fmt::format("set -ga __recordfs_mount_options {}\\t{}\n",
                            fish_word(spelling + (option.value.empty() ? "" : "=")), fish_word(option.help()));
      }
    }
  }
  return text;
}

// --- templates

// Returns the text for `@OPTIONS LIST@`, or nothing if there is no such list.
std::string text_of(const std::string& list) {
  if (list == "bash") return shell_lists(bash_command, bash_option);
  if (list == "zsh") return shell_lists(zsh_command, zsh_option);
  if (list == "fish") return fish_lists();
  if (list == "mount.recordfs") return mdoc_list(list, mount_flags(Form::kMount8));
  if (list == "shared") return mdoc_list(list, part_of(command_lists().begin()->second, true));
  const auto lists = all_lists();
  const auto found = lists.find(list);
  if (found == lists.end()) return {};
  return mdoc_list(list, command_lists().contains(list) ? part_of(found->second, false) : found->second);
}

int print_document(const char* path) {
  constexpr std::string_view kMark = "@OPTIONS ";
  std::ifstream file(path);
  if (!file) return 1;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kMark)) {
      line = text_of(line.substr(kMark.size(), line.size() - kMark.size() - 1));
      if (line.empty()) return 1;
      line.pop_back();
    }
    std::puts(line.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace recordfs

int main(int argc, char** argv) { return argc == 2 ? recordfs::print_document(argv[1]) : 1; }
