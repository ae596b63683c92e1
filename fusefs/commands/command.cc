#include "fusefs/commands/command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/parse_number.h"
#include "core/base/similar_names.h"
#include "core/base/thrown.h"
#include "fusefs/help_layout.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::array kCommands = {
    Command{"info", "show format, codec and metadata of containers", declare_info,
            "recordfs info data.log\nrecordfs info --json --scan 'train-*' | jq .records"},
    Command{"ls", "list records: ordinal, size, chunk/index", declare_ls,
            "recordfs ls data.log :10\nrecordfs ls data.log | sort -k2,2nr | head"},
    Command{"cat", "write records to standard output", declare_cat,
            "recordfs cat data.log 42\nrecordfs cat --json --fields user.name 'train-*' | jq .decoded"},
    Command{"head", "write the first records", declare_head,
            "recordfs head data.log\nzstdcat data.log.zst | recordfs head -n 3 --json -"},
    Command{"tail", "write the last records", declare_tail,
            "recordfs tail -n 1 --json data.log\nrecordfs tail -f --lines data.log"},
    Command{"splits", "split files for parallel work", declare_splits,
            "recordfs splits --size 256M data.log\nrecordfs splits --count 64 --json 'train-*'"},
    Command{"grep", "search records", declare_grep,
            "recordfs grep -i error data.log\nrecordfs grep --field user.name '^ada$' 'train-*'", kExitGrepFailed},
    Command{"keys", "list the keys of a database", declare_keys,
            "recordfs keys --prefix user/ db\nrecordfs keys --json db/000123.sst"},
    Command{"get", "write the value of a key", declare_get,
            "recordfs get db user/42\nrecordfs get --history db user/42", kExitGrepFailed},
    Command{"cp", "copy records to files", declare_cp,
            "recordfs cp data.log :100 records\n"
            "recordfs cp --part image/encoded --suffix .jpg 'train-*' : pictures"},
    Command{"export", "write records to a file of another format", declare_export,
            "recordfs export 'train-*' -o train.jsonl.gz\nrecordfs export data.log :100 --to jsonl -o - | jq ."},
    Command{"index", "save the index, so that later mounts start at once", declare_index,
            "recordfs index data.log\nrecordfs index -v 'train-*'"},
    Command{"verify", "read everything and verify all checksums", declare_verify,
            "recordfs verify data.log\nrecordfs verify -r --state ~/.verified --max-age 30d /data"},
    Command{"recover", "write a good file with what can be read of a damaged one", declare_recover,
            "recordfs recover damaged.log -o good.log\nrecordfs recover --report lost.jsonl 'train-*' -o recovered/"},
    Command{"report", "write an HTML report", declare_report,
            "recordfs report data.log -o data.html\nrecordfs report 'train-*' > train.html"},
    Command{"mounts", "list the mounts of recordfs", declare_mounts,
            "recordfs mounts\nrecordfs mounts --json | jq .pid", kExitWrongUse, false},
    Command{"umount", "unmount", declare_umount, "recordfs umount mnt\nrecordfs umount --lazy data.log", kExitWrongUse,
            false},
};

constexpr const char* kHelpOfHelp = "print this help";
constexpr std::size_t kWidthOfNames = 24;  // of options, in --help

// Moves --help to the end of the group that was declared last.
void list_help_last(CLI::App& app) {
  const std::string names = app.get_help_ptr()->get_name(false, true);
  app.set_help_flag(names, kHelpOfHelp);
}

// Prints the first line of a text. The rest is for the man page.
class CommandHelp : public CLI::Formatter {
 public:
  explicit CommandHelp(std::string_view examples) : examples_(examples) { column_width(kWidthOfNames); }

 private:
  std::string make_option_desc(const CLI::Option* option) const override {
    return OptionText{.text = option->get_description()}.help();
  }

  // CLI11 shows a flag with an optional value as --color{auto}.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    for (std::size_t at = name.find('{'); at != std::string::npos; at = name.find('{')) {
      name.erase(at, name.find('}', at) + 1 - at);
    }
    return name;
  }

  // Without which other options it needs, which its text says.
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool is_several = option->get_items_expected_max() > 1 && option->get_positional();
    const std::string& value = option->get_type_name();
    return (option->get_items_expected_max() > 0 && !value.empty() ? " " + value : "") + (is_several ? " ..." : "");
  }

  std::string make_footer(const CLI::App* app) const override {
    std::string text = fmt::format("\n{}\n\nExamples:\n", app->get_footer());
    for (std::size_t at = 0; at < examples_.size();) {
      const std::size_t end = std::min(examples_.find('\n', at), examples_.size());
      text += fmt::format("  {}\n", examples_.substr(at, end - at));
      at = end + 1;
    }
    return text;
  }

  const std::string_view examples_;
};

