// Stores called by non-blocking threads, and by callers that are cancelled.
#include <atomic>

#include <gtest/gtest.h>

#include "core/base/request_context.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

constexpr std::size_t kWhole = 1 << 20;

std::string read_whole(const RecordStore& store, const RecordRef& record) {
  const auto slice = store.records().read({}, record, 0, kWhole);
  return slice ? text_of(*slice) : "error: " + std::string(to_string(slice.error().code));
}

TEST(Callers, NonBlockingThreadIsRefusedALargeLayoutWithoutALogLine) {
  ToyStore toy({.chunks = 6, .counts_in_header = false});
  toy.watch->on_layout = [](const RequestContext& context, Position) {
    context.announce(RequestContext::kLargeAllocation);
  };
  {
    RequestContext::Attempt attempt;
    const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
    EXPECT_FALSE(toy.store->index().first_with_records(quick));
    EXPECT_TRUE(quick.was_refused());
  }
  EXPECT_TRUE(toy.store->index().first_with_records({}).value());
  EXPECT_EQ(toy.lines.all(), std::vector<std::string>{});
}

// Makes a large allocation before it decodes.
class Bomb final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    TRY(Buffer::allocate(context, RequestContext::kLargeAllocation));
    return ForwardingContainer::decode(context, chunk);
  }
};

TEST(Callers, NonBlockingThreadIsRefusedABombUntilItIsDecoded) {
  ToyStore toy({});
  const RecordStore store("toy", toy.source, std::make_unique<Bomb>(toy::open(toy.source, Limits{}).value()),
                          toy.services);
  const auto read_quickly = [&](const ChunkInfo& chunk) {
    RequestContext::Attempt attempt;
    const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
    const auto read = store.records().read(quick, {chunk, 0}, 0, kWhole);
    EXPECT_EQ(read.has_value(), !quick.was_refused());
    return read ? text_of(*read) : std::string("refused");
  };
  const ChunkInfo chunk = store.index().chunk_at({}, toy.file.begins[0]).value();
  EXPECT_EQ(read_quickly(chunk), "refused");
  EXPECT_EQ(read_whole(store, {chunk, 0}), toy.file.records[0]);
  EXPECT_EQ(read_quickly(chunk), toy.file.records[0]);
  EXPECT_EQ(toy.lines.all(), std::vector<std::string>{});
}

TEST(Callers, CancelledThreadDecodesNoBombAndCachesNoFailure) {
  ToyStore toy({});
  const RecordStore store("toy", toy.source, std::make_unique<Bomb>(toy::open(toy.source, Limits{}).value()),
                          toy.services);
  const ChunkInfo chunk = store.index().chunk_at({}, toy.file.begins[0]).value();
  {
    const std::atomic<bool> cancelled{true};
    const RequestContext context(cancelled);
    EXPECT_EQ(store.records().read(context, {chunk, 0}, 0, kWhole).error().code, Code::kInterrupted);
  }
  EXPECT_EQ(read_whole(store, {chunk, 0}), toy.file.records[0]);
  EXPECT_EQ(toy.lines.all(), std::vector<std::string>{});
}

TEST(Callers, LargeChunkDoesNotWaitForABomb) {
  constexpr std::uint64_t kBudget = 20000;
  ToyStore toy({.chunks = 1, .records_per_chunk = 1000}, {}, kBudget);
  const DecodeBudget::Share bomb({}, toy.services.budgets_of(0).slow, kBudget);
  EXPECT_EQ(read_whole(*toy.store, {toy.chunk(0), 0}), toy.file.records[0]);
}

}  // namespace
}  // namespace recordfs::testing
