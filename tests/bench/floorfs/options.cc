#include "tests/bench/floorfs/options.h"

#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <string_view>

namespace recordfs::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: floorfs [--records=N] [--kind=lines|tiny] [--layout=flat|thousands] [--listing=plus|auto|names]\n"
    "               [--threads=N] [--push=N] [--timeout=SECONDS] [--open] [--no-clone-fd] [--rw] [-f] MOUNTPOINT\n";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [used, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && used == end;
}

template <class Value>
bool choose(std::string_view text, const std::map<std::string_view, Value>& choices, Value& value) {
  const auto found = choices.find(text);
  if (found == choices.end()) return false;
  value = found->second;
  return true;
}

bool take(std::string_view word, FloorOptions& options) {
  const std::string_view name = word.substr(0, word.find('='));
  const std::string_view value = name.size() == word.size() ? std::string_view() : word.substr(name.size() + 1);
  const std::map<std::string_view, std::function<bool()>> known = {
      {"--records", [&] { return read_number(value, options.records); }},
      {"--threads", [&] { return read_number(value, options.threads); }},
      {"--push", [&] { return read_number(value, options.push); }},
      {"--timeout", [&] { return read_number(value, options.timeout); }},
      {"--kind",
       [&] {
         return choose<Kind>(value, {{"lines", Kind::kLines}, {"tiny", Kind::kTiny}}, options.kind);
       }},
      {"--layout",
       [&] {
         return choose<Layout>(value, {{"flat", Layout::kFlat}, {"thousands", Layout::kThousands}}, options.layout);
       }},
      {"--listing",
       [&] {
         return choose<Listing>(value, {{"plus", Listing::kPlus}, {"auto", Listing::kAuto}, {"names", Listing::kNames}},
                                options.listing);
       }},
      {"--open", [&] { return options.open = true; }},
      {"--no-clone-fd", [&] { return !(options.clone_fd = false); }},
      {"--rw", [&] { return !(options.read_only = false); }},
      {"-f", [&] { return options.foreground = true; }},
  };
  const auto found = known.find(name);
  if (found != known.end()) return found->second();
  if (word.starts_with("-") || !options.mountpoint.empty()) return false;
  options.mountpoint = word;
  return true;
}

}  // namespace

std::optional<FloorOptions> parse_floor_options(int argc, char** argv) {
  FloorOptions options;
  for (int i = 1; i < argc; ++i) {
    if (take(argv[i], options)) continue;
    std::fprintf(stderr, "floorfs: %s: not understood\n%s", argv[i], kUsage.data());
    return std::nullopt;
  }
  if (options.mountpoint.empty()) {
    std::fputs(kUsage.data(), stderr);
    return std::nullopt;
  }
  return options;
}

}  // namespace recordfs::bench
