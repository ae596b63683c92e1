// Opens tables: through their footer and index, or by their blocks' checksums if these are lost.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/database/table.h"
#include "core/formats/foreign_file.h"
#include "core/formats/leveldb_table/format.h"

namespace recordfs::database {

using leveldb_table::BlockIterator;
using leveldb_table::BlockPlace;
using leveldb_table::kTrailerSize;

namespace {

constexpr std::string_view kRangeDeletions = "the block of range deletions";

}  // namespace

class TableOpener {
 public:
  TableOpener(const RequestContext& context, const std::shared_ptr<const Source>& source, const TableContext& about,
              const Limits& limits)
      : context_(context), source_(source), about_(about), table_(new Table()) {
    table_->order_ = about.order;
    table_->hidden_ = about.hidden;
    table_->limits_ = limits;
    table_->file_size_ = source->size();
  }

  Result<std::shared_ptr<const Table>> run() {
    TRY(refuse_other_tables());
    if (auto read = read_by_index(); !read) {
      if (!may_be_read_by_checksums(read.error().code)) return std::move(read).error();
      TRY(read_by_checksums(read.error()));
    } else if (about_.may_have_user_keys && !table_->tail_.dialect.is_rocksdb) {
      ASSIGN_OR_RETURN(const auto survey, leveldb_table::survey(context_, *source_, table_->limits_));
      table_->has_internal_keys_ = !survey || survey->has_database_keys;
    }
    TRY(refuse_replaced_table());
    if (table_->hidden_) table_->range_deletions_.hide(*table_->hidden_);
    table_->range_deletions_.finish(table_->order_);
    return std::shared_ptr<const Table>(std::move(table_));
  }

 private:
  static bool may_be_read_by_checksums(Code code) {
    return is_permanent(code) && code != Code::kUnsupported && code != Code::kLimit;
  }

  Result<void> refuse_other_tables() const {
    ASSIGN_OR_RETURN(const auto foreign, recognize_foreign_file(context_, *source_));
    return foreign ? Error{.code = Code::kUnsupported, .detail = "a " + foreign->text()} : Result<void>();
  }

  Result<void> refuse_replaced_table() const {
    if (table_->damage_) return {};
    ASSIGN_OR_RETURN(auto why, compare_with_manifest(context_, *source_, *table_, about_.expected, about_.order));
    return why ? *std::move(why) : Result<void>();
  }

  Result<void> read_by_index() {
    ASSIGN_OR_RETURN(const auto footer, leveldb_table::read_footer(context_, *source_));
    if (!footer) return Error{Code::kDamage, source_->size(), "the footer of the table is missing"};
    Table& table = *table_;
    table.end_ = footer->begin;
    ASSIGN_OR_RETURN(table.tail_, leveldb_table::read_tail(context_, *source_, *footer, table.limits_));
    const leveldb_table::Tail& tail = table.tail_;
    if (tail.flaw) return *tail.flaw;
    take_properties();
    TRY(read_meta_blocks(table.tail_.blocks));
    ASSIGN_OR_RETURN(table.blocks_, read_block_list(context_, *source_, tail.index, tail.dialect, tail.properties.index,
                                                    footer->begin, table.limits_));
    return {};
  }

  void take_properties() {
    const auto& properties = table_->tail_.properties;
    if (table_->lacks_timestamps()) table_->order_ = table_->order_.of_user_keys();
    if (!properties.is_external) return;
    const std::uint64_t own = properties.external_sequence;
    table_->sequence_of_all_ = own != 0 ? own : about_.largest_sequence.value_or(0);
  }

  Result<void> read_meta_blocks(leveldb_table::MetaBlocks& blocks) {
    if (blocks.range_deletions) TRY(read_range_deletions(*blocks.range_deletions));
    const bool is_usable = table_->tail_.properties.filters_whole_keys && !table_->order_.has_timestamps();
    if (!is_usable) blocks.whole_filter.reset();
    blocks.pieces = {};
    return {};
  }

  Result<void> read_range_deletions(const BlockPlace& place) {
    ASSIGN_OR_RETURN(const auto content,
                     read_metadata(context_, *source_, place, table_->tail_.dialect, table_->limits_, kRangeDeletions));
    ASSIGN_OR_RETURN(const auto found, take_range_deletions(content.view(), place.begin));
    const auto& stated = table_->tail_.properties.range_deletions;
    if (found && (!stated || *stated == *found)) return {};
    return Error{
        .code = Code::kDamage, .position = place.begin, .detail = fmt::format("{} is invalid", kRangeDeletions)};
  }

