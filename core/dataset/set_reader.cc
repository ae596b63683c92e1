#include "core/dataset/set_reader.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/base/storage.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/source_spec.h"
#include "core/store/damage_log.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Finds the ordinal of the record at an address, which takes a scan. Fails as find() and ChunkIndex::place_of().
Result<Selection> select_at(const RecordAddress& address, const RecordStore& store) {
  ASSIGN_OR_RETURN(const auto record, find({}, address, store));
  ASSIGN_OR_RETURN(auto indexed, wait_for([&] { return store.index().place_of({}, record.chunk); }));
  const std::uint64_t ordinal = indexed.before.records + record.index;
  return Selection{.records = {.begin = ordinal, .end = ordinal + 1}, .from = std::move(indexed)};
}

}  // namespace

SetReader::SetReader(std::string name, ShardList list, bool allows_missing, Reporter& reporter, OpenShard open,
                     KnownCounts counts)
    : name_(std::move(name)), allows_missing_(allows_missing), reporter_(reporter), surplus_(std::move(list.surplus)) {
  set_.emplace(std::move(list), std::move(open),
               DataSet::Bounds{.threads = reporter.threads(), .skips_all_failures = allows_missing}, std::move(counts));
}

SetReader::SetReader(std::string path, std::shared_ptr<const RecordStore> store, bool allows_missing,
                     Reporter& reporter)
    : name_(std::move(path)), allows_missing_(allows_missing), reporter_(reporter), only_(std::move(store)) {}

DataSet& SetReader::set() {
  if (!set_) {
    const auto open = [store = only_](const RequestContext&, std::size_t, const Shard&) { return Result(store); };
    set_.emplace(ShardList{.shards = {{.path = name_}}}, open,
                 DataSet::Bounds{.threads = reporter_.threads(), .skips_all_failures = allows_missing_});
  }
  return *set_;
}

void SetReader::report(std::size_t shard, const Error& error) {
  if (!reported_.insert(shard).second || set().shard(shard).is_missing) return;
  reporter_.report_unopened(set().shard(shard).path, error);
}

void SetReader::report_absent_files() {
  for (std::size_t shard = 0; shard < set().size(); ++shard) {
    if (shard % kAskedTogether == 0) ask_about(shard);
    const Shard& named = set().shard(shard);
    if (named.is_missing || named.path == kStandardInput) continue;
    const Location location(named.path);
    if (location.is_local() ? ::access(named.path.c_str(), R_OK) == 0 : status_of({}, location).has_value()) continue;
    if (const auto store = set().open({}, shard); !store) report(shard, store.error());
  }
}

// Asks servers about the shards from `first` on.
void SetReader::ask_about(std::size_t first) {
  std::vector<std::string> paths;
  const std::size_t end = std::min(set().size(), first + kAskedTogether);
  for (std::size_t shard = first; shard < end; ++shard) {
    if (const Shard& named = set().shard(shard); !named.is_missing) paths.push_back(named.path);
  }
  ask_together(paths);
}

// The detail begins with the path of the shard.
void SetReader::report_uncounted(const Error& error) {
  const bool is_reported = std::ranges::any_of(
      reported_, [&](std::size_t shard) { return error.detail.starts_with(set().shard(shard).path + ": "); });
  if (!is_reported) reporter_.fail(Impact::kNone, error.detail);
  if (error.code == Code::kIo) return reporter_.note(Impact::kUnopened);
  reporter_.note(error);
}

// Reports why shards before `end` have no records. Returns whether the command continues.
bool SetReader::report_unopened(std::size_t end) {
  const auto failed = set().failed_shards();
  for (const std::size_t shard : failed) {
    if (shard >= end) break;
    report(shard, *set().failure(shard));
  }
  return allows_missing_ || failed.empty() || failed.front() >= end;
}

