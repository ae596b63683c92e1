#include "core/columns/column_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

// Bits of ColumnSummary::types_.
constexpr unsigned kBoolBit = 1, kSignedBit = 2, kUnsignedBit = 4, kFloatBit = 8, kDoubleBit = 16, kTextBit = 32,
                   kBytesBit = 64;
constexpr unsigned kNegativeBit = 128, kInexactBit = 256;  // integers below 0, and such that no double may be
constexpr unsigned kNarrowBit = 512;                       // integers are declared to have 32 bits
constexpr unsigned kNumberBits = kSignedBit | kUnsignedBit | kFloatBit | kDoubleBit;
constexpr std::uint64_t kMostExactInteger = std::uint64_t{1} << 53;

struct TypeBits {
  unsigned operator()(bool) const { return kBoolBit; }
  unsigned operator()(std::int64_t number) const {
    const bool is_negative = number < 0;
    const auto size =
        is_negative ? std::uint64_t{0} - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    return kSignedBit | (is_negative ? kNegativeBit : 0) | (size > kMostExactInteger ? kInexactBit : 0);
  }
  unsigned operator()(std::uint64_t number) const {
    return kUnsignedBit | (number > kMostExactInteger ? kInexactBit : 0);
  }
  unsigned operator()(float) const { return kFloatBit; }
  unsigned operator()(double) const { return kDoubleBit; }
  unsigned operator()(const ColumnText& text) const { return text.are_bytes ? kBytesBit : kTextBit; }
};

bool is_nan(const ColumnValue& value) {
  if (const auto* const number = std::get_if<float>(&value.is)) return std::isnan(*number);
  const auto* const number = std::get_if<double>(&value.is);
  return number != nullptr && std::isnan(*number);
}

// Returns the type that all numbers have.
unsigned joined_numbers(unsigned types) {
  if ((types & kSignedBit) != 0 && (types & kUnsignedBit) != 0 && (types & kNegativeBit) == 0) types &= ~kSignedBit;
  if ((types & kDoubleBit) != 0 && (types & kInexactBit) == 0) types &= ~(kSignedBit | kUnsignedBit);
  return types;
}

// Notes what the types of fields say, whose messages nest as deeply as SchemaLimits allows.
void declare_fields(const std::vector<MessageField>& fields, const std::string& parent, ColumnStatistics& columns) {
  constexpr std::array kNarrow = {FieldType::kInt32, FieldType::kSint32, FieldType::kSfixed32, FieldType::kUint32,
                                  FieldType::kFixed32};
  for (const MessageField& field : fields) {
    const std::string path = parent.empty() ? field.name : parent + "." + field.name;
    if (std::ranges::find(kNarrow, field.type) != kNarrow.end()) columns.declare_32_bits(path);
    if (!field.fields.empty()) columns.declare_message(path);
    declare_fields(field.fields, path, columns);
  }
}

}  // namespace

bool ColumnSummary::has_32_bits() const {
  const unsigned integers = types_ & (kNumberBits | kBoolBit | kTextBit | kBytesBit);
  if ((types_ & kNarrowBit) == 0) return false;
  if (integers == kUnsignedBit) return compare(*maximum_, {std::uint64_t{UINT32_MAX}}) <= 0;
  return integers == kSignedBit && compare(*minimum_, {std::int64_t{INT32_MIN}}) >= 0 &&
         compare(*maximum_, {std::int64_t{INT32_MAX}}) <= 0;
}

std::string ColumnSummary::type() const {
  struct Word {
    unsigned type;
    const char* word;
  };
  constexpr std::array<Word, 7> kWords = {{{kBoolBit, "bool"},
                                           {kSignedBit, "int64"},
                                           {kUnsignedBit, "uint64"},
                                           {kFloatBit, "float32"},
                                           {kDoubleBit, "float64"},
                                           {kTextBit, "str"},
                                           {kBytesBit, "bytes"}}};
  const unsigned types = joined_numbers(types_);
  if (has_32_bits()) return types_ & kSignedBit ? "int32" : "uint32";
  std::string text;
  for (const auto& [type, word] : kWords) {
    if ((types & type) != 0) text += (text.empty() ? "" : " or ") + std::string(word);
  }
  return text;
}

bool ColumnSummary::is_ordered() const {
  const std::array kinds = {types_ & kBoolBit, types_ & kNumberBits, types_ & kTextBit, types_ & kBytesBit};
  return std::ranges::count_if(kinds, [](unsigned kind) { return kind != 0; }) == 1;
}

std::optional<double> ColumnSummary::mean_size() const {
  if (texts_ == 0) return std::nullopt;
  return static_cast<double>(bytes_) / static_cast<double>(texts_);
}

void ColumnSummary::widen(const ColumnValue& value) {
  if (is_nan(value)) return;
  if (!minimum_ || compare(value, *minimum_) < 0) minimum_ = value;
  if (!maximum_ || compare(value, *maximum_) > 0) maximum_ = value;
}

