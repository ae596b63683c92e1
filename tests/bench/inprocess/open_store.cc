#include "tests/bench/inprocess/open_store.h"

#include <latch>
#include <memory>
#include <utility>

namespace recordfs::bench {
namespace {

constexpr unsigned kThreads = 2;

RecordStore store_of(Opened file, const std::string& path, StoreResources& services) {
  return RecordStore(path, std::move(file.source), std::move(file.container), services);
}

}  // namespace

template <class Call>
auto OpenStore::waited_for(Call call) const {
  return must(wait_for(call));
}

OpenStore::OpenStore(Subject& subject, std::uint64_t cache)
    : services_(cache, kThreads, [](Severity, const std::string&) {}),
      store_(store_of(subject.open(), subject.path(), services_)),
      records_(waited_for([&] { return store_.index().totals(ScanDetail::kCounts); }).records) {}

Slice OpenStore::record(std::uint64_t ordinal) const {
  const IndexedChunk indexed = waited_for([&] { return store_.index().find({}, SearchKey::kRecords, ordinal); });
  const RecordRef which{indexed.chunk, ordinal - indexed.before.records};
  return must(store_.records().read({}, which, 0, must(store_.records().size({}, which))));
}

std::uint64_t OpenStore::stream_size() const {
  return waited_for([&] { return store_.streams().size(Stream::kConcat); });
}

Slice OpenStore::stream(std::uint64_t offset, std::uint64_t length) const {
  return waited_for([&] { return store_.streams().read({}, Stream::kConcat, offset, length); });
}

}  // namespace recordfs::bench
