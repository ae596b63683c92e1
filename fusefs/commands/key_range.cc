#include "fusefs/commands/key_range.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "core/database/key_text.h"
#include "fusefs/commands/command.h"

namespace recordfs {

void KeyRangeOptions::declare(CLI::App& app) {
  declare_value(app, "--prefix", "P", range.prefix, "only keys that begin with P");
  declare_value(app, "--from", "A", range.from, "only this key and those after it");
  app.add_option("--to", range.to, "only keys before this one")->type_name("B");
  declare_value(
      app, "--limit", "N", [this](const std::string& text) { limit = amount_of("--limit", text); }, "at most N keys");
  // Values are set in the order of the declarations.
  app.add_flag_callback(
      "--encoded",
      [this] {
        encoded = true;
        for (std::string* const key : {&range.prefix, &range.from, range.to ? &*range.to : nullptr}) {
          if (key == nullptr) continue;
          auto bytes = unescaped_key(*key);
          if (!bytes) throw CLI::ValidationError("--encoded", "not an escaped key");
          *key = std::move(*bytes);
        }
      },
      "P, A and B are escaped, as keys are printed");
}

}  // namespace recordfs
