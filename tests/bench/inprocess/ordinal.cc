#include <benchmark/benchmark.h>

#include <random>

#include "tests/bench/inprocess/benchmarks.h"
#include "tests/bench/inprocess/open_store.h"

namespace recordfs::bench {
namespace {

constexpr std::uint64_t kNothingCached = 4096;  // bytes: less than a chunk
constexpr std::uint64_t kAllCached = 4ull << 30;
constexpr std::uint64_t kSeed = 11;

void read_one(const OpenStore& store, std::uint64_t ordinal) {
  const Slice record = store.record(ordinal);
  benchmark::DoNotOptimize(record.bytes.data());
}

void random_records(benchmark::State& state, Subject& subject, std::uint64_t cache) {
  const OpenStore store(subject, cache);
  const std::uint64_t records = store.records();
  std::mt19937_64 random(kSeed);
  if (cache == kAllCached) {
    for (std::uint64_t ordinal = 0; ordinal < records; ordinal += 64) read_one(store, ordinal);
  }
  for (auto _ : state) read_one(store, random() % records);
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

void register_ordinal(Subject& subject) {
  const std::string& name = subject.name();
  benchmark::RegisterBenchmark(("ordinal/" + name).c_str(), random_records, std::ref(subject), kNothingCached)
      ->UseRealTime();
  benchmark::RegisterBenchmark(("cached/" + name).c_str(), random_records, std::ref(subject), kAllCached)
      ->UseRealTime();
}

}  // namespace recordfs::bench
