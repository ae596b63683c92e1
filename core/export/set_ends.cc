#include "core/export/set_ends.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/dataset/selected_records.h"
#include "core/export/record_copier.h"
#include "core/export/set_copier.h"

namespace recordfs {
namespace {

// Copies the first or the last of the records that the condition selects.
bool copy_selected(const EndRecords& wanted, const FormOptions& form, SetReader& reader, Reporter& reporter,
                   TextOutput& output) {
  const auto records = static_cast<std::uint64_t>(wanted.records);
  SelectedWindow window;
  if (wanted.is_head ? wanted.sign != '-' : wanted.sign == '+') {
    (wanted.is_head ? window.most : window.skipped) =
        wanted.is_head ? records : std::max<std::uint64_t>(records, 1) - 1;
    if (window.most > 0) SetCopier(form, reader, reporter, output).copy(OrdinalRange{}, &window);
    return !window.was_full && window.most > 0;
  }
  if (records == 0 && !wanted.is_head) return false;
  OrdinalRange range;
  FormOptions second = form;
  if (records > 0) {
    second.condition = form.condition->renewed();  // the first pass finds all doubts
    LastSelected last(records);
    const SelectedFinder finder{
        .condition = form.condition, .types = form.types, .skips_damage = form.skips_damage, .reporter = reporter};
    if (!finder.each(reader, [&](OrdinalInterval run) { last.add(run); })) return false;
    const auto first = last.first();
    if (wanted.is_head && !first) return true;
    (wanted.is_head ? range.end.emplace() : range.begin) = static_cast<std::int64_t>(first.value_or(0));
  }
  SetCopier(second, reader, reporter, output).copy(range);
  return true;
}

}  // namespace

OrdinalRange EndRecords::range() const {
  if (is_head && sign != '-') return {.begin = 0, .end = records};
  if (is_head) return {.begin = 0, .end = records == 0 ? std::nullopt : std::optional(-records)};
  if (sign == '+') return {.begin = std::max<std::int64_t>(records, 1) - 1, .may_begin_after_end = true};
  // A negative bound cannot express zero records.
  return records == 0 ? OrdinalRange{.begin = 0, .end = 0} : OrdinalRange{.begin = -records};
}

std::uint64_t EndRecords::first_of(std::uint64_t all) const {
  const auto number = static_cast<std::uint64_t>(records);
  return sign == '+' ? std::max<std::uint64_t>(number, 1) - 1 : all - std::min(all, number);
}

bool copy_end(const EndRecords& wanted, const FormOptions& form, SetReader& reader, Reporter& reporter,
              TextOutput& output) {
  if (form.condition) return copy_selected(wanted, form, reader, reporter, output);
  SetCopier(form, reader, reporter, output).copy(wanted.range());
  return true;
}

bool copy_records(const std::string& path, const RecordStore& store, const OrdinalInterval& records,
                  const FormOptions& form, Reporter& reporter, TextOutput& output) {
  const auto begin = static_cast<std::int64_t>(records.begin);
  const auto selection = select({.begin = begin, .end = static_cast<std::int64_t>(records.end)}, store);
  if (!selection) return reporter.report_failure(path, selection.error()), false;
  const SetMember member{path, {std::shared_ptr<const void>(), &store}};  // not owned
  RecordCopier copier(member, form, reporter, output);
  const bool is_copied = copier.copy(PassPart{.store = store, .selection = *selection}).has_value();
  output.flush();
  return is_copied && output.good();
}

}  // namespace recordfs
