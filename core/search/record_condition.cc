#include "core/search/record_condition.h"

#include <utility>

#include "core/decoding/field_names.h"

namespace recordfs {

Result<std::shared_ptr<const RecordCondition>> RecordCondition::parse(std::string_view text) {
  ASSIGN_OR_RETURN(auto condition, Condition::parse(text));
  return std::make_shared<const RecordCondition>(std::move(condition));
}

RecordCondition::RecordCondition(std::shared_ptr<const Condition> condition)
    : condition_(std::move(condition)),
      fields_(condition_->names()),
      scalars_(condition_->names()),
      seen_(std::make_unique<Seen[]>(condition_->terms().size())) {}

Result<bool> RecordCondition::matches(const RequestContext& context, const RecordDecoder& decoder,
                                      const ChunkInfo& chunk, Bytes record, const RecordFile& file) const {
  if (const auto source = scalars_.source(context, decoder, file.path_in_set))
    return matches_scalars(*source, chunk, record, file);
  ConditionEvaluation evaluation(*condition_);
  JsonFilter filter(fields_, evaluation);
  const auto visited = decoder.visit(context, chunk, record, filter);
  if (!visited) {
    if (!UndecodedRecords::is_of_record(visited.error().code)) return visited.error();
    undecoded_.note(chunk, file.path, visited.error());
    return false;
  }
  filter.finish();
  note_field_names(context, decoder, chunk, record, fields_);
  const bool is_match = evaluation.finish();
  note(evaluation.seen());
  return is_match;
}

Result<bool> RecordCondition::matches_scalars(ScalarSource source, const ChunkInfo& chunk, Bytes record,
                                              const RecordFile& file) const {
  const std::string run = run_of(source, file.path_in_set);
  for (std::size_t field = 0; field < fields_.fields().size(); ++field) fields_.declare(field);
  bool is_match = false;
  const auto take = [&](const ScalarRow& scalar) {
    is_match = evaluate(run, scalar) == Truth::kTrue || is_match;
    return Result<void>();
  };
  const auto leave_out = [&](const ScalarRow& scalar) {
    const Truth truth = evaluate(run, scalar);
    is_match = truth == Truth::kTrue || is_match;
    if (truth == Truth::kUnknown) undecoded_.note(chunk, file.path, *scalar.unfit);
  };
  const auto skip = [&](const ScalarRow& scalar) { is_match = evaluate(run, scalar) == Truth::kTrue || is_match; };
  const auto read = each_scalar(source, record, {.take = take, .leave_out = leave_out, .skip = skip});
  if (!read && !UndecodedRecords::is_of_record(read.error().code)) return read.error();
  if (!read) undecoded_.note(chunk, file.path, read.error());
  return is_match && read;
}

bool RecordCondition::matches(std::string_view run, const ScalarRow& scalar) const {
  return !scalars_.are_columns() || evaluate(run, scalar) == Truth::kTrue;
}

Condition::Truth RecordCondition::evaluate(std::string_view run, const ScalarRow& scalar) const {
  ConditionEvaluation evaluation(*condition_);
  fields_.note(scalars_.pass(run, scalar, evaluation));
  const Truth truth = evaluation.finish(scalars_.unknown_field(scalar));
  note(evaluation.seen());
  return truth;
}

void RecordCondition::note(const std::vector<ConditionEvaluation::Seen>& seen) const {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].comparable && !seen_[i].comparable) seen_[i].comparable = true;
    if (seen[i].other && !seen_[i].other) seen_[i].other = true;
  }
}

std::vector<std::string> RecordCondition::mismatched() const {
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < condition_->terms().size(); ++i) {
    if (seen_[i].other && !seen_[i].comparable) sources.push_back(condition_->terms()[i].source);
  }
  return sources;
}

std::function<bool(std::string_view run, const ScalarRow& scalar)> scalar_selector(ConditionPointer condition) {
  if (condition == nullptr) return {};
  return [condition = std::move(condition)](std::string_view run, const ScalarRow& scalar) {
    return condition->matches(run, scalar);
  };
}

}  // namespace recordfs
