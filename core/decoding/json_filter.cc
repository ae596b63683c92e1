#include "core/decoding/json_filter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace recordfs {
namespace {

// Returns what is left of a path, each name of which follows a dot, after a member's name: empty if the path ends
// there; nullopt if it does not lead there. Names may be empty.
std::optional<std::string_view> rest_of(std::string_view path, std::string_view name) {
  if (path.empty() || !path.substr(1).starts_with(name)) return std::nullopt;
  path.remove_prefix(1 + name.size());
  return path.empty() || path.front() == '.' ? std::optional(path) : std::nullopt;
}

constexpr std::array<std::string_view, 3> kPlacesOfFeatures = {"features.feature", "context.feature",
                                                               "feature_lists.feature_list"};
constexpr std::string_view kKey = "key";
constexpr std::string_view kValue = "value";

// Returns whether what is left of a path to a map leads to the list of its entries, and not to the value of a key.
bool is_of_entries(std::string_view path) {
  return path.empty() || rest_of(path, kKey).has_value() || rest_of(path, kValue).has_value();
}

const FieldPaths& no_fields() {
  static const FieldPaths none({});
  return none;
}

}  // namespace

// Differs for each series of sizes of names, but for accidents.
std::uint64_t way_after(std::uint64_t way, std::string_view name) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  return std::max<std::uint64_t>((way + 1) * kFactor ^ name.size(), 1);
}

FieldPaths::FieldPaths(const std::vector<std::string>& paths)
    : fields_(paths), found_(std::make_unique<Found[]>(paths.size())) {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const std::string& path = fields_[field];
    paths_.push_back({"." + path, field, 1});
    const auto is_at = [&path](std::string_view place) {
      return path == place || path.starts_with(std::string(place) + ".");
    };
    if (std::ranges::any_of(kPlacesOfFeatures, is_at)) paths_in_examples_.push_back({"." + path, field, 1});
    std::uint64_t way = 1;
    for (const std::string_view place : kPlacesOfFeatures) {
      paths_in_examples_.push_back({"." + std::string(place) + "." + path, field, way++});
    }
  }
}

void FieldPaths::note(const std::vector<FoundField>& found) const {
  if (!has_searched_) has_searched_ = true;
  for (const FoundField& one : found) {
    Found& known = found_[one.field];
    auto& way = known.ways[one.is_in_example ? 1 : 0];
    std::uint64_t first = way;
    if (first == 0 && way.compare_exchange_strong(first, one.way)) continue;
    if (first != one.way && !known.has_several) known.has_several = true;
  }
}

std::vector<std::string> FieldPaths::absent() const {
  std::vector<std::string> absent;
  for (std::size_t field = 0; has_searched_ && field < fields_.size(); ++field) {
    const Found& found = found_[field];
    if (!found.is_declared && std::ranges::all_of(found.ways, [](const auto& way) { return way == 0; })) {
      absent.push_back(fields_[field]);
    }
  }
  return absent;
}

std::vector<std::string> FieldPaths::several() const {
  std::vector<std::string> several;
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    if (found_[field].has_several) several.push_back(fields_[field]);
  }
  return several;
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
  begin_record(false);
}

JsonFilter::JsonFilter(const FieldPaths& fields, ScalarSink& sink)
    : fields_(fields), form_(Form::kScalars), sink_(&sink) {
  begin_record(false);
}

JsonFilter::JsonFilter(ValueVisitor& visitor)
    : fields_(no_fields()), form_(Form::kScalars), sink_(nullptr), visitor_(&visitor) {}

void JsonFilter::begin_record(bool is_example) {
  if (visitor_ != nullptr) return visitor_->begin_record(is_example);
  is_example_ = is_example;
  const auto& paths = is_example ? fields_.paths_in_examples_ : fields_.paths_;
  rests_.clear();
  rests_.reserve(2 * paths.size());
  for (const auto& [names, field, way] : paths) rests_.push_back({names, field, way});
  paths_ = rests_.size();
  next_ = {0, paths_};
}

void JsonFilter::note_found(const Rest& rest) {
  constexpr std::ptrdiff_t kMostWays = 2;  // of a field: more make no difference
  const FoundField found{rest.field, rest.way, is_example_};
  if (std::ranges::find(found_, found) != found_.end()) return;
  if (std::ranges::count(found_, rest.field, &FoundField::field) < kMostWays) found_.push_back(found);
}

bool JsonFilter::leads_here() {
  if (!open_.empty() && open_.back().is_list()) next_ = open_.back().rests;
  for (std::size_t i = next_.begin; i < next_.end; ++i) {
    if (rests_[i].path.empty() && !rests_[i].is_inside) note_found(rests_[i]);
  }
  return next_.begin != next_.end;
}

void JsonFilter::note_elements() {
  if (!open_.empty() && open_.back().is_list() && open_.back().is_in_list) return;
  for (std::size_t i = next_.begin; i < next_.end; ++i) {
    if (rests_[i].path.empty() && !rests_[i].is_inside) sink_->note_element(rests_[i].field);
  }
}

