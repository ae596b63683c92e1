// A pass in file order, for keys whose order is not known.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/database/entry.h"
#include "core/database/key_pass.h"
#include "core/hash/highway.h"

namespace recordfs::database {
namespace {

constexpr std::size_t kMostKeys = 2'000'000;

// Passes over the sources in turn. Before that, finds the newest write of each key.
class FileOrderPass final : public Pass {
 public:
  using Pass::Pass;

  Result<void> start(const RequestContext& context, std::optional<Bytes> after) override {
    if (after) return Error{.code = Code::kChanged, .detail = "the database has replaced files that were being listed"};
    std::uint64_t newest_ineffective = 0;
    for (std::size_t i = 0; i < sources(); ++i) {
      TRY(note_newest(context, source(i)));
      newest_ineffective = std::max(newest_ineffective, source(i).newest_ineffective());
    }
    // Nothing tells which keys a deletion of a range hides in an unknown order.
    if (newest_ineffective > 0) add_loss({.largest_sequence = newest_ineffective, .cause = Code::kUnsupported});
    for (std::size_t i = 0; i < sources(); ++i) TRY(source(i).seek(context, std::nullopt));
    return {};
  }

  Result<bool> next(const RequestContext& context) override {
    drop_value();
    while (index_ < sources()) {
      EntrySource& current = source(index_);
      if (std::exchange(is_on_write_, false)) TRY(current.next(context));
      while (current.is_valid() && !take(current)) TRY(current.next(context));
      is_on_write_ = current.is_valid();
      if (is_on_write_) return true;
      ++index_;
    }
    return false;
  }

 private:
  static std::uint64_t number_of(Bytes key) { return highway_hash(key); }

  Result<void> note_newest(const RequestContext& context, EntrySource& from) {
    TRY(from.seek(context, std::nullopt));
    while (from.is_valid()) {
      if (is_seen(from.key(), from.tag()) && is_in_range(from.key())) {
        std::uint64_t& newest = newest_[number_of(from.key())];
        newest = std::max(newest, from.tag());
        if (newest_.size() > kMostKeys) {
          return Error{.code = Code::kLimit, .detail = "too many keys for a comparator that recordfs does not know"};
        }
      }
      TRY(from.next(context));
    }
    return {};
  }

  bool is_in_range(Bytes key) const {
    const std::string_view text = as_text(key);
    return text >= range().from && (!range().to || text < *range().to) && text.starts_with(range().prefix);
  }

  // Makes the current write of a source the current one if it is visible.
  bool take(const EntrySource& from) {
    const auto found = newest_.find(number_of(from.key()));
    if (found == newest_.end() || found->second != from.tag()) return false;
    newest_.erase(found);  // the same write may be in another table, too
    if (deletes(operation_of(static_cast<std::uint8_t>(from.tag() & 0xff)))) return false;
    set_key(from.key());
    set_write(from.write());
    if (is_operand(writes().front())) {
      set_missing_writes(
          {.code = Code::kUnsupported, .detail = "a merge operand, without a known order of keys (try: recordfs get)"});
    }
    return true;
  }

  std::unordered_map<std::uint64_t, std::uint64_t> newest_;  // tags by hashes of keys
  std::size_t index_ = 0;
  bool is_on_write_ = false;
};

}  // namespace

std::unique_ptr<Pass> make_file_order_pass(std::unique_ptr<Sources> sources, const KeyRange& range,
                                           const Snapshot& at) {
  return std::make_unique<FileOrderPass>(std::move(sources), range, at);
}

}  // namespace recordfs::database
