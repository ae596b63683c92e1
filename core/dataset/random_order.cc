#include "core/dataset/random_order.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/permutation.h"
#include "core/dataset/picked_records.h"
#include "core/dataset/sampler.h"
#include "core/dataset/selected_ordinals.h"
#include "core/dataset/selected_records.h"
#include "core/store/executor.h"

namespace recordfs {
namespace {

// Records that are read ahead, in the order of the shards. Fewer if their text is long.
constexpr std::size_t kMostAhead = 65536;
constexpr std::size_t kFirstAhead = 64;  // so that the first ones appear without delay
// If chunks are not cached, because they lack fields, more records of each are read together.
constexpr std::size_t kFirstOfFields = 4096;
constexpr std::uint64_t kMostText = 64u << 20;

// Returns the next ordinal; nullopt after the last one.
using NextOrdinal = std::function<std::optional<std::uint64_t>()>;

NextOrdinal order_of(const RandomOptions& options, std::uint64_t records) {
  if (!options.shuffle) {
    const auto sampler = std::make_shared<Sampler>(records, *options.sample, options.seed);
    return [sampler] { return sampler->next(); };
  }
  const std::uint64_t count = std::min(records, options.sample.value_or(records));
  return [permutation = Permutation(records, *options.shuffle), count,
          place = std::uint64_t{0}]() mutable -> std::optional<std::uint64_t> {
    if (place == count) return std::nullopt;
    return permutation.at(place++);
  };
}

// Reads records in a random order, in groups.
class RandomPass {
 public:
  RandomPass(const RandomTarget& target, SetReader& reader, Reporter& reporter)
      : target_(target),
        reader_(reader),
        reporter_(reporter),
        executor_(reporter.threads() - 1),
        ahead_(target.use.fields_of ? kFirstOfFields : kFirstAhead) {}

  // Returns whether all were taken.
  bool run(const NextOrdinal& next) {
    for (;;) {
      while (window_.size() < ahead_) {
        const auto ordinal = next();
        if (!ordinal) break;
        window_.push_back(*ordinal);
      }
      if (window_.empty()) return true;
      if (!take_window()) return false;
    }
  }

 private:
  // Takes records from the front of the window, as many as can be read together. Returns false to stop.
  bool take_window() {
    const std::size_t wanted = std::min(window_.size(), ahead_);
    const auto picked =
        pick_records({}, reader_.set(), executor_, std::span(window_).first(wanted), kMostText, target_.use);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < picked.records.size(); ++i) {
      const auto failed = picked.failures.find(i);
      const bool is_failed = failed != picked.failures.end();
      if (!target_.take({.ordinal = window_[i], .bytes = picked.records[i]})) return false;
      bytes += picked.records[i].size();
      if (!is_failed) continue;
      reporter_.add_loss(1);
      report_failure(window_[i], *failed->second.place.store, failed->second.why);
      if (failed->second.is_last || !target_.skips_damage) return false;
    }
    if (target_.end_group && !target_.end_group()) return false;
    if (picked.stop) report(*picked.stop);
    if (picked.stop) return false;
    const std::size_t copied = picked.records.size();
    const bool was_full = copied == window_.size();
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(copied));
    ahead_ = was_full && bytes < kMostText / 4 ? std::min(2 * wanted, kMostAhead) : copied;
    return true;
  }

  void report_failure(std::uint64_t ordinal, const RecordStore& store, const Error& why) {
    target_.report ? target_.report(ordinal, store, why) : reporter_.report(store, why);
  }

  // Reports why a record cannot be found. Opens its shard again, which reports why that fails.
  void report(const PickedRecords::Stop& stop) {
    const auto place = reader_.locate({.begin = static_cast<std::int64_t>(stop.ordinal), .is_one = true});
    const auto member = place ? reader_.member(place->shard, 0) : std::nullopt;
    if (member) reporter_.report_failure(member->path, stop.why);
  }

  const RandomTarget& target_;
  SetReader& reader_;
  Reporter& reporter_;
  Executor executor_;
  std::vector<std::uint64_t> window_;  // ordinals, in the order in which they are taken
  std::size_t ahead_;
};

// Finds the selected records first, because only their number says which ones a sample has.
bool read_selected_in_random_order(const RandomOptions& options, const RandomTarget& target, SetReader& reader,
                                   Reporter& reporter) {
  SelectedOrdinals selected;
  bool has_all = true;
  const SelectedFinder finder{
      .condition = target.condition, .types = target.types, .skips_damage = target.skips_damage, .reporter = reporter};
  if (!finder.each(reader, [&](OrdinalInterval run) { has_all = selected.add(run) && has_all; })) return false;
  if (!has_all) {
    reporter.fail(Impact::kIncomplete, "--where: the selected records are too many separate ones to shuffle them");
    return false;
  }
  return RandomPass(target, reader, reporter).run([next = order_of(options, selected.records()), &selected] {
    const auto place = next();
    return place ? std::optional(selected.at(*place)) : std::nullopt;
  });
}

}  // namespace

bool read_in_random_order(const RandomOptions& options, const RandomTarget& target, SetReader& reader,
                          Reporter& reporter) {
  if (target.condition) return read_selected_in_random_order(options, target, reader, reporter);
  const auto records = reader.records();
  if (!records || !RandomPass(target, reader, reporter).run(order_of(options, *records))) return false;
  reader.report_damage();
  return true;
}

}  // namespace recordfs