void JsonFilter::add_rest(const Rest& rest, std::string_view name) {
  const auto path = rest_of(rest.path, name);
  if (path) rests_.push_back({*path, rest.field, way_after(rest.way, name)});
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
    if (is_again) continue;
    rest.is_inside ? sink_->take_inside(rest.field, value) : sink_->take(rest.field, value);
  }
  const bool is_in_list = !open_.empty() && open_.back().is_list();
  if (is_in_list || !std::holds_alternative<std::monostate>(value)) note_elements();
}

JsonFilter::Verdict JsonFilter::name(std::string_view name, const JsonMark& before) {
  if (visitor_ != nullptr) return visitor_->name(name), Verdict::kSkip;
  is_empty_ = false;
  if (skipped_ > 0 || (whole_ > 0 && writes_values())) return Verdict::kSkip;
  if (whole_ > 0) return Verdict::kWrite;
  before_ = before;
  if (open_.empty()) {
    is_other_ = name != "decoded";
    next_ = {0, paths_};
    return Verdict::kWrite;
  }
  open_.back().is_empty = false;
  const PathRests rests = open_.back().rests;
  const bool is_key = open_.back().shape == Shape::kEntries;
  rests_.resize(rests.end);
  for (std::size_t i = rests.begin; i < rests.end; ++i) {
    const Rest rest = rests_[i];
    if (is_key && is_of_entries(rest.path)) {
      if (form_ == Form::kMember) add_rest(rest, rest_of(rest.path, kKey) ? kKey : kValue);
    } else if (takes_scalars() && rest.path.empty()) {
      // Of an object that is wanted, all scalars are. Objects around the values of a feature are none of its elements.
      rests_.push_back({rest.path, rest.field, rest.way, !is_example_});
    } else {
      add_rest(rest, name);
    }
  }
  next_ = {rests.end, rests_.size()};
  return next_.begin == next_.end || form_ != Form::kMember ? Verdict::kSkip : Verdict::kWrite;
}

bool JsonFilter::is_selected(const JsonMark& before) {
  if (open_.empty() && is_other_) return true;
  if (!open_.empty() && open_.back().is_list()) {
    next_ = open_.back().rests;
    before_ = before;
  }
  bool has_end = false;
  for (std::size_t i = next_.begin; i < next_.end; ++i) {
    if (!rests_[i].path.empty()) continue;
    has_end = true;
    note_found(rests_[i]);
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

JsonFilter::Verdict JsonFilter::begin(Shape shape, const JsonMark& before) {
  if (visitor_ != nullptr) return visitor_->begin(shape == Shape::kList), Verdict::kSkip;
  const Verdict verdict = form_ != Form::kMember ? Verdict::kSkip : Verdict::kWrite;
  const bool is_skipped = skipped_ > 0;
  is_empty_ = shape == Shape::kObject && writes_values() && !is_example_;
  // All of a map was written as the list of its entries.
  if (!is_skipped && shape == Shape::kEntries && writes_values() && (whole_ > 0 || is_selected(before))) {
    ++skipped_;
    return Verdict::kSkip;
  }
  if (!is_skipped && takes_scalars() && leads_here()) {
    const bool is_in_list = !open_.empty() && open_.back().is_list();
    if (!is_example_ && (shape == Shape::kObject || (shape == Shape::kList && is_in_list))) note_elements();
    const bool is_object = !is_example_ && shape == Shape::kObject;
    for (std::size_t i = next_.begin; i < next_.end; ++i) {
      if (!rests_[i].path.empty() || rests_[i].is_inside) continue;
      if (is_object) sink_->note_object(rests_[i].field);
      if (shape == Shape::kList) sink_->note_list(rests_[i].field);
    }
    open_.push_back({next_, before_, shape, false, is_in_list, is_object});
    return verdict;
  }
  if (!is_skipped && !takes_scalars() && (whole_ > 0 || is_selected(before))) {
    ++whole_;
    return verdict;
  }
  if (!is_skipped && !takes_scalars() && next_.begin != next_.end) {
    open_.push_back({next_, before_, shape, false});
    return verdict;
  }
  ++skipped_;
  return Verdict::kSkip;
}

void JsonFilter::take_presence(const PathRests& rests) {
  for (std::size_t i = rests.begin; i < rests.end; ++i) {
    const Rest& rest = rests_[i];
    if (!rest.path.empty()) continue;
    rest.is_inside ? sink_->take_inside(rest.field, true) : sink_->take(rest.field, true);
  }
}

bool JsonFilter::note_presence(std::size_t text_size) {
  if (!is_empty_ || whole_ == 0 || skipped_ > 0) return false;
  values_.push_back(text_size);
  return true;
}

JsonFilter::Verdict JsonFilter::end() {
  if (visitor_ != nullptr) return visitor_->end(), Verdict::kSkip;
  is_empty_ = false;
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
  if (level.is_empty && takes_scalars()) take_presence(level.rests);
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
