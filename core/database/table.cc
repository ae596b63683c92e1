#include "core/database/table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/database/lost_partition.h"

namespace recordfs::database {

using leveldb_table::BlockIterator;
using leveldb_table::BlockList;

std::size_t Table::memory() const {
  const auto& filter_place = tail_.blocks.whole_filter;
  const std::size_t filter = filter_place ? static_cast<std::size_t>(filter_place->size) : 0;
  const auto& read = tail_.dictionary;
  const std::size_t dictionary = read && *read ? (*read)->size() : 0;
  const std::size_t names = tail_.properties.column_family_name.size() + tail_.properties.comparator.size() +
                            tail_.blocks.filter_kind.size() + tail_.blocks.filter.size();
  return sizeof(Table) + blocks_.memory() + range_deletions_.memory() + filter + dictionary + names;
}

Result<BlockList> Table::read_part(const RequestContext& context, const Source& source, std::size_t part) const {
  leveldb_table::IndexForm form = tail_.properties.index;
  form.has_two_levels = false;
  return read_block_list(context, source, blocks_.place(part), tail_.dialect, form, end_, limits_);
}

Result<Buffer> Table::read_data(const RequestContext& context, const Source& source,
                                const leveldb_table::BlockPlace& place) const {
  return read_block(context, source, place, tail_.dialect_of_data(), limits_);
}

Result<BlockList> Table::recover_part(const RequestContext& context, const Source& source, std::size_t part) const {
  std::shared_ptr<const LostParts> lost;
  {
    const std::lock_guard lock(mutex_);
    lost = lost_parts_;
  }
  if (!lost || part < lost->first || part > lost->last) {
    ASSIGN_OR_RETURN(lost, find_lost_parts(context, source, part));
    const std::lock_guard lock(mutex_);
    lost_parts_ = lost;
  }
  // A block belongs to a part by the keys of the parts, or to the first lost part if the keys have no known order.
  const auto is_in_part = [&](Bytes last_key) {
    if (lost->first == lost->last) return true;
    if (!order_.is_known()) return part == lost->first;
    const Bytes key = user_key_in_index(last_key);
    const auto is_before = [&](std::size_t other) {
      return order_.is_before(user_key_in_index(blocks_.key(other)), key);
    };
    return (part == lost->first || is_before(part - 1)) && (part == lost->last || !is_before(part));
  };
  BlockList blocks;
  for (std::size_t i = 0; i < lost->blocks.size(); ++i) {
    if (is_in_part(lost->blocks.key(i))) blocks.add(lost->blocks.key(i), lost->blocks.place(i));
  }
  return blocks;
}

// Finds the blocks of all lost parts around `part` at once, so that each of their blocks is read once.
Result<std::shared_ptr<const Table::LostParts>> Table::find_lost_parts(const RequestContext& context,
                                                                       const Source& source, std::size_t part) const {
  LostParts lost{.first = part, .last = part};
  LostExtent extent{.begin = 0, .end = end_};
  for (std::size_t i = 0; i < blocks_.size(); ++i) extent.end = std::min(extent.end, blocks_.place(i).begin);
  for (; lost.first > 0; --lost.first) {
    const auto before = read_part(context, source, lost.first - 1);
    if (!before && !is_permanent(before.error().code)) return before.error();
    if (!before || before->size() == 0) continue;
    const auto& last = before->place(before->size() - 1);
    extent.begin = last.begin + last.size + leveldb_table::kTrailerSize;
    break;
  }
  for (; lost.last + 1 < blocks_.size(); ++lost.last) {
    const auto after = read_part(context, source, lost.last + 1);
    if (!after && !is_permanent(after.error().code)) return after.error();
    if (!after || after->size() == 0) continue;
    extent.end = std::min(extent.end, after->place(0).begin);
    break;
  }
  ASSIGN_OR_RETURN(const auto found, find_data_blocks(context, source, extent, tail_.dialect_of_data(), limits_));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Bytes key = found.key(i);
    const bool has_tag = tail_.properties.has_user_keys_in_index && key.size() >= kTagSize;
    lost.blocks.add(has_tag ? user_key_of(key) : key, found.place(i));
  }
  return std::make_shared<const LostParts>(std::move(lost));
}

bool Table::has_tag_in_index(Bytes index_key) const {
  return has_internal_keys_ && !tail_.properties.has_user_keys_in_index && index_key.size() >= kTagSize;
}

Bytes Table::user_key_in_index(Bytes index_key) const {
  return has_tag_in_index(index_key) ? user_key_of(index_key) : index_key;
}