// Reports damage in shards that were counted for the place of a record, which depends on it. Counting reports none,
// because it may be ahead of what is asked for.
void SetReader::report_damage_before(std::size_t shard) {
  for (; reported_before_ < shard; ++reported_before_) {
    const auto counts = set().counts(reported_before_);
    if (!counts || counts->damaged_regions == 0) continue;
    const auto opened = member(reported_before_, counts->first_ordinal);
    if (!opened) continue;
    const auto rows = wait_for([&] { return opened->store->index().damage(); });
    if (!rows) continue;
    for (const DamageRow& row : **rows) {
      if (row.region.damage_class != DamageClass::kUnfinished) continue;
      // The log leaves these out.
      reporter_.fail(Impact::kNone, fmt::format("{}: {}", opened->path, damage_line(row.region)));
    }
  }
}

std::optional<SetMember> SetReader::member(std::size_t shard, std::uint64_t first_ordinal) {
  if (only_) return member(shard, only_, first_ordinal);
  auto store = set_->open({}, shard);
  if (!store) {
    report(shard, store.error());
    return std::nullopt;
  }
  return member(shard, std::move(*store), first_ordinal);
}

SetMember SetReader::member(std::size_t shard, std::shared_ptr<const RecordStore> store,
                            std::uint64_t first_ordinal) const {
  if (only_) return {.path = name_, .store = std::move(store), .first_ordinal = first_ordinal};
  const Shard& named = set_->shard(shard);
  return {named.path, std::move(store), has_one_shard() ? std::string() : std::string(set_->name(shard)), first_ordinal,
          named.bytes_in_set};
}

std::optional<SetMember> SetReader::member(const std::string& shard, bool is_counted) {
  auto found = shard.empty() ? std::nullopt : set().find_shard(shard);
  if (shard.empty() && has_one_shard()) found = 0;
  if (!found) {
    reporter_.fail(Impact::kIncomplete,
                   shard.empty() ? fmt::format("{}: several files, so an address is SHARD:@OFFSET/INDEX", name_)
                                 : fmt::format("{}: no shard {}", name_, shard));
    return std::nullopt;
  }
  // A shard that is named is wanted, whatever is allowed to be missing.
  if (set().shard(*found).is_missing) {
    reporter_.note(Impact::kDamage);
    return std::nullopt;
  }
  if (!is_counted || *found == 0) return member(*found, 0);
  const auto counts = wait_for([&] { return set().counts(*found); });
  if (!counts) {
    report_uncounted(counts.error());
    return std::nullopt;
  }
  if (!report_unopened(*found)) return std::nullopt;
  report_damage_before(*found);
  return member(*found, counts->first_ordinal);
}

std::size_t SetReader::first_present() {
  std::size_t shard = 0;
  while (shard < set().size() && set().shard(shard).is_missing) ++shard;
  return shard;
}

std::optional<std::uint64_t> SetReader::records() {
  const auto totals = wait_for([&] { return set().totals(); });
  if (!totals) {
    report_uncounted(totals.error());
    return std::nullopt;
  }
  if (!report_unopened(set().size())) return std::nullopt;
  report_damage_before(set().size());
  return totals->records;
}

void SetReader::report_damage(std::uint64_t first) {
  const std::uint64_t end = std::exchange(reported_from_, std::min(first, reported_from_));
  if (first >= end) return;
  for (std::size_t shard = 0; shard < set().size(); ++shard) {
    const auto counts = wait_for([&] { return set().counts(shard); });
    if (!counts) return report_uncounted(counts.error());
    if (counts->damaged_regions == 0 || counts->first_ordinal + counts->records < first) continue;
    const auto opened = member(shard, counts->first_ordinal);
    if (!opened) continue;
    const auto rows = wait_for([&] { return opened->store->index().damage(); });
    if (!rows) {
      reporter_.report_failure(opened->path, rows.error());
      continue;
    }
    DamageReporter damage(opened->path, *opened->store, reporter_);
    for (const DamageRow& row : **rows) {
      const std::uint64_t ordinal = counts->first_ordinal + row.first_ordinal;
      if (ordinal < first || ordinal >= end) continue;
      if (row.region.damage_class == DamageClass::kUnfinished && shard < reported_before_) {
        reporter_.note(row.region);
      } else {
        damage.add(row.region);
      }
    }
  }
}

