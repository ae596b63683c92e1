// A pass in the order of keys: merges all sources.
#include <algorithm>
#include <utility>

#include "core/database/entry.h"
#include "core/database/key_pass.h"

namespace recordfs::database {
namespace {

// Merges sources whose keys have a known order.
class MergePass final : public Pass {
 public:
  using Pass::Pass;

  Result<void> start(const RequestContext& context, std::optional<Bytes> after) override {
    const std::optional<Bytes> first = after ? after : first_key();
    for (std::size_t i = 0; i < sources(); ++i) {
      TRY(source(i).seek(context, first));
      push(i);
    }
    is_decided_ = after.has_value();
    if (after) set_key(*after);
    return {};
  }

  Result<bool> next(const RequestContext& context) override {
    if (std::exchange(is_on_write_, false)) TRY(advance(context));
    while (!heap_.empty() && !is_after_range(source(heap_.front()).key())) {
      ASSIGN_OR_RETURN(is_on_write_, take(context));
      if (is_on_write_) return true;
      TRY(advance(context));
    }
    return false;
  }

 private:
  // Returns where the range begins; nullopt: at the first key.
  std::optional<Bytes> first_key() const {
    std::optional<Bytes> first;
    if (!range().from.empty()) first = as_bytes(range().from);
    if (range().prefix.empty() || !order().keeps_prefixes_together()) return first;
    const Bytes prefix = as_bytes(range().prefix);
    return first && order().is_before(prefix, *first) ? first : prefix;
  }

  bool is_after_range(Bytes key) const {
    if (range().to && !order().is_before(key, as_bytes(*range().to))) return true;
    return order().keeps_prefixes_together() && !has_prefix(key) && order().is_before(as_bytes(range().prefix), key);
  }
  bool has_prefix(Bytes key) const { return as_text(key).starts_with(range().prefix); }

  // Returns whether the first write of the heap is the visible one of its key, and makes it the current one.
  Result<bool> take(const RequestContext& context) {
    const EntrySource& first = source(heap_.front());
    if (is_decided_) {
      const auto by_key = order().compare(first.key(), as_bytes(key()));
      if (by_key < 0) report_order(first);
      if (by_key <= 0) return false;
    }
    const std::uint64_t sequence = first.tag() >> 8;
    if (sequence > at()) return false;
    is_decided_ = true;
    set_key(first.key());
    if (deletes(operation_of(static_cast<std::uint8_t>(first.tag() & 0xff))) || !has_prefix(first.key())) return false;
    ASSIGN_OR_RETURN(const auto deletion, newest_deletion(context));
    if (deletion && *deletion > sequence) return false;
    set_write(first.write());
    return true;
  }

  // The keys of a table are sorted, unless a program forged it.
  void report_order(const EntrySource& from) const {
    state()->report({.file = from.write().file, .error = {.code = Code::kDamage, .detail = "keys are not in order"}});
  }

  Result<std::optional<std::uint64_t>> newest_deletion(const RequestContext& context) {
    std::optional<std::uint64_t> newest;
    for (std::size_t i = 0; i < sources(); ++i) {
      ASSIGN_OR_RETURN(const auto found, source(i).newest_deletion_over(context, as_bytes(key()), at()));
      if (found) newest = std::max(newest, found);
    }
    return newest;
  }

  bool is_later(std::size_t a, std::size_t b) const {
    const auto by_key = order().compare(source(a).key(), source(b).key());
    if (by_key != 0) return by_key > 0;
    if (source(a).tag() != source(b).tag()) return source(a).tag() < source(b).tag();
    // Without a MANIFEST, an old table may have a write with the number 0, to which its successors set others.
    return source(a).write().file < source(b).write().file;
  }
  void push(std::size_t index) {
    if (!source(index).is_valid()) return;
    heap_.push_back(index);
    std::ranges::push_heap(heap_, [this](std::size_t a, std::size_t b) { return is_later(a, b); });
  }
  Result<void> advance(const RequestContext& context) {
    std::ranges::pop_heap(heap_, [this](std::size_t a, std::size_t b) { return is_later(a, b); });
    const std::size_t index = heap_.back();
    heap_.pop_back();
    TRY(source(index).next(context));
    push(index);
    return {};
  }

  std::vector<std::size_t> heap_;  // of sources with a write; the first is that of the first key's newest write
  bool is_decided_ = false;        // the writes of key() are older ones, or hidden
  bool is_on_write_ = false;       // the heap's first source is at the current write
};

}  // namespace

std::unique_ptr<Pass> make_merge_pass(std::unique_ptr<Sources> sources, const KeyRange& range, std::uint64_t at) {
  return std::make_unique<MergePass>(std::move(sources), range, at);
}

}  // namespace recordfs::database
