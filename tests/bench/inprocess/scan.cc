#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "core/base/read_window.h"
#include "core/store/scanner.h"
#include "tests/bench/inprocess/benchmarks.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kReadSize = 1u << 20;

void scan(benchmark::State& state, Subject& subject) {
  std::uint64_t bytes = 0, records = 0;
  for (auto _ : state) {
    const Opened file = subject.open();
    ReadWindow window({}, *file.source);  // as in the catalog
    const RequestContext context = RequestContext().with(window);
    Scanner scanner(*file.container, file.source->size(), ScanDetail::kHeaders);
    while (!scanner.at_end()) {
      if (auto stepped = scanner.step(context); !stepped) give_up(subject.path(), stepped.error());
    }
    bytes += file.source->size();
    records += scanner.totals().records;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

void read(benchmark::State& state, Subject& subject) {
  std::vector<char> buffer(kReadSize);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const int file = ::open(subject.path().c_str(), O_RDONLY | O_CLOEXEC);
    while (true) {
      const ssize_t size = ::read(file, buffer.data(), buffer.size());
      if (size <= 0) break;
      bytes += size;
    }
    ::close(file);
  }
  state.SetBytesProcessed(bytes);
}

}  // namespace

void register_scan(Subject& subject) {
  benchmark::RegisterBenchmark(("scan/" + subject.name()).c_str(), scan, std::ref(subject))->UseRealTime();
  benchmark::RegisterBenchmark(("read/" + subject.name()).c_str(), read, std::ref(subject))->UseRealTime();
}

}  // namespace recordfs::bench