bool Table::is_index_key_before(Bytes index_key, Bytes user_key, std::uint64_t tag) const {
  const auto by_key = order_.compare(user_key_in_index(index_key), user_key);
  if (by_key != 0 || !has_tag_in_index(index_key)) return by_key < 0;
  return tag_of(index_key) > tag;
}

bool Table::may_contain(const RequestContext& context, const Source& source, Bytes user_key, Position block) const {
  if (!tail_.blocks.whole_filter) return true;
  const auto found = filter(context, source);
  return !found || found->may_contain(user_key, block);
}

// Returns null if there is none.
std::shared_ptr<const leveldb_table::Filter> Table::filter(const RequestContext& context, const Source& source) const {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(was_asked_, true)) return nullptr;
    if (is_filter_read_) return filter_;
  }
  // Writers do not compress it.
  const leveldb_table::MetaBlocks& blocks = tail_.blocks;
  auto content = leveldb_table::read_metadata(context, source, *blocks.whole_filter, tail_.dialect, limits_,
                                              "the filter", blocks.whole_filter->size);
  if (!content && !is_permanent(content.error().code)) return nullptr;
  std::shared_ptr<const leveldb_table::Filter> read;
  if (content) {
    auto known = leveldb_table::Filter::of(std::move(*content), blocks.filter_kind, blocks.filter);
    if (known) read = std::make_shared<const leveldb_table::Filter>(*std::move(known));
  }
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_filter_read_, true)) filter_ = std::move(read);
  return filter_;
}

// --- iteration

Result<void> TableIterator::to_first(const RequestContext& context) {
  TRY(seek_part(context, 0));
  block_ = 0;
  TRY(load(context));
  return settle(context);
}

// Makes the part of the index the current one. An index in one level has no parts.
Result<void> TableIterator::seek_part(const RequestContext& context, std::size_t part) {
  entries_.reset();
  part_ = part;
  block_ = 0;
  if (!table_->has_two_levels()) return {};
  for (part_blocks_ = {}; part_ < table_->blocks().size(); ++part_) {
    ASSIGN_OR_RETURN(const auto source, open_());
    auto blocks = table_->read_part(context, *source, part_);
    if (blocks) {
      part_blocks_ = std::move(*blocks);
      return {};
    }
    if (!is_permanent(blocks.error().code)) return std::move(blocks).error();
    lose(table_->blocks(), part_, blocks.error());
    ASSIGN_OR_RETURN(part_blocks_, table_->recover_part(context, *source, part_));
    if (part_blocks_.size() > 0) return {};
  }
  return {};
}

namespace {

// Where to seek in a table without timestamps: all its entries of a key have the timestamp 0.
struct PlaceWithoutTimestamp {
  Bytes user_key;
  std::uint64_t tag;
};

PlaceWithoutTimestamp without_timestamp(Bytes stored_key, std::uint64_t tag) {
  if (stored_key.size() < kTimestampSize) return {stored_key, tag};
  const bool is_after_zero = Cursor(stored_key.last(kTimestampSize)).u64_le() > 0;
  return {stored_key.first(stored_key.size() - kTimestampSize), is_after_zero ? UINT64_MAX : tag};
}

}  // namespace

Result<void> TableIterator::seek(const RequestContext& context, Bytes user_key, std::uint64_t tag) {
  if (table_->lacks_timestamps()) {
    const auto place = without_timestamp(user_key, tag);
    user_key = place.user_key;
    tag = place.tag;
  }
  TRY(seek_block(context, user_key, tag));
  return seek_entry(context, user_key, tag);
}

Result<void> TableIterator::seek_key(const RequestContext& context, Bytes user_key, std::uint64_t tag,
                                     const MayContain& may_contain) {
  if (table_->lacks_timestamps()) {
    const auto place = without_timestamp(user_key, tag);
    user_key = place.user_key;
    tag = place.tag;
  }
  TRY(seek_block(context, user_key, tag));
  if (block_ >= leaf().size()) return {};
  ASSIGN_OR_RETURN(const auto may, may_contain(*table_, block()));
  return may ? seek_entry(context, user_key, tag) : Result<void>();
}

// Moves to the block that has the first entry which is not before the key and the tag, without reading it.
Result<void> TableIterator::seek_block(const RequestContext& context, Bytes user_key, std::uint64_t tag) {
  const auto first_from = [&](const BlockList& list) {
    std::size_t low = 0;
    for (std::size_t high = list.size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      table_->is_index_key_before(list.key(middle), user_key, tag) ? low = middle + 1 : high = middle;
    }
    return low;
  };
  const std::size_t first = first_from(table_->blocks());
  TRY(seek_part(context, first));
  block_ = table_->has_two_levels() ? first_from(part_blocks_) : first;
  return {};
}

