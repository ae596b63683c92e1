#include <benchmark/benchmark.h>

#include "tests/bench/inprocess/benchmarks.h"
#include "tests/bench/inprocess/open_store.h"

namespace recordfs::bench {
namespace {

constexpr std::uint64_t kReadSize = 128u << 10;  // as the kernel reads
constexpr std::uint64_t kCacheSize = 16u << 20;

void stream(benchmark::State& state, Subject& subject) {
  const OpenStore store(subject, kCacheSize);
  const std::uint64_t size = store.stream_size();
  std::uint64_t at = 0, bytes = 0;
  for (auto _ : state) {
    const Slice piece = store.stream(at, kReadSize);
    benchmark::DoNotOptimize(piece.bytes.data());
    bytes += piece.bytes.size();
    at = at + kReadSize < size ? at + kReadSize : 0;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

}  // namespace

void register_stream(Subject& subject) {
  benchmark::RegisterBenchmark(("stream/" + subject.name()).c_str(), stream, std::ref(subject))->UseRealTime();
}

}  // namespace recordfs::bench
