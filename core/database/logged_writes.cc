#include "core/database/logged_writes.h"

#include <algorithm>
#include <utility>

#include "core/database/entry.h"

namespace recordfs::database {
namespace {

const RangeDeletions kNone{};

}  // namespace

std::uint32_t LoggedWrites::add_log(std::string name) {
  logs_.push_back(std::move(name));
  return static_cast<std::uint32_t>(logs_.size() - 1);
}

Result<void> LoggedWrites::add(std::uint64_t sequence, const Pending& write) {
  OfFamily& of = families_[write.family];
  ++count_;
  if (!write.is_wanted) return {};
  const bool is_range = write.type == kTypeDeleteRange;
  std::uint64_t needed = write.key.size() + sizeof(LoggedWrite);
  if (is_range) needed += write.value.size();
  if (!write.is_value_in_memory) needed += sizeof(ValuePlace);
  if (needed > bounds_.key_bytes - used_) {
    return Error{.code = Code::kLimit, .detail = "the keys of the write-ahead logs exceed the memory limit"};
  }
  used_ += needed;
  if (is_range) {
    of.range_deletions.add({write.key, write.value, sequence});
    return {};
  }
  LoggedWrite added{.tag = sequence << 8 | write.type,
                    .key_begin = keys_.size(),
                    .value = write.is_value_in_memory ? values_.size() : places_.size(),
                    .value_size = write.value_size,
                    .key_size = static_cast<std::uint32_t>(write.key.size()),
                    .log = write.log,
                    .is_value_in_memory = write.is_value_in_memory};
  keys_ += write.key;
  if (write.is_value_in_memory) {
    values_ += write.value;
  } else {
    places_.push_back({write.place, write.value_begin});
  }
  of.writes.push_back(added);
  return {};
}

void LoggedWrites::sort(OfFamily& of, const KeyOrder& order, const SequenceRanges& hidden) const {
  if (!hidden.empty()) {
    of.range_deletions.hide(hidden);
    std::erase_if(of.writes, [&](const LoggedWrite& write) { return hidden.contains(write.tag >> 8); });
  }
  of.range_deletions.finish(order);
  // The values of blob files have no numbers. Of several files, the last one counts.
  std::ranges::stable_sort(of.writes, [&](const LoggedWrite& a, const LoggedWrite& b) {
    const auto by_key = order.compare(key(a), key(b));
    if (by_key != 0) return by_key < 0;
    return a.tag != b.tag ? a.tag > b.tag : log_name(a) > log_name(b);
  });
}

std::vector<std::uint32_t> LoggedWrites::families() const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, of] : families_) ids.push_back(id);
  return ids;
}

std::span<const LoggedWrite> LoggedWrites::of_family(std::uint32_t family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? std::span<const LoggedWrite>() : found->second.writes;
}

const RangeDeletions& LoggedWrites::range_deletions(std::uint32_t family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? kNone : found->second.range_deletions;
}

std::size_t LoggedWrites::find(std::uint32_t family, const KeyOrder& order, Bytes wanted, std::uint64_t tag) const {
  const auto writes = of_family(family);
  const auto first = std::ranges::partition_point(writes, [&](const LoggedWrite& write) {
    const auto by_key = order.compare(key(write), wanted);
    return by_key != 0 ? by_key < 0 : write.tag > tag;
  });
  return static_cast<std::size_t>(first - writes.begin());
}

Result<Slice> LoggedWrites::value(const RequestContext& context, OpenFiles& files, const LoggedWrite& write,
                                  const Limits& limits) const {
  if (write.is_value_in_memory) return Slice{value_in_memory(write), nullptr};
  const ValuePlace& place = places_[write.value];
  ASSIGN_OR_RETURN(auto source, files.open(log_name(write)));
  ASSIGN_OR_RETURN(const auto log, open_log(context, std::move(source), limits));
  ASSIGN_OR_RETURN(auto record, read_record(context, *log.container, place.record));
  if (place.begin > record.bytes.size() || write.value_size > record.bytes.size() - place.begin) {
    return Error{.code = Code::kChanged, .detail = "the log's record has changed"};
  }
  record.bytes = record.bytes.subspan(place.begin, write.value_size);
  return record;
}

}  // namespace recordfs::database
