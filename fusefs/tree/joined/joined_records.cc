#include "fusefs/tree/joined/joined_records.h"

#include <algorithm>
#include <string>
#include <utility>

namespace recordfs {
namespace {

constexpr std::uint64_t kRecordsOfThousand = 1000;  // per directory in thousands/

// Returns the directory of a shard's container that shows the same of its records.
Node directory_of_shard(JoinedRecords::Shows shows) {
  return {NodeKind::kStatic, shows == JoinedRecords::Shows::kInsides ? kInside : kRecords};
}

}  // namespace

JoinedRecords::Span JoinedRecords::span_of_thousand(std::uint64_t thousand) {
  return {thousand * kRecordsOfThousand, (thousand + 1) * kRecordsOfThousand};
}

std::uint64_t JoinedRecords::thousand_of(std::uint64_t ordinal) { return ordinal / kRecordsOfThousand; }

// The shard's container decides what follows the ordinal in a name: ".json", for example. It knows only listed names of
// directories, because a link would have the ordinal in the shard.
Result<JoinedRecords::Found> JoinedRecords::lookup(const RequestContext& context, Shows shows, std::string_view name,
                                                   const Span& in) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const auto ordinal = number_from(name.substr(0, digits));
  if (!ordinal || *ordinal < in.begin || *ordinal >= in.end) return no_such_name();
  ASSIGN_OR_RETURN(const auto at, shards_.set().locate(*ordinal));
  ASSIGN_OR_RETURN(auto container, shards_.container(context, at.shard));
  const std::string in_shard = record_name(at.ordinal).append(name.substr(digits));
  const Node directory = directory_of_shard(shows);
  const View* const records = container->tree->view(directory);
  if (records == nullptr) return no_such_name();
  ASSIGN_OR_RETURN(const auto node, kept_open(container, records->lookup(context, directory, in_shard)));
  return Found{std::move(container), node};
}

Result<std::uint64_t> JoinedRecords::lookup_thousand(std::string_view name) {
  const auto thousand = number_from(name);
  if (!thousand || *thousand > kEverything / kRecordsOfThousand) return no_such_name();
  TRY(shards_.set().locate(*thousand * kRecordsOfThousand));
  const NodeKind kind = name == thousand_name(*thousand) ? NodeKind::kThousand : NodeKind::kThousandAlias;
  const std::uint64_t number = number_in(0, {kind, *thousand});
  if (!shards_.numbers().is_own(number)) return no_such_name();
  return number;
}

Result<void> JoinedRecords::list_thousands(std::uint64_t place, const EmitEntry& emit) {
  for (const std::uint64_t began_at = place;; ++place) {
    const auto found = shards_.set().locate(place * kRecordsOfThousand);
    if (!found) return stopped(found.error(), place > began_at);
    const std::string name = thousand_name(place);
    if (!emit({.name = name,
               .inode = number_in(0, {NodeKind::kThousand, place}),
               .type = FileType::kDirectory,
               .next = place + 1})) {
      return {};
    }
  }
}

// A place is the number of entries before it.
Result<void> JoinedRecords::list(const RequestContext& context, Shows shows, const Span& in, std::uint64_t place,
                                 const EmitEntry& emit) {
  const std::uint64_t began_at = place;
  while (place < in.end - in.begin) {
    const std::uint64_t ordinal = in.begin + place;
    auto at = shards_.set().locate(ordinal);
    if (!at) return stopped(at.error(), place > began_at);
    ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(at->shard));
    const std::uint64_t end = std::min(in.end, counts.first_ordinal + counts.records);
    bool is_full = false;
    auto reached = list_of_shard(context, shows, *at, end, in, emit, is_full);
    if (!reached) return stopped(reached.error(), place > began_at);
    if (is_full) return {};
    if (*reached == ordinal) {
      return stopped({.code = Code::kChanged, .detail = "the shard has fewer records than when it was counted"},
                     place > began_at);
    }
    place = *reached - in.begin;
  }
  return {};
}

// Emits records of one shard, up to the ordinal `end` of the set. Returns the ordinal of the next one to emit.
Result<std::uint64_t> JoinedRecords::list_of_shard(const RequestContext& context, Shows shows,
                                                   const RecordInShard& from, std::uint64_t end, const Span& in,
                                                   const EmitEntry& emit, bool& is_full) {
  ASSIGN_OR_RETURN(const auto container, shards_.container(context, from.shard));
  ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(from.shard));
  const std::uint64_t records = shards_.set().progress().totals.records;
  std::uint64_t reached = counts.first_ordinal + from.ordinal;
  const auto renumbered = [&](const DirectoryEntry& entry) {
    if (reached == end) return false;
    std::string name = record_name(reached);
    if (shows == Shows::kRecords) name += cache_.record_suffix;
    MountEntry shown{.name = name,
                     .inode = container->inode(entry.node),
                     .type = entry.type,
                     .size = entry.size,
                     .next = reached + 1 - in.begin,
                     .container = container.get(),
                     .node = entry.node};
    if (!has_attributes(reached - in.begin, records)) shown.size.reset();
    is_full = !emit(shown);
    if (!is_full) ++reached;
    return !is_full;
  };
  const Node directory = directory_of_shard(shows);
  const View* const view = container->tree->view(directory);
  if (view != nullptr) TRY(kept_open(container, view->list(context, directory, from.ordinal, renumbered)));
  return reached;
}

}  // namespace recordfs
