#include "core/python/found_record.h"

#include "core/store/selection.h"

namespace recordfs::python {

Result<FoundRecord> find_record(const RequestContext& context, const OpenedSet& set, std::uint64_t ordinal) {
  ASSIGN_OR_RETURN(auto place, place_record(context, set.set(), ordinal));
  const RecordStore& store = *place.store;
  ASSIGN_OR_RETURN(const auto chunk, store.chunks().get(context, place.indexed.chunk));
  ASSIGN_OR_RETURN(auto record, store.records().read(context, *chunk, place.index, 0, UINT64_MAX));
  return FoundRecord{std::move(place), std::move(record)};
}

std::string path_of_record(const OpenedSet& set, std::uint64_t ordinal, const Error& error) {
  const auto place = set.set().locate(ordinal);
  return place && !set.has_one_shard() ? set.plan().list.shards[place->shard].path : path_in(set, error);
}

}  // namespace recordfs::python
