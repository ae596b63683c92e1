// The option --where, and what was doubtful about its condition.
#pragma once

#include <string>
#include <string_view>

#include "core/dataset/column_totals.h"
#include "core/search/record_condition.h"
#include "core/search/undecoded_records.h"
#include "fusefs/commands/command_context.h"

namespace CLI {
class App;
}

namespace recordfs {

// Declares --where in the present group. `condition` must outlive the parsing.
void declare_where(CLI::App& app, ConditionPointer& condition);

// Prints and notes how many records could not be decoded for an option, and what that means, or that they have no
// columns, since their values are no objects.
void report_undecoded(std::string_view option, const UndecodedRecords::Summary& undecoded, std::string_view outcome,
                      CommandContext& context);

// Prints and notes the doubts about the result of a condition: names that no record has, comparisons with values of
// another type, and records that cannot be decoded. `is_complete`: all records of the command were read; otherwise the
// others may have had the names. `condition` may be null.
void report_condition(const RecordCondition* condition, bool is_complete, CommandContext& context);

// The same without records that cannot be decoded.
void report_terms(const RecordCondition* condition, bool is_complete, CommandContext& context);

// Prints and notes that there are too many columns, or those of scalars and of whole records. `name`: of the file or
// set.
void report_counted(const std::string& name, const ColumnStatistics& columns, CommandContext& context);

// Prints and notes the doubts about what was counted. Returns null after printing it if there are too many columns.
const ColumnStatistics* finish(const ColumnTotals& totals, const std::string& name, CommandContext& context);

}  // namespace recordfs