void ColumnSummary::limit_counts(std::size_t most_distinct) {
  has_many_ = has_many_ || counts_.size() > most_distinct;
  if (has_many_) counts_.clear();
}

void ColumnSummary::note_element(std::uint64_t record) {
  if (last_record_ == record) {
    ++elements_;
  } else {
    early_elements_ = early_record_ == record ? early_elements_ + 1 : 1;
    early_record_ = record;
  }
}

void ColumnSummary::add(std::optional<ColumnValue> value, const ColumnVisitor::Place& place, std::uint64_t record,
                        std::size_t most_distinct) {
  is_list_ = is_list_ || place.is_in_list;
  occurs_ = true;
  if (place.is_element) note_element(record);
  if (!value) return;
  is_leaf_ = is_leaf_ || !place.is_object;
  is_list_ = is_list_ || last_record_ == record;
  if (last_record_ != record) {
    ++records_;
    if (early_record_ == record) elements_ += early_elements_;
  }
  last_record_ = record;
  ++values_;
  types_ |= std::visit(TypeBits(), value->is);
  if (const auto* const text = std::get_if<ColumnText>(&value->is)) {
    ++texts_;
    bytes_ += text->size;
  }
  widen(*value);
  if (has_many_) return;
  ++counts_[std::move(*value)];
  limit_counts(most_distinct);
}

void ColumnSummary::add(const ColumnSummary& other, std::size_t most_distinct) {
  occurs_ = occurs_ || other.occurs_;
  is_list_ = is_list_ || other.is_list_;
  is_leaf_ = is_leaf_ || other.is_leaf_;
  is_message_ = is_message_ || other.is_message_;
  elements_ += other.elements_;
  types_ |= other.types_;
  records_ += other.records_;
  values_ += other.values_;
  texts_ += other.texts_;
  bytes_ += other.bytes_;
  if (other.minimum_) widen(*other.minimum_);
  if (other.maximum_) widen(*other.maximum_);
  has_many_ = has_many_ || other.has_many_;
  for (auto at = other.counts_.begin(); at != other.counts_.end() && !has_many_; ++at) {
    counts_[at->first] += at->second;
    limit_counts(most_distinct);
  }
  limit_counts(most_distinct);
}

std::size_t ColumnCounter::most_distinct(std::size_t columns) {
  return std::min(ColumnSummary::kMostDistinct, kMostKept / std::max<std::size_t>(columns, 1));
}

void ColumnCounter::count_scalar(std::string_view run, const ScalarRow& scalar) {
  use_ = Use::kCount;
  has_scalars_ = true;
  ++records_;
  restart();
  begin(false);
  const auto member = [this](std::string_view name, const Scalar& value) {
    this->name(name);
    take(value);
  };
  member("run", run);
  if (scalar.step) member("step", *scalar.step);
  if (scalar.wall_time) member("wall_time", *scalar.wall_time);
  member("tag", std::string_view(scalar.tag));
  member("value", scalar.value);
  end();
  count_objects();
}

Result<void> ColumnCounter::count_scalars(ScalarSource source, Bytes record, std::string_view path_in_set,
                                          const SelectScalar& selects) {
  const std::string run = run_of(source, path_in_set);
  std::vector<ScalarRow> rows;
  std::optional<Error> left_out;
  const auto take = [&](const ScalarRow& scalar) {
    if (!selects || selects(run, scalar)) rows.push_back(scalar);
    return Result<void>();
  };
  const auto leave_out = [&](const ScalarRow& scalar) {
    if (!left_out && (!selects || selects(run, scalar))) left_out = *scalar.unfit;
  };
  TRY(each_scalar(source, record, {.take = take, .leave_out = leave_out}));
  for (const ScalarRow& scalar : rows) count_scalar(run, scalar);
  return left_out ? Result<void>(std::move(*left_out)) : Result<void>();
}

Result<void> ColumnCounter::count(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                                  Bytes record, std::string_view path_in_set, const SelectScalar& selects) {
  ASSIGN_OR_RETURN(const auto type, decoder.type(context));
  if (const auto source = scalar_source(type)) return count_scalars(*source, record, path_in_set, selects);
  JsonFilter filter(*this);
  use_ = Use::kGather;
  pending_.clear();
  restart();
  TRY(decoder.visit(context, chunk, record, filter));
  if (has_unnamed()) return Error{.code = Code::kNotFound, .detail = std::string(kNoObject)};
  if (!filter.beyond().empty()) {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("the number {} is out of range", printable(filter.beyond()))};
  }
  ++records_;
  has_rows_ = true;
  count_objects();
  if (use_ == Use::kIgnore) {
    use_ = Use::kCount;
    restart(false);
    return decoder.visit(context, chunk, record, filter);
  }
  const std::size_t most = most_distinct(names().size());
  for (Pending& one : pending_) summaries_[one.column].add(std::move(one.value), one.place, records_, most);
  return {};
}