void SetReader::report_damage_after(const OrdinalRange& range, const OrdinalInterval& read) {
  if (range.counts_from_end()) {
    report_damage(read.end);
  } else if (read.is_empty() && !span_of(range, 0).is_empty()) {
    report_damage(read.begin);
  }
}

void SetReader::report_unselected(const std::string& path, const Error& error) {
  reporter_.report_failure(path, error);
  if (error.code != Code::kNotFound) return;
  if (const auto records = this->records()) report_damage(*records);
}

std::optional<OrdinalInterval> SetReader::resolve(const OrdinalRange& range) {
  if (!range.counts_from_end()) return span_of(range, 0);
  const auto records = this->records();
  if (!records) return std::nullopt;
  return span_of(range, *records);
}

std::optional<std::pair<SetMember, Selection>> SetReader::find_record(const RecordAddress& address) {
  auto member = this->member(address.shard, true);
  if (!member) return std::nullopt;
  auto selection = select_at(address, *member->store);
  if (selection) return std::pair(std::move(*member), std::move(*selection));
  reporter_.report_failure(member->path, selection.error());
  return std::nullopt;
}

std::optional<RecordInShard> SetReader::locate(const OrdinalRange& range) {
  const auto span = resolve(range);
  if (!span) return std::nullopt;
  const auto place = wait_for([&] { return set().locate(span->begin); });
  if (place) {
    if (!report_unopened(place->shard)) return std::nullopt;
    report_damage_before(place->shard);
    return *place;
  }
  if (place.error().code != Code::kNotFound) {
    report_uncounted(place.error());
    return std::nullopt;
  }
  if (const auto records = this->records()) {
    const bool exists = !range.is_one && (span->begin == *records || range.may_begin_after_end);
    if (!exists) reporter_.report_failure(name_, no_record(range, *records));
    report_damage(*records);
  }
  return std::nullopt;
}

bool SetReader::each(const OrdinalRange& range, const Take& take) {
  if (!has_one_shard()) return each_of_several(range, take);
  const auto only = member(0, 0);
  if (!only) return false;
  // The first record needs no search, which would report damage after it.
  const bool is_first = range.is_one && range.begin == 0;
  const bool is_all = range == OrdinalRange{};
  const auto selection = is_first ? Selection{.records = {.begin = 0, .end = 1}}
                         : is_all ? Selection{}
                                  : select(range, *only->store);
  if (!selection) {
    report_unselected(only->path, selection.error());
    return true;
  }
  const auto records = take(*only, *selection);
  if (!records) return false;
  if (is_first && *records == 0) report_unselected(only->path, no_record(range, 0));
  report_damage_after(range, selection->records);
  return true;
}

bool SetReader::each_of_several(const OrdinalRange& range, const Take& take) {
  const auto span = resolve(range);
  if (!span) return false;
  RecordInShard first{.shard = 0, .ordinal = span->begin};
  if (span->begin > 0 && !span->is_empty()) {
    const auto place = locate(range);
    if (!place) return true;
    first = *place;
  }
  const auto bound = [](std::uint64_t ordinal) { return static_cast<std::int64_t>(std::min(ordinal, kLargestSum)); };
  const auto records = each_shard(
      set(), *span, first,
      [&](std::size_t shard, std::uint64_t base, const OrdinalInterval& wanted) -> std::optional<std::uint64_t> {
        const auto opened = member(shard, base);
        if (!opened) return allows_missing_ ? std::optional(std::uint64_t{0}) : std::nullopt;
        OrdinalRange local{.begin = bound(wanted.begin)};
        if (wanted.end != UINT64_MAX) local.end = bound(wanted.end);
        const auto selection = select(local, *opened->store);
        if (selection) return take(*opened, *selection);
        reporter_.report_failure(opened->path, selection.error());
        // Only the first shard is searched, and locate() has counted it. What follows keeps its ordinals.
        return set().counts(shard).value_or(ShardCounts{}).records;
      });
  if (!records) return false;
  if (range.is_one && *records <= span->begin) reporter_.report_failure(name_, no_record(range, *records));
  report_damage_after(range, *span);
  return true;
}

}  // namespace recordfs
