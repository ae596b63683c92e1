#include "tests/bench/inprocess/open_store.h"

#include <latch>
#include <memory>
#include <utility>

namespace recordfs::bench {
namespace {

constexpr unsigned kThreads = 2;

RecordStore store_of(Opened file, const std::string& path, Services& services) {
  return RecordStore(path, std::move(file.source), std::move(file.container), services);
}

}  // namespace

template <class Call>
auto OpenStore::waited_for(Call call) const {
  while (true) {
    WaitTicket ticket;
    auto outcome = call(ticket);
    if (outcome || outcome.error().code != Code::kPending) return must(std::move(outcome));
    const auto reached = std::make_shared<std::latch>(1);
    if (ticket.waitable->wait(ticket, [reached] { reached->count_down(); }) != 0) reached->wait();
  }
}

OpenStore::OpenStore(Subject& subject, std::uint64_t cache)
    : services_(cache, kThreads, [](Severity, const std::string&) {}),
      store_(store_of(subject.open(), subject.path(), services_)),
      records_(waited_for([&](WaitTicket& ticket) { return store_.record_totals(ticket); }).records) {}

Slice OpenStore::record(std::uint64_t ordinal) const {
  const IndexedChunk indexed = waited_for([&](WaitTicket& ticket) { return store_.chunk_by_ordinal(ordinal, ticket); });
  const RecordRef which{indexed.chunk, ordinal - indexed.before.records};
  return must(store_.read_record(which, 0, must(store_.record_size(which))));
}

std::uint64_t OpenStore::stream_size() const {
  return waited_for([&](WaitTicket& ticket) { return store_.stream_size(Stream::kConcat, ticket); });
}

Slice OpenStore::stream(std::uint64_t offset, std::uint64_t length) const {
  return waited_for([&](WaitTicket& ticket) { return store_.read_stream(Stream::kConcat, offset, length, ticket); });
}

}  // namespace recordfs::bench