void ColumnCounter::take_value(std::size_t column, const Place& place, const Scalar& value) {
  if (use_ == Use::kIgnore) return;
  if (summaries_.size() <= column) summaries_.resize(column + 1);
  ColumnSummary& summary = summaries_[column];
  std::optional<ColumnValue> kept;
  if (!std::holds_alternative<std::monostate>(value)) kept = column_value(value, !summary.has_many_);
  if (use_ == Use::kCount) {
    summary.add(std::move(kept), place, records_, most_distinct(names().size()));
  } else if (pending_.size() < kMostPending) {
    pending_.push_back({.column = column, .place = place, .value = std::move(kept)});
  } else {
    use_ = Use::kIgnore;
    pending_.clear();
  }
}

void ColumnStatistics::add(std::string_view name, const ColumnSummary& summary, std::uint64_t way) {
  if (!summary.occurs_ || several_.contains(name)) return;
  auto known = columns_.find(name);
  if (known == columns_.end()) {
    if (columns_.size() == ColumnVisitor::kMostColumns) {
      has_too_many_ = true;
      return;
    }
    known = columns_.emplace(name, ColumnSummary()).first;
    known->second.way_ = way;
    if (const auto objects = objects_.extract(known->first)) known->second.records_ = objects.mapped();
  }
  if (way == 0 || known->second.way_ != way) {
    several_.emplace(name);
    columns_.erase(known);
    return;
  }
  known->second.add(summary, most_distinct());
}

void ColumnStatistics::add_objects(std::string_view name, std::uint64_t records) {
  if (const auto known = columns_.find(name); known != columns_.end()) {
    known->second.records_ += records;
  } else if (const auto waiting = objects_.find(name); waiting != objects_.end()) {
    waiting->second += records;
  } else if (objects_.size() < ColumnVisitor::kMostColumns) {
    objects_.emplace(name, records);
  } else {
    has_too_many_ = true;
  }
}

void ColumnStatistics::limit() {
  for (auto& [name, summary] : columns_) summary.limit_counts(most_distinct());
}

void ColumnStatistics::declare_32_bits(std::string_view name) {
  const auto known = columns_.find(name);
  if (known != columns_.end()) known->second.types_ |= kNarrowBit;
}

void ColumnStatistics::declare_message(std::string_view name) {
  const auto known = columns_.find(name);
  if (known != columns_.end()) known->second.is_message_ = true;
}

std::vector<const NamedColumn*> ColumnStatistics::columns() const {
  std::vector<const NamedColumn*> all;
  all.reserve(columns_.size());
  for (const NamedColumn& named : columns_) {
    const std::string inside = named.first + ".";
    const auto next = columns_.lower_bound(inside);
    const bool has_columns = named.second.is_message_ || (next != columns_.end() && next->first.starts_with(inside));
    if (named.second.is_leaf_ || !has_columns) all.push_back(&named);
  }
  return all;
}

void ColumnStatistics::add(const ColumnCounter& counter) {
  records_ += counter.records_;
  has_scalars_ = has_scalars_ || counter.has_scalars_;
  has_rows_ = has_rows_ || counter.has_rows_;
  has_too_many_ = has_too_many_ || counter.has_too_many();
  for (std::size_t i = 0; i < counter.summaries_.size(); ++i)
    add(counter.names()[i], counter.summaries_[i], counter.way(i));
  counter.each_object([this](std::string_view name, std::uint64_t records) { add_objects(name, records); });
  limit();
}

void ColumnStatistics::add(const ColumnStatistics& other) {
  records_ += other.records_;
  has_scalars_ = has_scalars_ || other.has_scalars_;
  has_rows_ = has_rows_ || other.has_rows_;
  has_too_many_ = has_too_many_ || other.has_too_many_;
  for (const std::string& name : other.several_) {
    several_.insert(name);
    columns_.erase(name);
  }
  for (const auto& [name, summary] : other.columns_) add(name, summary, summary.way_);
  for (const auto& [name, records] : other.objects_) add_objects(name, records);
  limit();
}

void declare_types_of(const std::shared_ptr<const RecordStore>& store, const UserTypes& types,
                      ColumnStatistics& columns) {
  RowSources sources;
  sources.open = [&store](const RequestContext&, std::size_t) -> Result<std::shared_ptr<const RecordStore>> {
    return store;
  };
  sources.types = types;
  sources.first_records = [](const RequestContext&) -> Result<std::vector<DefiningRecord>> {
    return std::vector<DefiningRecord>();
  };
  const auto schema = RowSchema::find({}, sources);
  if (schema) declare_fields((*schema)->root().fields, {}, columns);
}

}  // namespace recordfs