// CLI11 writes two empty lines between groups of options, and one at the end.
std::string without_gaps(std::string text) {
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  if (text.ends_with("\n\n")) text.pop_back();
  return text;
}

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

// What other tools call our commands.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOtherWords = {{{"convert", "export"},
                                                                                       {"count", "info --scan"},
                                                                                       {"extract", "cp"},
                                                                                       {"find", "grep"},
                                                                                       {"list", "ls"},
                                                                                       {"search", "grep"},
                                                                                       {"wc", "info --scan"}}};

}  // namespace

std::span<const Command> commands() { return kCommands; }

void begin_group(CLI::App& app, const std::string& heading) { app.option_defaults()->group(heading); }

std::uint64_t number_of(const std::string& option, const std::string& text, std::uint64_t most) {
  const auto number = parse_number<std::uint64_t>(text);
  if (number && *number <= most) return *number;
  const std::string bound = most == UINT64_MAX ? std::string() : fmt::format(" up to {}", most);
  throw CLI::ValidationError(option, fmt::format("not a number{}: {}", bound, text));
}

std::uint64_t amount_of(const std::string& option, const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number && !parse_number<std::uint64_t>(text) ? UINT64_MAX : number_of(option, text);
}

CLI::Option* declare_value(CLI::App& app, const std::string& names, const std::string& type,
                           const std::function<void(const std::string&)>& set, const std::string& text) {
  return app.add_option_function<std::string>(names, set, text)->type_name(type);
}

CLI::Option* declare_value(CLI::App& app, const std::string& names, const std::string& type, std::string& value,
                           const std::string& text) {
  return app.add_option(names, value, text)->type_name(type);
}

CLI::Option* declare_list(CLI::App& app, const std::string& names, const std::string& type,
                          std::vector<std::string>& values, const std::string& text) {
  return app.add_option(names, values, text)->type_name(type)->expected(1)->take_all()->allow_extra_args(false);
}

CLI::Option* declare_size(CLI::App& app, const std::string& name, std::uint64_t least,
                          std::function<void(std::uint64_t)> set, const std::string& text) {
  const auto parse = [name, least, set = std::move(set)](const std::string& word) {
    const auto size = parse_size(word);
    if (!size || *size < least) throw CLI::ValidationError(name, "not a size: " + word);
    set(*size);
  };
  return declare_value(app, name, "SIZE", parse, text);
}

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
  std::vector<std::string_view> known;
  for (const HelpLine& line : command_lines()) known.push_back(line.name);
  const auto* const other = std::ranges::find(kOtherWords, word, &std::pair<std::string_view, std::string_view>::first);
  const std::string names = other == kOtherWords.end() ? similar_names(word, known) : std::string(other->second);
  const std::string hint = names.empty() ? "try recordfs --help" : fmt::format("did you mean {}?", names);
  return fmt::format("no such {}: {} ({})", what, word, hint);
}

std::vector<OptionText> options_of(const Command& command) {
  CLI::App app;
  const auto run = command.declare(app);
  return option_texts(app);
}

namespace {

// Prints a message, of which further lines begin with two spaces: a text, and a mark below a place in it.
void print_usage_error(std::string_view text, std::string_view command) {
  constexpr std::string_view kNextLine = "\n  ";
  const std::size_t end = std::min(text.find(kNextLine), text.size());
  print_message(fmt::format("{} (try recordfs {} --help)", text.substr(0, end), command));
  for (text.remove_prefix(end); text.starts_with(kNextLine);) {
    text.remove_prefix(1);
    const std::size_t next = std::min(text.find(kNextLine), text.size());
    print_message(std::string(text.substr(0, next)));
    text.remove_prefix(next);
  }
}

// Throws std::bad_alloc.
int parse_and_run(const Command& command, int argc, const char* const* argv) {
  CLI::App app{std::string(command.summary), fmt::format("recordfs {}", command.name)};
  app.set_help_flag("-h,--help", kHelpOfHelp);
  app.formatter(std::make_shared<CommandHelp>(command.examples));
  const auto run = command.declare(app);
  list_help_last(app);
  restore_words(app);
  const auto stopped = parse_words(app, words_of(argc, argv));
  if (!stopped) return run();
  if (stopped->get_exit_code() == 0) {
    std::fputs(wrapped(without_gaps(app.help()), help_width()).c_str(), stdout);
    return kExitGood;
  }
  print_usage_error(usage_error(app, *stopped), command.name);
  return command.wrong_use;
}

}  // namespace

int run_command(const Command& command, int argc, const char* const* argv) {
  int status = command.wrong_use == kExitWrongUse ? kExitPartlyDone : command.wrong_use;
  if (!has_memory_for([&] { status = parse_and_run(command, argc, argv); })) print_message("out of memory");
  return status;
}

}  // namespace recordfs
