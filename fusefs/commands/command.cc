#include "fusefs/commands/command.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::array kCommands = {
    Command{"info", "show format, codec and metadata of containers", declare_info},
    Command{"ls", "list records: ordinal, size, chunk/index", declare_ls},
    Command{"cat", "write records to standard output", declare_cat},
    Command{"head", "write the first records", declare_head},
    Command{"tail", "write the last records", declare_tail},
    Command{"splits", "split files for parallel work", declare_splits},
    Command{"grep", "search records", declare_grep, kExitGrepFailed},
    Command{"keys", "list the keys of a database", declare_keys},
    Command{"get", "write the value of a key", declare_get, kExitGrepFailed},
    Command{"cp", "copy records to files", declare_cp},
    Command{"index", "build and save the index now, so that later mounts start at once", declare_index},
    Command{"verify", "read everything and verify all checksums", declare_verify},
    Command{"mounts", "list the mounts of recordfs", declare_mounts, kExitWrongUse, false},
    Command{"umount", "unmount", declare_umount, kExitWrongUse, false},
};

// Prints the first line of a text. The rest is for the man page.
class CommandHelp : public CLI::Formatter {
  std::string make_option_desc(const CLI::Option* option) const override {
    return OptionText{.text = option->get_description()}.help();
  }
};

// CLI11 takes a bracketed word for a list and removes the brackets, but [a] can be a file name or a pattern. A byte
// that no argument can contain prevents that.
constexpr char kNoArgument = '\0';

std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string& word : words) {
    if (word.starts_with('[') && word.ends_with(']')) word += kNoArgument;
  }
  std::ranges::reverse(words);  // CLI11 expects reverse order
  return words;
}

void restore_words(CLI::App& app) {
  const CLI::Validator restore(
      [](std::string& word) {
        if (word.ends_with(kNoArgument)) word.pop_back();
        return std::string{};
      },
      "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(restore);
  }
}

// Returns how many letters have to be added, removed, replaced, or swapped with the next one.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> edits(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = edits[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      edits[i][j] = std::min({replaced, edits[i - 1][j] + 1, edits[i][j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (is_swapped) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[one.size()][other.size()];
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : &*found;
}

std::vector<HelpLine> command_lines() {
  std::vector<HelpLine> lines = {{"mount", "mount; creates and names the mount point if needed"}};
  for (const Command& command : kCommands) lines.push_back({command.name, command.summary});
  lines.push_back({"help", "print the help of a command, or this help"});
  lines.push_back({"version", "print the versions of recordfs and its libraries"});
  return lines;
}

std::string no_such_command(std::string_view what, std::string_view word) {
  constexpr std::size_t kShort = 4;
  std::size_t least = word.size() < kShort ? 1 : 2;
  std::string names;
  for (const HelpLine& line : command_lines()) {
    const std::size_t edits = edits_between(word, line.name);
    if (edits > least) continue;
    if (edits < least) names.clear();
    least = edits;
    names += names.empty() ? std::string(line.name) : fmt::format(" or {}", line.name);
  }
  const std::string hint = names.empty() ? "try recordfs --help" : fmt::format("did you mean {}?", names);
  return fmt::format("no such {}: {} ({})", what, word, hint);
}

std::vector<OptionText> options_of(const Command& command) {
  CLI::App app;
  const auto run = command.declare(app);
  return option_texts(app);
}

int run_command(const Command& command, int argc, const char* const* argv) {
  CLI::App app{std::string(command.summary), fmt::format("recordfs {}", command.name)};
  app.formatter(std::make_shared<CommandHelp>());
  const auto run = command.declare(app);
  restore_words(app);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& stopped) {
    if (stopped.get_exit_code() == 0) return app.exit(stopped);
    print_message(fmt::format("{} (try recordfs {} --help)", stopped.what(), command.name));
    return command.wrong_use;
  }
  try {
    return run();
  } catch (const std::bad_alloc&) {
    print_message("out of memory");
    return command.wrong_use == kExitWrongUse ? kExitPartlyDone : command.wrong_use;
  }
}

}  // namespace recordfs
