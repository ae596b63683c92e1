#include "fusefs/commands/key_range.h"

#include <CLI/CLI.hpp>

#include "fusefs/commands/command.h"
#include "fusefs/commands/key_text.h"

namespace recordfs {

void KeyRangeOptions::declare(CLI::App& app) {
  app.add_option("--prefix", prefix, "only keys that begin with P")->type_name("P");
  app.add_option("--from", from, "only this key and those after it")->type_name("A");
  app.add_option("--to", to, "only keys before this one")->type_name("B");
  app.add_option_function<std::string>(
         "--limit", [this](const std::string& text) { limit = amount_of("--limit", text); }, "at most N keys")
      ->type_name("N");
  app.add_flag("--encoded", encoded, "P, A and B are escaped, as keys are printed");
}

bool KeyRangeOptions::is_given() const {
  return !prefix.empty() || !from.empty() || to || limit != UINT64_MAX || encoded;
}

std::optional<database::KeyRange> KeyRangeOptions::range() const {
  if (!encoded) return database::KeyRange{.from = from, .to = to, .prefix = prefix};
  const auto first = unescaped_key(from);
  const auto end = to ? unescaped_key(*to) : std::string();
  const auto begin = unescaped_key(prefix);
  if (!first || !end || !begin) return std::nullopt;
  database::KeyRange range{.from = *first, .to = {}, .prefix = *begin};
  if (to) range.to = *end;
  return range;
}

}  // namespace recordfs
