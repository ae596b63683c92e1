#include "core/database/state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"

namespace recordfs::database {

FamilyView::FamilyView(FamilyState of)
    : state(std::move(of)),
      order(KeyOrder::of(state.family.comparator)),
      is_order_proved(!state.family.comparator.empty()) {
  state.family.is_ordered = order.is_known();
  state.family.has_timestamps = order.has_timestamps();
}

const FamilyView* State::family(std::uint32_t id) const {
  const auto found = families_.find(id);
  return found == families_.end() ? nullptr : &found->second;
}

Age State::age_of(const TableFile& table) const {
  if (is_recovered_) return {};
  // RocksDB's files of level 0 need not be numbered in the order of their writes.
  const std::uint64_t order = files_.is_rocksdb ? table.largest_sequence.value_or(0) : table.number;
  return {.level = table.level, .number = order};
}

// LevelDB writes a table only of writes up to the last one that the edit names.
std::uint64_t State::last_sequence_of(const TableFile& table) const {
  if (is_recovered_) return UINT64_MAX;
  return table.largest_sequence.value_or(files_.is_rocksdb ? UINT64_MAX : files_.last_sequence);
}

std::string State::name_of(const TableFile& table) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto moved = moved_.find(table.number); moved != moved_.end()) return moved->second;
  }
  const auto found = table_names_.find(table.number);
  return found == table_names_.end() ? fmt::format("{:06}.{}", table.number, files_.is_rocksdb ? "sst" : "ldb")
                                     : found->second;
}

