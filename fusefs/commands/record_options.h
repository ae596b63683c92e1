// The options that say which records are written, and in which form.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dataset/random_order.h"
#include "core/decoding/record_decoder.h"
#include "core/export/record_text.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/where.h"

namespace CLI {
class Option;
}

namespace recordfs {

// Returns text that is safe for a terminal, as printable() does, but with the same newlines and tabs.
std::string printable_lines(std::string_view text);

// Declares --descriptors and --type, which are errors unless `is_used` returns true after the parsing. `of_what`: the
// options that use them. `types` must outlive the parsing.
void declare_types(CLI::App& app, UserTypes& types, std::function<bool()> is_used, const std::string& of_what);

// Returns the form that is named as the value of --bytes. Throws CLI::ValidationError.
ByteForm byte_form_of(const std::string& word);

// Declares --no-raw, --fields and --bytes, which need `json_flag`. `json` must outlive the parsing.
void declare_json(CLI::App& app, JsonLineOptions& json, CLI::Option* json_flag);

// Prints which of the wanted fields no record has, with similar names of others, and notes it. Prints nothing if no
// record was read, or after a write error. `fields` may be null.
void report_absent(const FieldPaths* fields, CommandContext& context);
// Reports names of fields that have values at several places, because names have dots: a.b, and b in a.
void report_several(const std::vector<std::string>& names, CommandContext& context);
// Prints and notes fields that are known to be absent. `present`: names that records have.
void report_absent_names(const std::vector<std::string>& absent, const std::set<std::string>& present,
                         CommandContext& context);

// Returns whether a form or its condition needs decoded records.
bool decodes(const FormOptions& form);

// Declare the options that choose a form, and those of a random order, on `app`. The results must outlive the parsing.
void declare_form(CLI::App& app, FormOptions& form);
void declare_random(CLI::App& app, RandomOptions& random);
// Declares --sample, with its help, and --seed. Returns the former.
CLI::Option* declare_sample(CLI::App& app, RandomOptions& random, const std::string& text);

}  // namespace recordfs
