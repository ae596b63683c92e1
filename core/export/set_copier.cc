#include "core/export/set_copier.h"

#include <algorithm>

#include <fmt/format.h>

namespace recordfs {

bool SetCopier::copy(const std::variant<OrdinalRange, RecordAddress>& records) {
  if (const auto* const address = std::get_if<RecordAddress>(&records)) return copy_at(*address);
  return copy(std::get<OrdinalRange>(records));
}

bool SetCopier::copy(const OrdinalRange& range, SelectedWindow* window) {
  return reader_.each(range, [&](const SetMember& member, const Selection& selection) {
    if (range.is_one) return copy_one(member, selection);
    RecordCopier copier(member, form_, reporter_, output_);
    if (window != nullptr) copier.keep_only(*window);
    return copier.copy(PassPart{.store = *member.store, .selection = selection});
  });
}

std::optional<std::uint64_t> SetCopier::copy_one(const SetMember& member, Selection selection) {
  RecordCopier& copier = copier_of(member);
  if (selection.records.begin > 0) return copier.copy_one(selection);
  selection.from.reset();  // damage before the first record belongs to it, as it does to a range that begins there
  return copier.copy(PassPart{.store = *member.store, .selection = selection});
}

bool SetCopier::copy(const Split& split, const std::function<void()>& begin_first) {
  const auto shard = split.shard.empty() ? std::optional(std::size_t{0}) : reader_.set().find_shard(split.shard);
  if (split.begin == 0 && shard == reader_.first_present()) begin_first();
  const auto member = reader_.member(split.shard);
  return member && copy(*member, split);
}

bool SetCopier::copy(const SetPart& part, const std::function<void()>& begin_first) {
  const auto sizes = shard_sizes(reader_.set());
  if (!sizes) {
    reporter_.fail(Impact::kUnopened, sizes.error().detail);
    return false;
  }
  if (part.check && *part.check != check_of(reader_.set(), *sizes)) {
    reporter_.fail(Impact::kIncomplete,
                   fmt::format("{}: the names or sizes of files have changed since this split was made: {}",
                               reader_.name(), part_id(part)));
    return false;
  }
  if (part.number == 0) begin_first();
  return std::ranges::all_of(ranges_of(part, *sizes), [&](const ShardRange& range) {
    const auto member = reader_.member(range.shard, 0);
    if (!member) return reader_.allows_missing();
    return copy(*member, {.begin = range.begin, .end = range.end});
  });
}

bool SetCopier::copy(const SetMember& member, const Split& split) {
  return RecordCopier(member, form_, reporter_, output_)
      .copy(PassPart{.store = *member.store, .split = split})
      .has_value();
}

bool SetCopier::copy_at(const RecordAddress& address) {
  const auto member = reader_.member(address.shard);
  if (!member) return true;
  RecordCopier& copier = copier_of(*member);
  const auto record = find(copier.context(), address, *member->store);
  if (record) return copier.copy_one(*record, std::nullopt);
  reporter_.report_failure(member->path, record.error());
  return true;
}

RecordCopier& SetCopier::copier_of(const SetMember& member) {
  const bool is_same =
      last_ && last_->member.store == member.store && last_->member.first_ordinal == member.first_ordinal;
  if (!is_same) last_ = std::make_unique<Opened>(member, form_, reporter_, output_);
  return last_->copier;
}

}  // namespace recordfs
