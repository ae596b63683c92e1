// records/ and thousands/, or inside/, of a data set: the records by their ordinals in the set. The nodes are those of
// the shards' containers.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "fusefs/tree/data_set/set_views.h"

namespace recordfs {
namespace {

// What a directory shows of each record: the record, or the directory with its parts.
enum class Shows : std::uint8_t { kRecords, kInsides };

class SetRecordsView final : public View {
 public:
  // `suffix`: of names in listings.
  SetRecordsView(const NodeTree& nodes, DataSetShards& shards, Shows shows, std::string_view suffix)
      : View(nodes), shards_(shards), shows_(shows), suffix_(suffix) {}

  // The shard's container decides what follows the ordinal in a name: ".json", for example. It knows only listed names
  // of directories, because a link would have the ordinal in the shard.
  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override {
    if (directory == Node{NodeKind::kStatic, kThousandsOfSet}) return lookup_thousand(name);
    const auto in = ordinals_in(directory);
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    const auto ordinal = number_from(name.substr(0, digits));
    if (!in || !ordinal) return no_such_name();
    const bool is_alias = shows_ == Shows::kInsides && digits == name.size() && name != record_name(*ordinal);
    if (is_alias) return link_to_inside(*ordinal);
    if (*ordinal < in->begin || *ordinal >= in->end) return no_such_name();
    ASSIGN_OR_RETURN(const auto at, shards_.set().locate(*ordinal));
    ASSIGN_OR_RETURN(const auto container, shards_.container(context, at.shard));
    const std::string in_shard = record_name(at.ordinal).append(name.substr(digits));
    const View* const records = container->nodes->view(directory_in_shard());
    if (records == nullptr) return no_such_name();
    ASSIGN_OR_RETURN(const auto node, kept_open(container, records->lookup(context, directory_in_shard(), in_shard)));
    return Node{node.kind, container->begin + node.value};
  }

  // A place is the number of entries before it.
  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    if (directory == Node{NodeKind::kStatic, kThousandsOfSet}) return list_thousands(place, emit);
    const auto in = ordinals_in(directory);
    if (!in) return View::list(context, directory, place, emit);
    const std::uint64_t began_at = place;
    while (place < in->end - in->begin) {
      const std::uint64_t ordinal = in->begin + place;
      const auto at = shards_.set().locate(ordinal);
      if (!at) return stopped(at.error(), place > began_at);
      bool is_full = false;
      const auto reached = list_shard(context, *at, *in, emit, is_full);
      if (!reached) return stopped(reached.error(), place > began_at);
      if (is_full) return {};
      if (*reached == ordinal) {
        return stopped({.code = Code::kChanged, .detail = "the shard has fewer records than when it was counted"},
                       place > began_at);
      }
      place = *reached - in->begin;
    }
    return {};
  }

  // Returns whether the records of the first shard that can be opened have what this shows.
  Result<bool> is_shown(const RequestContext& context) const override {
    if (shows_ == Shows::kRecords) return true;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      if (shards_.set().shard(shard).is_missing) continue;
      const auto container = shards_.container(context, shard);
      if (container) return (*container)->nodes->view(directory_in_shard()) != nullptr;
      const Code why = container.error().code;
      if (why == Code::kPending || why == Code::kInterrupted || why == Code::kOutOfMemory) return container.error();
    }
    return false;
  }

 private:
  struct Ordinals {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  static std::optional<Ordinals> ordinals_in(const Node& directory) {
    const std::uint64_t first = directory.value * kThousandRecords;
    if (directory.kind == NodeKind::kThousand) return Ordinals{first, first + kThousandRecords};
    const bool has_all = directory.value == kSetRecords || directory.value == kInsideOfSet;
    if (directory.kind == NodeKind::kStatic && has_all) return Ordinals{0, kEverything};
    return std::nullopt;
  }

  // Returns a link to the listed name of an ordinal in inside/.
  Result<Node> link_to_inside(std::uint64_t ordinal) const {
    TRY(shards_.set().locate(ordinal));
    if (!shards_.numbers().is_own(ordinal)) return no_such_name();
    return Node{NodeKind::kInsideAlias, ordinal};
  }

  Result<Node> lookup_thousand(std::string_view name) const {
    const auto thousand = number_from(name);
    if (!thousand || *thousand > kEverything / kThousandRecords) return no_such_name();
    TRY(shards_.set().locate(*thousand * kThousandRecords));
    if (!shards_.numbers().is_own(*thousand)) return no_such_name();
    return Node{name == thousand_name(*thousand) ? NodeKind::kThousand : NodeKind::kThousandAlias, *thousand};
  }

  Result<void> list_thousands(std::uint64_t place, const Emit& emit) const {
    for (const std::uint64_t began_at = place;; ++place) {
      const auto found = shards_.set().locate(place * kThousandRecords);
      if (!found) return stopped(found.error(), place > began_at);
      if (!emit({thousand_name(place), {NodeKind::kThousand, place}, FileType::kDirectory, {}, place + 1})) return {};
    }
  }

  // Emits records of one shard. Returns the ordinal in the set of the next one to emit.
  Result<std::uint64_t> list_shard(const RequestContext& context, const RecordInShard& from, const Ordinals& in,
                                   const Emit& emit, bool& is_full) const {
    ASSIGN_OR_RETURN(const auto container, shards_.container(context, from.shard));
    ASSIGN_OR_RETURN(const auto counts, shards_.set().counts(from.shard));
    const std::uint64_t end = std::min(in.end, counts.first_ordinal + counts.records);
    const std::uint64_t records = shards_.set().progress().totals.records;
    std::uint64_t reached = counts.first_ordinal + from.ordinal;
    const auto renumbered = [&](const DirectoryEntry& entry) {
      if (reached == end) return false;
      const std::uint64_t place = reached - in.begin;
      const std::string name = record_name(reached).append(suffix_);
      const auto size = has_attributes(place, records) ? entry.size : std::nullopt;
      is_full = !emit({name, entry.node, entry.type, size, place + 1, container.get()});
      if (!is_full) ++reached;
      return !is_full;
    };
    const View* const view = container->nodes->view(directory_in_shard());
    if (view != nullptr) {
      TRY(kept_open(container, view->list(context, directory_in_shard(), from.ordinal, renumbered)));
    }
    return reached;
  }

  // Returns the directory of a shard's container that shows the same of its records.
  Node directory_in_shard() const { return {NodeKind::kStatic, shows_ == Shows::kInsides ? kInside : kRecords}; }

  DataSetShards& shards_;
  const Shows shows_;
  const std::string_view suffix_;
};

}  // namespace

SetViewPointer make_set_records_view(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache) {
  return std::make_unique<SetRecordsView>(nodes, shards, Shows::kRecords, cache.record_suffix);
}

SetViewPointer make_set_insides_view(const NodeTree& nodes, DataSetShards& shards, TreeContext&) {
  return std::make_unique<SetRecordsView>(nodes, shards, Shows::kInsides, std::string_view());
}

}  // namespace recordfs
