// bench_inprocess FORM[.KIND]=FILE... [Google Benchmark's options]: measures what needs no mount, on containers written
// by make_data; see benchmarks.h. Exit status: 0 measured, 1 usage error or a file failed.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <deque>
#include <string>

#include "tests/bench/inprocess/benchmarks.h"

namespace recordfs::bench {
namespace {

bool add_subject(const std::string& word, std::deque<Subject>& subjects) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  Subject& subject = subjects.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  for (const auto add : {register_scan, register_decode, register_ordinal, register_stream}) add(subject);
  return true;
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::deque<Subject> subjects;
  for (int i = 1; i < argc; ++i) {
    if (!add_subject(argv[i], subjects)) {
      std::fprintf(stderr, "bench_inprocess: %s: not FORM=FILE\n", argv[i]);
      return 1;
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) { return recordfs::bench::run(argc, argv); }
