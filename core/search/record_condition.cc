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
      seen_(std::make_unique<Seen[]>(condition_->terms().size())) {}

Result<bool> RecordCondition::matches(const RequestContext& context, const RecordDecoder& decoder,
                                      const ChunkInfo& chunk, Bytes record, std::string_view path) const {
  ConditionEvaluation evaluation(*condition_);
  JsonFilter filter(fields_, evaluation);
  const auto visited = decoder.visit(context, chunk, record, filter);
  if (!visited) {
    if (!UndecodedRecords::is_of_record(visited.error().code)) return visited.error();
    undecoded_.note(chunk, path, visited.error());
    return false;
  }
  filter.finish();
  note_field_names(context, decoder, chunk, record, fields_);
  const bool is_match = evaluation.finish();
  note(evaluation.seen());
  return is_match;
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

}  // namespace recordfs
