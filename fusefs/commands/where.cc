#include "fusefs/commands/where.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/exit_status.h"

namespace recordfs {

void declare_where(CLI::App& app, ConditionPointer& condition) {
  declare_value(
      app, "--where", "CONDITION",
      [&condition](const std::string& text) {
        auto parsed = RecordCondition::parse(text);
        if (!parsed) throw CLI::ValidationError("--where", parsed.error().detail);
        condition = std::move(*parsed);
      },
      "only records whose fields meet a condition: 'label in (3, 5)'\n"
      "The manual explains conditions in a section of its own.");
}

void report_undecoded(std::string_view option, const UndecodedRecords::Summary& undecoded, std::string_view outcome,
                      CommandContext& context) {
  if (undecoded.records == 0 || !context.output().good()) return;
  const std::string what = undecoded.why != kNoObject ? fmt::format("cannot be decoded, {}", outcome)
                           : undecoded.records == 1   ? "has no columns"
                                                      : "have no columns";
  context.fail(kExitPartlyDone, fmt::format("{}: {} {}; the first is in {}, in the chunk at {}: {}", option,
                                            counted(undecoded.records, "record"), what, printable(undecoded.path),
                                            undecoded.chunk, printable(undecoded.why)));
}

void report_condition(const RecordCondition* condition, bool is_complete, CommandContext& context) {
  if (condition == nullptr || !context.output().good()) return;
  report_undecoded("--where", condition->undecoded(), "so the condition does not apply", context);
  report_terms(condition, is_complete, context);
}

void report_terms(const RecordCondition* condition, bool is_complete, CommandContext& context) {
  if (condition == nullptr || !is_complete || !context.output().good()) return;
  report_absent_names(condition->absent(), condition->present(), context);
  report_several(condition->several(), context);
  for (const std::string& term : condition->mismatched()) {
    context.fail(
        kExitPartlyDone,
        fmt::format("--where: {}: no value of this field has the type of what it is compared with", printable(term)));
  }
}

void report_counted(const std::string& name, const ColumnStatistics& columns, CommandContext& context) {
  if (columns.is_mixed()) {
    context.fail(kExitPartlyDone,
                 fmt::format("{}: some files have scalars, and others rows of their own (try: each kind alone)",
                             printable(name)));
  }
  if (!columns.has_too_many()) return;
  context.fail(kExitPartlyDone, fmt::format("{}: the records have more than {} columns, or too long names of columns",
                                            printable(name), ColumnVisitor::kMostColumns));
}

const ColumnStatistics* finish(const ColumnTotals& totals, const std::string& name, CommandContext& context) {
  const ColumnStatistics& columns = totals.columns();
  report_condition(totals.condition(), true, context);
  report_undecoded("--columns", totals.undecoded_records(), "so they have no columns", context);
  report_counted(name, columns, context);
  report_several({columns.several().begin(), columns.several().end()}, context);
  return columns.has_too_many() ? nullptr : &columns;
}

}  // namespace recordfs