Result<void> TableIterator::seek_entry(const RequestContext& context, Bytes user_key, std::uint64_t tag) {
  TRY(load(context));
  if (!entries_) return settle(context);
  const bool has_one_number = table_->sequence_of_all().has_value();
  entries_->seek([&](Bytes key) {
    if (!table_->has_internal_keys()) return table_->order().is_before(key, user_key);
    if (key.size() < kTagSize) return false;
    const auto by_key = table_->order().compare(user_key_of(key), user_key);
    return by_key != 0 ? by_key < 0 : !has_one_number && tag_of(key) > tag;
  });
  return settle(context);
}

// Relies on the order for nothing but where to look: a key's first entry follows an entry of another key, or none.
Result<bool> TableIterator::find_together(const RequestContext& context, Bytes user_key) {
  const bool is_whole = !table_->has_two_levels() && !table_->damage() && !table_->lacks_timestamps() &&
                        table_->dialect().checksum != leveldb_table::Checksum::kNone;
  if (!is_whole) return false;
  TRY(seek_block(context, user_key, UINT64_MAX));
  if (block_ >= leaf().size()) return false;
  auto content = read(context, leaf().place(block_));
  if (!content) return is_permanent(content.error().code) ? Result<bool>(false) : std::move(content).error();
  auto entries = BlockIterator::over((*content)->view(), table_->dialect());
  const auto has_key = [&] {
    const Bytes key = entries->key();
    if (!table_->has_internal_keys()) return std::ranges::equal(key, user_key);
    return key.size() >= kTagSize && std::ranges::equal(user_key_of(key), user_key);
  };
  bool is_first = true;
  for (; entries && entries->is_valid() && !has_key(); entries->next()) is_first = false;
  if (!entries || !entries->is_valid() || entries->has_skipped()) return false;
  if (is_first) {
    ASSIGN_OR_RETURN(const auto follows_other, ends_with_other_key(context, user_key));
    if (!follows_other) return false;
  }
  content_ = *std::move(content);
  entries_ = std::move(entries);
  has_reported_ = false;
  key_bytes_ = 0;
  return true;
}

// Returns whether the block before the current one ends with another key, or there is none. False if that cannot be
// read.
Result<bool> TableIterator::ends_with_other_key(const RequestContext& context, Bytes user_key) const {
  if (block_ == 0) return leaf().place(0).begin == 0;
  const auto& before = leaf().place(block_ - 1);
  if (before.begin + before.size + leveldb_table::kTrailerSize != block()) return false;
  const auto content = read(context, before);
  if (!content) return is_permanent(content.error().code) ? Result<bool>(false) : content.error();
  auto entries = BlockIterator::over((*content)->view(), table_->dialect());
  std::optional<std::string> last;
  for (; entries && entries->is_valid(); entries->next()) last = as_text(entries->key());
  if (!last || entries->has_skipped()) return false;
  if (!table_->has_internal_keys()) return !std::ranges::equal(as_bytes(*last), user_key);
  return last->size() >= kTagSize && !std::ranges::equal(user_key_of(as_bytes(*last)), user_key);
}

Result<void> TableIterator::next(const RequestContext& context) {
  entries_->next();
  return settle(context);
}

// Moves to the next entry if there is no current one: over short keys, and into the next block.
Result<void> TableIterator::settle(const RequestContext& context) {
  while (true) {
    if (entries_) {
      skip_hidden();
      if (entries_->has_skipped() && !std::exchange(has_reported_, true)) {
        lose(leaf(), block_, {Code::kDamage, block(), "an entry of the block is invalid"});
      }
      if (entries_->is_valid() && !has_too_long_keys()) return {};
      ++block_;
    }
    entries_.reset();
    if (block_ >= leaf().size()) {
      if (!table_->has_two_levels() || part_ + 1 >= table_->blocks().size()) return {};
      TRY(seek_part(context, part_ + 1));
    }
    TRY(load(context));
    if (!entries_ && block_ >= leaf().size()) continue;
  }
}

// Skips entries that were never committed, and those whose key is too short.
void TableIterator::skip_hidden() {
  while (entries_->is_valid()) {
    const bool is_short = table_->has_internal_keys() && entries_->key().size() < kTagSize;
    if (!is_short && !table_->hides(entry().sequence())) return;
    if (is_short && !std::exchange(has_reported_, true)) {
      lose(leaf(), block_, {Code::kDamage, block(), "a key of the block is shorter than an internal key"});
    }
    entries_->next();
  }
}

