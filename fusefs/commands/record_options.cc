#include "fusefs/commands/record_options.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/columns/column_selection.h"
#include "core/columns/scalar_rows.h"
#include "core/decoding/field_names.h"
#include "core/decoding/json_writer.h"
#include "core/store/open_container.h"
#include "fusefs/commands/command.h"

namespace recordfs {
std::string printable_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    lines += printable(text.substr(0, end));
    if (end < text.size()) lines += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

ByteForm byte_form_of(const std::string& word) {
  if (word == "auto") return ByteForm::kAuto;
  if (word == "base64") return ByteForm::kBase64;
  if (word == "hex") return ByteForm::kHex;
  throw CLI::ValidationError("--bytes", "not auto, base64 or hex: " + word);
}

void declare_json(CLI::App& app, JsonLineOptions& json, CLI::Option* json_flag) {
  app.add_flag_callback(
         "--no-raw", [&json] { json.has_record = false; }, "with --json: leave out the bytes of the record")
      ->needs(json_flag);
  const auto choose_fields = [&json](const std::string& text) {
    const auto selection = ColumnSelection::parse(text);
    if (!selection) throw CLI::ValidationError("--fields", selection.error().detail);
    json.fields = std::make_shared<const FieldPaths>(selection->names());
    json.has_record = false;
  };
  app.add_option_function<std::string>("--select", choose_fields)->needs(json_flag)->group("");  // as for export
  declare_value(app, "--fields", "FIELDS", choose_fields,
                "with --json: write only these decoded fields, as a,b.c; implies --no-raw\n"
                "A field is a path as for `grep --field`, and is written in its place in `decoded`.")
      ->needs(json_flag);
  declare_value(
      app, "--bytes", "FORM", [&json](const std::string& word) { json.bytes = byte_form_of(word); },
      "with --json: how bytes are written: auto (text or base64), base64 or hex\n"
      "With `auto`, the default, they are text if they are UTF-8, and otherwise base64. With `base64` the record is "
      "always in `base64`, and bytes of decoded content in members that end with `base64`; with `hex` in those that "
      "end with `hex`. Bytes in a protobuf message are always base64, as in protobuf's mapping.")
      ->needs(json_flag);
}

namespace {

// Returns whether fields with these names are those of records with scalars.
bool has_scalars(const std::set<std::string>& names) {
  return std::ranges::any_of(names, [](std::string_view name) {
    return name.starts_with("summary.value.") || name.starts_with("history.item.") || name.starts_with("scalar.");
  });
}

}  // namespace

void report_absent(const FieldPaths* fields, CommandContext& context) {
  if (fields == nullptr || !context.output().good()) return;
  report_absent_names(fields->absent(), fields->names(), context);
  report_several(fields->several(), context);
}

void report_several(const std::vector<std::string>& names, CommandContext& context) {
  for (const std::string& name : names) {
    context.fail(kExitPartlyDone, fmt::format("{} names several columns, because names have dots", printable(name)));
  }
}

void report_absent_names(const std::vector<std::string>& absent, const std::set<std::string>& present,
                         CommandContext& context) {
  for (const std::string& path : absent) {
    std::string why = no_field(path, present);
    if (scalar_column(path) && has_scalars(present)) {
      why += "; columns of scalars are for --where, grep and export, without other fields";
    }
    context.fail(kExitPartlyDone, why);
  }
}

bool decodes(const FormOptions& form) { return form.form == RecordForm::kJson || form.condition != nullptr; }

void declare_form(CLI::App& app, FormOptions& form) {
  const auto choose = [&form](RecordForm wanted) {
    return [&form, wanted] {
      if (form.form != RecordForm::kBytes && form.form != wanted) {
        throw CLI::ValidationError("only one of --lines, --null, --delimited and --json can be given");
      }
      form.form = wanted;
    };
  };
  begin_group(app, "Output");
  app.add_flag_callback("--lines", choose(RecordForm::kLines), "write a newline after each record");
  app.add_flag_callback("--null", choose(RecordForm::kNull), "write a NUL byte after each record");
  app.add_flag_callback("--delimited", choose(RecordForm::kDelimited),
                        "write each record's length before it, as protobuf's delimited messages\n"
                        "The length is a varint.");
  auto* json_flag = app.add_flag_callback(
      "--json", choose(RecordForm::kJson),
      "write a line of JSON for each record: ordinal, size, text, decoded content\n"
      "The record is in `text`, or in `base64` if it is not UTF-8, and its decoded content in `decoded`, with the "
      "`type` of a protobuf message. A message whose type is unknown, or that cannot be decoded, has its `fields` by "
      "number, and the reason as `error`. If the ordinal is unknown, with `--split` and `@OFFSET/INDEX`, the object "
      "has `chunk` and `index` instead.");
  declare_json(app, form.json, json_flag);
  declare_types(
      app, form.types, [&form] { return form.form == RecordForm::kJson || form.condition; }, "--json and --where");
  app.add_flag("--skip-damage", form.skips_damage, "omit records that cannot be read, and continue (exit status 4)");
}

void declare_types(CLI::App& app, UserTypes& types, std::function<bool()> is_used, const std::string& of_what) {
  struct Given {
    std::string descriptors;  // a file
    std::string type;
  };
  const auto given = std::make_shared<Given>();
  declare_value(app, "--descriptors", "FILE", given->descriptors,
                "protobuf types of decoded records, written by protoc --descriptor_set_out\n"
                "Same as the mount option `descriptors`.");
  declare_value(app, "--type", "NAME", given->type,
                "full name of every record's message type; optional if FILE has only one\n"
                "Not needed for records that name the types of the messages in them. "
                "Same as the mount option `type`.");
  app.parse_complete_callback([given, &types, is_used = std::move(is_used), of_what] {
    if (given->descriptors.empty() && given->type.empty()) return;
    if (!is_used()) throw CLI::ValidationError("--descriptors and --type are for " + of_what);
    auto read = read_user_types(given->descriptors, given->type);
    if (!read) throw CLI::ValidationError(given->descriptors + ": " + read.error().detail);
    types = std::move(*read);
  });
}

void declare_random(CLI::App& app, RandomOptions& random) {
  declare_value(
      app, "--shuffle", "SEED", [&random](const std::string& text) { random.shuffle = number_of("--shuffle", text); },
      "write the records in a random order, which this number selects\n"
      "The same number gives the same order for a data set of as many records, on every machine. With "
      "`--sample`, the sample is in random order.");
  declare_sample(app, random,
                 "write N records, chosen at random, in ascending order\n"
                 "Each set of N records is as likely as any other, and none is written twice.");
}

CLI::Option* declare_sample(CLI::App& app, RandomOptions& random, const std::string& text) {
  auto* const sample = declare_value(
      app, "--sample", "N", [&random](const std::string& number) { random.sample = number_of("--sample", number); },
      text);
  declare_value(
      app, "--seed", "S", [&random](const std::string& number) { random.seed = number_of("--seed", number); },
      "selects the sample of --sample (default 0)")
      ->needs(sample);
  return sample;
}

}  // namespace recordfs
