#include "core/decoding/json_filter.h"

#include <algorithm>
#include <array>
#include <optional>

namespace recordfs {
namespace {

// Returns what is left of a path after a member's name: empty if the path ends there; nullopt if it does not lead
// there.
std::optional<std::string_view> rest_of(std::string_view path, std::string_view name) {
  if (!path.starts_with(name)) return std::nullopt;
  path.remove_prefix(name.size());
  if (path.empty()) return path;
  if (path.front() != '.' || path.size() == 1) return std::nullopt;
  return path.substr(1);
}

const FieldPaths& no_fields() {
  static const FieldPaths none({});
  return none;
}

}  // namespace

FieldPaths::FieldPaths(const std::vector<std::string>& paths)
    : fields_(paths), found_(std::make_unique<std::atomic<bool>[]>(paths.size())) {
  constexpr std::array kPlaces = {"", "features.feature.", "context.feature.", "feature_lists.feature_list."};
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    for (const char* place : kPlaces) paths_.push_back({place + fields_[field], field});
  }
}

void FieldPaths::note(const std::vector<std::size_t>& found) const {
  if (!has_searched_) has_searched_ = true;
  for (const std::size_t field : found) {
    if (!found_[field]) found_[field] = true;
  }
}

std::vector<std::string> FieldPaths::absent() const {
  std::vector<std::string> absent;
  for (std::size_t field = 0; has_searched_ && field < fields_.size(); ++field) {
    if (!found_[field]) absent.push_back(fields_[field]);
  }
  return absent;
}

bool FieldPaths::wants_names() const { return named_values_ < kNamedValues && !absent().empty(); }

void FieldPaths::note_names(std::set<std::string> names) const {
  const std::lock_guard lock(mutex_);
  ++named_values_;
  names_.merge(names);
}

std::set<std::string> FieldPaths::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

JsonFilter::JsonFilter(const FieldPaths& fields, Form form) : fields_(fields), form_(form), sink_(nullptr) {
  for (const auto& [names, field] : fields.paths_) rests_.push_back({names, field});
  next_ = {0, rests_.size()};
}

JsonFilter::JsonFilter(const FieldPaths& fields, ScalarSink& sink)
    : fields_(fields), form_(Form::kScalars), sink_(&sink) {
  rests_.reserve(2 * fields.paths_.size());
  for (const auto& [names, field] : fields.paths_) rests_.push_back({names, field});
  next_ = {0, rests_.size()};
}

JsonFilter::JsonFilter(ValueVisitor& visitor)
    : fields_(no_fields()), form_(Form::kScalars), sink_(nullptr), visitor_(&visitor) {}

void JsonFilter::note_found(std::size_t field) {
  if (std::ranges::find(found_, field) == found_.end()) found_.push_back(field);
}

bool JsonFilter::leads_here() {
  if (!open_.empty() && open_.back().is_list) next_ = open_.back().rests;
  for (std::size_t i = next_.begin; i < next_.end; ++i) {
    if (rests_[i].path.empty()) note_found(rests_[i].field);
  }
  return next_.begin != next_.end;
}

void JsonFilter::take(const Scalar& value) {
  if (visitor_ != nullptr) return visitor_->take(value);
  if (skipped_ > 0 || !leads_here()) return;
  for (std::size_t i = next_.begin; i < next_.end; ++i) {
    const Rest& rest = rests_[i];
    if (!rest.path.empty()) continue;
    // A path may end both here and at an object around this value.
    const bool is_again = std::any_of(
        rests_.begin() + static_cast<std::ptrdiff_t>(next_.begin), rests_.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const Rest& other) { return other.path.empty() && other.field == rest.field; });
    if (!is_again) sink_->take(rest.field, value);
  }
}

