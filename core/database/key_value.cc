#include "core/database/key_value.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/database/entry.h"
#include "core/database/merge_operator.h"

namespace recordfs::database {
namespace {

// Computes the value of one key from merge operands.
class Merge {
 public:
  Merge(const RequestContext& context, const std::shared_ptr<const State>& state, const FamilyView& family,
        const ValueWrites& writes, Bytes key)
      : context_(context), state_(state), family_(family), writes_(writes), key_(key) {}

  Result<Slice> run() {
    if (state_->is_recovered() && may_count_twice()) {
      return Error{.code = Code::kUnsupported,
                   .detail =
                       "merge operands in several files, which may be counted twice without the MANIFEST (try: "
                       "recordfs get --operands)"};
    }
    ASSIGN_OR_RETURN(const auto merging, find_operator());
    ASSIGN_OR_RETURN(const auto values, read_values());
    const bool has_base = !is_operand(writes_.back());
    std::vector<Bytes> operands;
    for (std::size_t i = has_base ? 1 : 0; i < values.size(); ++i) operands.push_back(values[i].bytes);
    const Bytes* const existing = has_base ? &values.front().bytes : nullptr;
    ASSIGN_OR_RETURN(auto merged, merging.merge(context_, existing, operands, limits().decoded_chunk));
    return owned(std::move(merged));
  }

 private:
  const Limits& limits() const { return state_->options().limits; }

  // Without a MANIFEST, the tables from which another one was made may still count. Returns whether an operand may be
  // part of another write, in a table: of a newer operand, since a compaction merges operands, or of an older value
  // with the number 0, which a compaction has set.
  bool may_count_twice() const {
    const auto has_other_operand = [&](std::size_t of, std::size_t first, std::size_t end) {
      return std::any_of(writes_.begin() + static_cast<std::ptrdiff_t>(first),
                         writes_.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const StoredWrite& write) { return is_operand(write) && write.file != writes_[of].file; });
    };
    const std::size_t last = writes_.size() - 1;
    const bool is_last_made = !is_operand(writes_[last]) && writes_[last].sequence == 0;
    if (is_last_made && has_other_operand(last, 0, last)) return true;
    const auto newest = std::ranges::find_if(writes_, [](const StoredWrite& write) { return write.logged == nullptr; });
    const auto index = static_cast<std::size_t>(newest - writes_.begin());
    return index < last && has_other_operand(index, index + 1, writes_.size());
  }

  // Returns the values of the writes, oldest first.
  Result<std::vector<Slice>> read_values() const {
    std::vector<Slice> values;
    std::uint64_t bytes = 0;
    for (std::size_t i = writes_.size(); i-- > 0;) {
      ASSIGN_OR_RETURN(auto value, value_of(context_, state_, writes_[i], key_));
      bytes += value.bytes.size();
      if (bytes > limits().decoded_chunk) {
        return Error{.code = Code::kLimit, .detail = "the merge operands exceed the limit"};
      }
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<MergeOperator> find_operator() const {
    const auto* const options = state_->options_file().family(family_.state.family.name);
    if (options != nullptr && !options->merge_operator.empty()) {
      return operator_of(options->merge_operator, state_->options_file().writes_delimiters);
    }
    for (const StoredWrite& write : writes_) {
      if (!write.merge_operator.empty()) return operator_of(write.merge_operator, false);
    }
    ASSIGN_OR_RETURN(const auto name, find_in_tables());
    return operator_of(name, false);
  }

  // Returns the name in one of the first tables of the family; empty: there is none.
  Result<std::string> find_in_tables() const {
    int left = 64;
    for (const Run& run : family_.runs) {
      for (const TableFile* file : run.tables) {
        if (left-- == 0) return std::string();
        ASSIGN_OR_RETURN(const auto table, state_->table(context_, *file));
        if (table && !table->properties().merge_operator.empty()) return table->properties().merge_operator;
      }
    }
    return std::string();
  }

  static Result<MergeOperator> operator_of(const std::string& text, bool writes_delimiters) {
    const auto known = MergeOperator::of(text, writes_delimiters);
    if (known) return *known;
    const std::string name(name_of_merge_operator(text));
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("a merge operand, which needs the database's merge operator{}{}",
                                       name.empty() ? "" : " ", name)};
  }

  const RequestContext& context_;
  const std::shared_ptr<const State>& state_;
  const FamilyView& family_;
  const ValueWrites& writes_;
  const Bytes key_;
};

}  // namespace

Error unread_error(Code cause) {
  const bool is_limit = cause == Code::kLimit;
  return {.code = cause,
          .detail = is_limit ? "a newer value may be in a part that exceeds the limits (try: --max-chunk)"
                             : "a newer value may be in a part that recordfs cannot read"};
}

void drop_merged_operands(ValueWrites& writes) {
  if (writes.size() < 2 || is_operand(writes.back())) return;
  const std::uint64_t merged = writes.back().sequence;
  std::erase_if(writes, [&](const StoredWrite& write) { return is_operand(write) && write.sequence == merged; });
}

ValueWrites value_writes_of(std::vector<StoredWrite> writes) {
  std::size_t count = 0;
  while (count < writes.size() && is_operand(writes[count])) ++count;
  const bool has_base = count < writes.size() && !deletes(operation_of(writes[count].type));
  writes.resize(has_base ? count + 1 : count);
  drop_merged_operands(writes);
  return writes;
}

Result<Slice> key_value_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                           const FamilyView& family, const ValueWrites& writes, Bytes key) {
  if (!is_operand(writes.front())) return value_of(context, state, writes.front(), key);
  return Merge(context, state, family, writes, key).run();
}

// A merge changes the default column of an entity.
Result<std::vector<Column>> key_columns_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                                           const FamilyView& family, const ValueWrites& writes, Bytes key) {
  ASSIGN_OR_RETURN(auto columns, columns_of(context, state, writes.back(), key));
  if (writes.back().type != kTypeEntity || writes.size() == 1) return columns;
  ASSIGN_OR_RETURN(auto value, key_value_of(context, state, family, writes, key));
  if (columns.empty() || !columns.front().name.empty()) columns.insert(columns.begin(), Column{});
  columns.front().value = std::move(value);
  return columns;
}

}  // namespace recordfs::database
