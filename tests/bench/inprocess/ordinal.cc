#include <benchmark/benchmark.h>

#include <random>

#include "tests/bench/inprocess/benchmarks.h"
#include "tests/bench/inprocess/open_store.h"

namespace recordfs::bench {
namespace {

// In bytes: a few chunks. With a smaller cache, a chunk would count as too large to hold and be read by parts.
constexpr std::uint64_t kFewCached = 8ull << 20;
constexpr std::uint64_t kAllCached = 4ull << 30;
constexpr std::uint64_t kSeed = 11;

void read_one(const OpenStore& store, std::uint64_t ordinal) {
  const Slice record = store.record(ordinal);
  benchmark::DoNotOptimize(record.bytes.data());
}

// Reads each record far from the previous ones, so that its chunk is not cached.
void random_records(benchmark::State& state, Subject& subject) {
  const OpenStore store(subject, kFewCached);
  const std::uint64_t records = store.records();
  const std::uint64_t least = records / 7 + 1;
  std::mt19937_64 random(kSeed);
  std::uint64_t ordinal = 0;
  for (auto _ : state) {
    ordinal = (ordinal + least + random() % least) % records;
    read_one(store, ordinal);
  }
  state.SetItemsProcessed(state.iterations());
}

void cached_records(benchmark::State& state, Subject& subject) {
  const OpenStore store(subject, kAllCached);
  const std::uint64_t records = store.records();
  std::mt19937_64 random(kSeed);
  for (std::uint64_t ordinal = 0; ordinal < records; ordinal += 64) read_one(store, ordinal);
  for (auto _ : state) read_one(store, random() % records);
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

void register_ordinal(Subject& subject) {
  const std::string& name = subject.name();
  benchmark::RegisterBenchmark(("ordinal/" + name).c_str(), random_records, std::ref(subject))->UseRealTime();
  benchmark::RegisterBenchmark(("cached/" + name).c_str(), cached_records, std::ref(subject))->UseRealTime();
}

}  // namespace recordfs::bench