JsonFilter::Verdict JsonFilter::name(std::string_view name, const JsonMark& before) {
  if (visitor_ != nullptr) return visitor_->name(name), Verdict::kSkip;
  if (skipped_ > 0 || (whole_ > 0 && writes_values())) return Verdict::kSkip;
  if (whole_ > 0) return Verdict::kWrite;
  before_ = before;
  if (open_.empty()) {
    is_other_ = name != "decoded";
    next_ = {0, fields_.paths_.size()};
    return Verdict::kWrite;
  }
  const PathRests rests = open_.back().rests;
  rests_.resize(rests.end);
  for (std::size_t i = rests.begin; i < rests.end; ++i) {
    const Rest rest = rests_[i];
    if (takes_scalars() && rest.path.empty()) {
      rests_.push_back(rest);  // of an object that is wanted, all scalars are
    } else if (const auto path = rest_of(rest.path, name)) {
      rests_.push_back({*path, rest.field});
    }
  }
  next_ = {rests.end, rests_.size()};
  return next_.begin == next_.end || form_ != Form::kMember ? Verdict::kSkip : Verdict::kWrite;
}

bool JsonFilter::is_selected(const JsonMark& before) {
  if (open_.empty() && is_other_) return true;
  if (!open_.empty() && open_.back().is_list) {
    next_ = open_.back().rests;
    before_ = before;
  }
  bool has_end = false;
  for (std::size_t i = next_.begin; i < next_.end; ++i) {
    if (!rests_[i].path.empty()) continue;
    has_end = true;
    note_found(rests_[i].field);
  }
  if (has_end && !open_.empty()) open_.back().has_part = true;
  return has_end;
}

JsonFilter::Verdict JsonFilter::scalar(const JsonMark& before) {
  if (skipped_ > 0) return Verdict::kSkip;
  if (whole_ > 0 || is_selected(before)) {
    if (writes_values()) values_.push_back(before.size);
    return Verdict::kWrite;
  }
  if (writes_values() || next_.begin == next_.end) return Verdict::kSkip;
  return open_.empty() ? Verdict::kNull : Verdict::kUndo;
}

JsonFilter::Verdict JsonFilter::begin(bool is_list, const JsonMark& before) {
  if (visitor_ != nullptr) return visitor_->begin(is_list), Verdict::kSkip;
  const Verdict verdict = form_ != Form::kMember ? Verdict::kSkip : Verdict::kWrite;
  const bool is_skipped = skipped_ > 0;
  if (!is_skipped && takes_scalars() && leads_here()) {
    open_.push_back({next_, before_, is_list, false});
    return verdict;
  }
  if (!is_skipped && !takes_scalars() && (whole_ > 0 || is_selected(before))) {
    ++whole_;
    return verdict;
  }
  if (!is_skipped && !takes_scalars() && next_.begin != next_.end) {
    open_.push_back({next_, before_, is_list, false});
    return verdict;
  }
  ++skipped_;
  return Verdict::kSkip;
}

JsonFilter::Verdict JsonFilter::end() {
  if (visitor_ != nullptr) return visitor_->end(), Verdict::kSkip;
  const Verdict verdict = form_ != Form::kMember ? Verdict::kSkip : Verdict::kWrite;
  if (skipped_ > 0) {
    --skipped_;
    return Verdict::kSkip;
  }
  if (whole_ > 0) {
    --whole_;
    return verdict;
  }
  const Level level = open_.back();
  open_.pop_back();
  if (open_.empty() || form_ != Form::kMember) return verdict;
  if (level.has_part) {
    open_.back().has_part = true;
    return verdict;
  }
  before_ = level.before;
  return Verdict::kUndo;
}

void JsonFilter::save(JsonMark& mark) const {
  mark.has_part = !open_.empty() && open_.back().has_part;
  mark.next = next_;
  mark.open = open_.size();
  mark.whole = whole_;
  mark.skipped = skipped_;
  mark.found = found_.size();
  mark.values = values_.size();
}

void JsonFilter::take_back(const JsonMark& mark) {
  open_.resize(mark.open);
  if (!open_.empty()) open_.back().has_part = mark.has_part;
  next_ = mark.next;
  whole_ = mark.whole;
  skipped_ = mark.skipped;
  found_.resize(mark.found);
  values_.resize(mark.values);
}

}  // namespace recordfs
