// A pass in the order of keys: merges all sources.
#include <algorithm>
#include <utility>

#include "core/database/entry.h"
#include "core/database/key_pass.h"

namespace recordfs::database {
namespace {

constexpr std::uint64_t kMostOperandBytes = std::uint64_t{256} << 20;  // of one key, in memory

// Merges sources whose keys have a known order.
class MergePass final : public Pass {
 public:
  using Pass::Pass;

  Result<void> start(const RequestContext& context, std::optional<Bytes> after) override {
    const std::optional<Bytes> first = after ? after : first_key();
    if (first) first_stored_ = order().stored_key(*first, UINT64_MAX);
    for (std::size_t i = 0; i < sources(); ++i) {
      TRY(source(i).seek(context, first ? std::optional(as_bytes(first_stored_)) : std::nullopt));
      if (source(i).is_valid()) heap_.push_back(head_of(i));
    }
    std::ranges::make_heap(heap_, [this](const Head& a, const Head& b) { return is_later(a, b); });
    is_decided_ = after.has_value();
    if (after) set_key(*after);
    return {};
  }

  Result<bool> next(const RequestContext& context) override {
    drop_value();
    if (std::exchange(is_on_write_, false)) TRY(advance(context));
    while (!heap_.empty() && !is_after_range(order().user_key(heap_.front().key))) {
      ASSIGN_OR_RETURN(const bool is_visible, take(context));
      if (is_visible) return true;
      TRY(advance(context));
    }
    return false;
  }

 private:
  // A source with its current write.
  struct Head {
    Bytes key;
    std::uint64_t tag = 0;
    std::size_t source = 0;
  };

  // Returns where the range begins; nullopt: at the first key.
  std::optional<Bytes> first_key() const {
    std::optional<Bytes> first;
    if (!range().from.empty()) first = as_bytes(range().from);
    if (range().prefix.empty() || !order().keeps_prefixes_together()) return first;
    const Bytes prefix = as_bytes(range().prefix);
    return first && users_.is_before(prefix, *first) ? first : prefix;
  }

  bool is_after_range(Bytes key) const {
    if (range().to && !users_.is_before(key, as_bytes(*range().to))) return true;
    return order().keeps_prefixes_together() && !has_prefix(key) && users_.is_before(as_bytes(range().prefix), key);
  }
  bool has_prefix(Bytes key) const { return as_text(key).starts_with(range().prefix); }

  // Returns whether the first write of the heap is the visible one of its key, and makes it the current one.
  Result<bool> take(const RequestContext& context) {
    const Head& first = heap_.front();
    const Bytes user_key = order().user_key(first.key);
    if (is_decided_) {
      const auto by_key = users_.compare(user_key, as_bytes(key()));
      if (by_key < 0) report_order(source(first.source));
      if (by_key <= 0) return false;
    }
    if (!is_seen(first.key, first.tag)) return false;
    is_decided_ = true;
    set_key(user_key);
    if (deletes(operation_of(static_cast<std::uint8_t>(first.tag & 0xff))) || !has_prefix(user_key)) return false;
    ASSIGN_OR_RETURN(const auto deletion, newest_deletion(context));
    if (deletion && *deletion > first.tag >> 8) return false;
    set_write(source(first.source).write());
    is_on_write_ = true;
    if (is_operand(writes().front())) {
      TRY(add_older_writes(context, deletion.value_or(0)));
      drop_merged();
    }
    return true;
  }

  // Adds the writes before an operand, as far as they make the value: newer ones than the deletion of a range.
  Result<void> add_older_writes(const RequestContext& context, std::uint64_t deletion) {
    is_on_write_ = false;
    std::uint64_t bytes = writes().front().stored_size;
    for (std::uint64_t last = heap_.front().tag; is_operand(writes().back()); last = heap_.front().tag) {
      TRY(advance(context));
      if (heap_.empty() || !std::ranges::equal(order().user_key(heap_.front().key), as_bytes(key()))) return {};
      const std::uint64_t tag = heap_.front().tag;
      if (!is_seen(heap_.front().key, tag)) continue;
      // Without a MANIFEST, a write may be in an old table and in the one that replaced it.
      if (tag == last) continue;
      if (tag >> 8 < deletion || deletes(operation_of(static_cast<std::uint8_t>(tag & 0xff)))) return {};
      StoredWrite write = source(heap_.front().source).write();
      bytes += write.stored_size;
      if (bytes > kMostOperandBytes || writes().size() == state()->options().limits.parts_per_record) {
        set_missing_writes({.code = Code::kLimit, .detail = "the key has too many merge operands"});
        return {};
      }
      add_write(std::move(write));
    }
    return {};
  }

  // The keys of a table are sorted, unless a program forged it.
  void report_order(const EntrySource& from) const {
    state()->report({.file = from.write().file, .error = {.code = Code::kDamage, .detail = "keys are not in order"}});
  }

  Result<std::optional<std::uint64_t>> newest_deletion(const RequestContext& context) {
    std::optional<std::uint64_t> newest;
    const Bytes now = as_bytes(key());
    if (has_none_until_ && (!none_until_ || users_.is_before(now, *none_until_))) return newest;
    has_none_until_ = false;
    none_until_.reset();
    for (std::size_t i = 0; i < sources(); ++i) {
      ASSIGN_OR_RETURN(const auto found, source(i).deletions_over(context, now, at()));
      newest = std::max(newest, found.newest);
      if (found.until && (!none_until_ || users_.is_before(*found.until, *none_until_))) none_until_ = found.until;
    }
    // Until this key, nothing holds for a later one.
    has_none_until_ = !none_until_ || users_.is_before(now, *none_until_);
    return newest;
  }

  Head head_of(std::size_t index) const { return {source(index).key(), source(index).tag(), index}; }

  bool is_later(const Head& a, const Head& b) const {
    const auto by_key = order().compare(a.key, b.key);
    if (by_key != 0) return by_key > 0;
    if (a.tag != b.tag) return a.tag < b.tag;
    // Without a MANIFEST, an old table may have a write with the number 0, to which its successors set others.
    return source(a.source).write().file < source(b.source).write().file;
  }

  // Moves the heap's first source to its next write. Often that is the first again.
  Result<void> advance(const RequestContext& context) {
    const std::size_t index = heap_.front().source;
    TRY(source(index).next(context));
    if (source(index).is_valid()) {
      heap_.front() = head_of(index);
    } else {
      heap_.front() = heap_.back();
      heap_.pop_back();
    }
    sink_first();
    return {};
  }

  // Restores the order of the heap, if only its first element may be too late.
  void sink_first() {
    for (std::size_t at = 0;;) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) return;
      if (child + 1 < heap_.size() && is_later(heap_[child], heap_[child + 1])) ++child;
      if (!is_later(heap_[at], heap_[child])) return;
      std::swap(heap_[at], heap_[child]);
      at = child;
    }
  }

  const KeyOrder users_ = order().of_user_keys();
  std::string first_stored_;     // where the sources began
  std::vector<Head> heap_;       // of sources with a write; the first is that of the first key's newest write
  bool is_decided_ = false;      // the writes of key() are older ones, or hidden
  bool is_on_write_ = false;     // the heap's first source is at the last of writes()
  bool has_none_until_ = false;  // no range deletes keys before `none_until_`
  std::optional<Bytes> none_until_;
};

}  // namespace

std::unique_ptr<Pass> make_merge_pass(std::unique_ptr<Sources> sources, const KeyRange& range, const Snapshot& at) {
  return std::make_unique<MergePass>(std::move(sources), range, at);
}

}  // namespace recordfs::database