std::optional<std::string> State::blob_name(std::uint64_t number) const {
  const auto found = blob_names_.find(number);
  return found == blob_names_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::shared_ptr<const Table>> State::table(const RequestContext& context, const TableFile& file) const {
  if (auto found = tables_.find(file.number)) return *std::move(found);
  if (is_missing(file)) return std::shared_ptr<const Table>();
  const std::string name = name_of(file);
  ASSIGN_OR_RETURN(const auto source, open_files_->open(name));
  const FamilyView* view = family(file.family);
  TableContext about{.order = view == nullptr ? KeyOrder() : view->order,
                     .largest_sequence = file.largest_sequence,
                     .lacks_timestamps = file.lacks_timestamps,
                     .may_have_user_keys = is_recovered_,
                     .hidden = uncommitted_->empty() ? nullptr : uncommitted_};
  if (!is_recovered_) {
    about.expected = {.smallest = file.smallest, .largest = file.largest, .unique_id = file.unique_id};
    const bool has_comparator = view != nullptr && view->state.family.comparator != kUnprovedOrder;
    if (has_comparator) about.expected.comparator = view->state.family.comparator;
  }
  auto opened = Table::open(context, source, about, options_.limits);
  if (!opened && opened.error().code == Code::kDamage && !is_recovered_) {
    ASSIGN_OR_RETURN(auto moved, find_moved(context, file, about));
    if (moved) {
      report({.file = name,
              .error = {.code = Code::kDamage,
                        .detail = fmt::format("the file is not the table that the MANIFEST names, which is in {}",
                                              moved->first)}});
      {
        const std::lock_guard lock(mutex_);
        moved_[file.number] = std::move(moved->first);
      }
      const std::uint64_t bytes = moved->second->memory();
      return tables_.add(file.number, std::move(moved->second), bytes);
    }
  }
  if (!opened) {
    if (!is_permanent(opened.error().code)) return std::move(opened).error();
    {
      const std::lock_guard lock(mutex_);
      failures_[file.number] = opened.error().code;
    }
    report({.file = name, .error = std::move(opened).error()});
    return tables_.add(file.number, nullptr);
  }
  if ((*opened)->damage()) report({.file = name, .error = *(*opened)->damage()});
  report_ineffective(name, (*opened)->range_deletions().ineffective());
  const std::uint64_t bytes = (*opened)->memory();
  return tables_.add(file.number, std::move(*opened), bytes);
}

Result<std::optional<State::MovedTable>> State::find_moved(const RequestContext& context, const TableFile& file,
                                                           const TableContext& about) const {
  for (const DirectoryEntry& entry : listing_) {
    const bool may_be = entry.is.kind == FileKind::kTable && entry.size == file.size && entry.is.number != file.number;
    if (!may_be) continue;
    {
      const std::lock_guard lock(mutex_);
      if (searched_ == kMostSearched) break;
      ++searched_;
    }
    const auto source = open_files_->open(entry.name);
    if (!source && is_gone(source.error())) continue;
    if (!source) return source.error();
    auto opened = Table::open(context, *source, about, options_.limits);
    if (!opened && !is_permanent(opened.error().code)) return std::move(opened).error();
    if (!opened || (*opened)->damage()) continue;
    ASSIGN_OR_RETURN(const bool is_named, is_named_table(context, **source, **opened, about.expected));
    if (is_named) return std::optional(MovedTable(entry.name, std::move(*opened)));
  }
  return std::optional<MovedTable>();
}

void State::report_ineffective(const std::string& file, std::size_t deletions) const {
  if (deletions == 0) return;
  report({.file = file,
          .error = {.code = Code::kUnsupported,
                    .detail = fmt::format("{} of key ranges without effect, since the comparator is not known: deleted "
                                          "keys may appear",
                                          counted(deletions, "deletion"))}});
}

Loss State::loss_of(const TableFile& file, Loss part) const {
  const FamilyView* view = family(file.family);
  const KeyOrder order = view == nullptr ? KeyOrder() : view->order;
  const auto user_key = [&](const std::string& internal) {
    return std::string(as_text(order.user_key(user_key_of(as_bytes(internal)))));
  };
  part.family = file.family;
  if (!part.from && file.smallest.size() >= kTagSize) part.from = user_key(file.smallest);
  if (!part.to && file.largest.size() >= kTagSize) part.to = user_key(file.largest);
  // RocksDB counts writes that a compaction keeps for their timestamps as if their numbers were 0 then.
  part.largest_sequence = order.has_timestamps() ? UINT64_MAX : file.largest_sequence.value_or(UINT64_MAX);
  if (!is_recovered_) part.age = age_of(file);
  const std::lock_guard lock(mutex_);
  if (const auto failure = failures_.find(file.number); failure != failures_.end()) {
    part.cause = cause_of(failure->second);
  }
  return part;
}

Summary State::summary() const {
  Summary summary{.engine = files_.is_rocksdb ? "RocksDB" : "LevelDB",
                  .manifest = manifest_name_,
                  .last_sequence = last_sequence_,
                  .logged_writes = logged_->count(),
                  .database_id = files_.database_id,
                  .tables_by_level = {},
                  .blob_files = files_.blob_files.size()};
  for (const auto& [number, table] : files_.tables) {
    if (summary.tables_by_level.size() <= table.level) summary.tables_by_level.resize(table.level + 1);
    ++summary.tables_by_level[table.level];
  }
  return summary;
}

std::vector<File> State::list_files() const {
  std::vector<File> files;
  for (const DirectoryEntry& entry : listing_) {
    File& file = files.emplace_back();
    file.name = entry.name;
    file.kind = entry.is.kind;
    file.number = entry.is.number;
    file.size = entry.size;
    if (file.kind == FileKind::kOther) continue;
    file.state = File::State::kObsolete;
    const auto table = files_.tables.find(file.number);
    if (file.kind == FileKind::kTable && table != files_.tables.end()) {
      file.state = File::State::kLive;
      if (!is_recovered_) file.expected_size = table->second.size;
      file.family = table->second.family;
      file.level = table->second.level;
      file.checksum = table->second.checksum;
    }
    const auto blob_file = files_.blob_files.find(file.number);
    const bool is_live_blob_file = file.kind == FileKind::kBlob && blob_file != files_.blob_files.end();
    if (is_live_blob_file) file.checksum = blob_file->second.checksum;
    const bool is_live = file.kind == FileKind::kCurrent || file.name == manifest_name_ ||
                         live_logs_.contains(file.name) || is_live_blob_file;
    if (is_live) file.state = File::State::kLive;
  }
  for (const std::uint64_t number : missing_) {
    const TableFile& table = files_.tables.at(number);
    files.push_back({.name = name_of(table),
                     .kind = FileKind::kTable,
                     .state = File::State::kMissing,
                     .number = number,
                     .size = table.size,
                     .expected_size = table.size,
                     .family = table.family,
                     .level = table.level});
  }
  std::ranges::sort(files, {}, &File::name);
  return files;
}

}  // namespace recordfs::database