// Returns the block's content, which holds its share of the budget. Fails like Table::read_data(), and with kLimit.
Result<std::shared_ptr<const Buffer>> TableIterator::read(const RequestContext& context,
                                                          const leveldb_table::BlockPlace& place) const {
  constexpr std::uint64_t kUsualCompression = 16;
  struct Block {
    Buffer content;
    MemoryBudget::Share share;
  };
  ASSIGN_OR_RETURN(const auto source, open_());
  ASSIGN_OR_RETURN(auto content, table_->read_data(context, *source, place));
  auto share = MemoryBudget::take(budget_, content.size(), kUsualCompression * place.size);
  if (!share) return Error{Code::kLimit, place.begin, std::move(share).error().detail};
  const auto block = std::make_shared<const Block>(Block{std::move(content), *std::move(share)});
  return std::shared_ptr<const Buffer>(block, &block->content);
}

// Reports the rest of the block if its keys exceed the limit on a block.
bool TableIterator::has_too_long_keys() {
  key_bytes_ += entries_->key().size();
  const std::uint64_t most = table_->limits().decoded_chunk;
  if (key_bytes_ <= most) return false;
  lose(leaf(), block_,
       {Code::kLimit, block(),
        fmt::format("the keys of the block exceed the limit of {} bytes (see --max-chunk)", most)});
  return true;
}

// Returns whether all entries of a block are valid and in order. In a table without checksums, only that shows damage.
bool TableIterator::are_in_order(BlockIterator entries) const {
  // Of the table, since callers that look for the comparator do not know the order yet.
  const KeyOrder stored = KeyOrder::of(table_->properties().comparator);
  const KeyOrder order = table_->lacks_timestamps() ? stored.of_user_keys() : stored;
  const bool is_ordered = !table_->properties().comparator.empty() && order.is_known();
  std::uint64_t bytes = 0;
  for (std::string last; entries.is_valid(); last = as_text(entries.key()), entries.next()) {
    const Bytes key = entries.key();
    bytes += key.size();
    if (bytes > table_->limits().decoded_chunk) return true;  // which settle() reports
    if (table_->has_internal_keys() && key.size() < kTagSize) return false;
    if (last.empty() || !is_ordered) continue;
    const bool is_after = table_->has_internal_keys() ? compare_internal(order, as_bytes(last), key) < 0
                                                      : order.is_before(as_bytes(last), key);
    if (!is_after) return false;
  }
  return !entries.has_skipped();
}

// Reads the current block, or the next one that is readable. Leaves no entries if there is none in the current part.
Result<void> TableIterator::load(const RequestContext& context) {
  entries_.reset();
  for (content_.reset(); block_ < leaf().size(); ++block_) {
    TRY(context.spend(0));
    auto content = read(context, leaf().place(block_));
    if (!content) {
      if (!is_permanent(content.error().code)) return std::move(content).error();
      lose(leaf(), block_, content.error());
      continue;
    }
    auto entries = BlockIterator::over((*content)->view(), table_->dialect());
    if (!entries) {
      lose(leaf(), block_, {Code::kDamage, leaf().place(block_).begin, "the restart points would not fit the block"});
      continue;
    }
    if (table_->dialect().checksum == leveldb_table::Checksum::kNone && !are_in_order(*entries)) {
      lose(leaf(), block_,
           {Code::kDamage, leaf().place(block_).begin,
            "an entry of the block is invalid, and without checksums nothing shows which others are"});
      continue;
    }
    content_ = *std::move(content);
    entries_ = std::move(entries);
    has_reported_ = false;
    key_bytes_ = 0;
    return {};
  }
  return {};
}

TableEntry TableIterator::entry() const {
  const Bytes key = entries_->key();
  if (!table_->has_internal_keys()) return {key, leveldb_table::kPut, entries_->value()};
  std::uint64_t tag = tag_of(key);
  if (const auto sequence = table_->sequence_of_all()) tag = *sequence << 8 | (tag & 0xff);
  if (!table_->lacks_timestamps()) return {user_key_of(key), tag, entries_->value()};
  timed_key_ = as_text(user_key_of(key));
  append_timestamp(timed_key_, 0);
  return {as_bytes(timed_key_), tag, entries_->value()};
}

void TableIterator::lose(const BlockList& list, std::size_t at, const Error& why) {
  Loss loss;
  const auto text = [&](std::size_t index) {
    return std::string(as_text(table_->order().user_key(table_->user_key_in_index(list.key(index)))));
  };
  if (at > 0) loss.from = text(at - 1);
  loss.to = text(at);
  take_loss_(std::move(loss), why);
}

}  // namespace recordfs::database