  // Returns how many deletions the block has; nullopt if it has something else too, or is no block.
  // Keys that share their beginning need more memory than their block has bytes.
  Result<std::optional<std::uint64_t>> take_range_deletions(Bytes content, Position begin) {
    constexpr std::uint64_t kMemoryOfOne = sizeof(RangeDeletion) + sizeof(std::size_t);
    const std::uint64_t most = largest_index(source_->size(), table_->limits_);
    std::uint64_t count = 0;
    bool is_valid = true;
    auto entries = BlockIterator::over(content, table_->tail_.dialect);
    for (; entries && entries->is_valid(); entries->next(), ++count) {
      const Bytes key = entries->key();
      is_valid &= key.size() >= kTagSize;
      if (key.size() < kTagSize) continue;
      const std::uint64_t bytes = kMemoryOfOne + key.size() + entries->value().size();
      if (bytes > most - range_deletion_bytes_) return leveldb_table::metadata_exceeds(begin, kRangeDeletions, most);
      range_deletion_bytes_ += bytes;
      const std::uint64_t sequence = table_->sequence_of_all_.value_or(tag_of(key) >> 8);
      table_->range_deletions_.add(
          {std::string(as_text(user_key_of(key))), std::string(as_text(entries->value())), sequence});
    }
    is_valid &= entries && !entries->has_skipped();
    return is_valid ? std::optional(count) : std::nullopt;
  }

  // --- without an index

  // Makes an index of the blocks that a scan finds.
  Result<void> read_by_checksums(const Error& why) {
    Table& table = *table_;
    table.blocks_ = {};
    table.range_deletions_ = {};
    range_deletion_bytes_ = 0;
    table.tail_ = {};
    table.tail_.properties.has_timestamps = !about_.lacks_timestamps;
    table.order_ = about_.lacks_timestamps ? about_.order.of_user_keys() : about_.order;
    table.end_ = source_->size();
    table.damage_ = why;
    ASSIGN_OR_RETURN(auto survey, leveldb_table::survey(context_, *source_, table.limits_));
    if (!survey) return why;
    table.has_internal_keys_ = !about_.may_have_user_keys || survey->has_database_keys;
    table.tail_.dictionary = survey->tail.dictionary;
    const auto container = leveldb_table::open_surveyed(source_, table.limits_, *survey);
    for (std::optional<ChunkKey> at = container->traits().first; at;) {
      TRY(context_.spend(0));
      ASSIGN_OR_RETURN(const auto step, container->scan(context_, *at));
      if (step.chunk) TRY(take_block(*survey, *step.chunk));
      at = step.next;
    }
    if (table.blocks_.size() == 0) return why;
    return {};
  }

  Result<void> take_block(const leveldb_table::Survey& survey, const ChunkInfo& chunk) {
    const auto kind = chunk.kind.as<leveldb_table::Kind>();
    if (!has_records(kind)) return {};
    const bool is_data = kind == leveldb_table::Kind::kData;
    const BlockPlace place{chunk.begin, chunk.end - chunk.begin - kTrailerSize};
    table_->tail_.dialect = survey.dialect_of(chunk.begin, leveldb_table::Kind::kOther);
    auto content =
        is_data ? table_->read_data(context_, *source_, place)
                : read_metadata(context_, *source_, place, table_->tail_.dialect, table_->limits_, kRangeDeletions);
    if (!content) return is_permanent(content.error().code) ? Result<void>() : std::move(content).error();
    if (is_data) return add_block(content->view(), place);
    TRY(take_range_deletions(content->view(), place.begin));  // the table is damaged anyway
    return {};
  }

  // Adds a block to the index, with its own last key.
  Result<void> add_block(Bytes content, const BlockPlace& place) {
    const auto last = last_key_of(content, table_->tail_.dialect);
    if (!last || (table_->has_internal_keys_ && last->size() < kTagSize)) return {};
    const std::uint64_t most = largest_index(source_->size(), table_->limits_);
    if (last->size() > most - table_->blocks_.key_bytes()) {
      return leveldb_table::metadata_exceeds(place.begin, "the index", most);
    }
    table_->blocks_.add(as_bytes(*last), place);
    return {};
  }

  const RequestContext& context_;
  const std::shared_ptr<const Source>& source_;
  const TableContext& about_;
  std::shared_ptr<Table> table_;
  std::uint64_t range_deletion_bytes_ = 0;
};

Result<std::shared_ptr<const Table>> Table::open(const RequestContext& context,
                                                 const std::shared_ptr<const Source>& source, const TableContext& about,
                                                 const Limits& limits) {
  return TableOpener(context, source, about, limits).run();
}

}  // namespace recordfs::database
