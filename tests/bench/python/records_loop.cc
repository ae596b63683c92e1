// records_loop FILE iterate|batches THREADS: reads the records as the Python package does, in C++, and prints the
// seconds. `iterate` adds up the first bytes of all records; `batches` copies 1024 records at a time into one buffer.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "core/dataset/record_stream.h"
#include "core/store/open_container.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kBatch = 1024;

// Takes the records of blocks.
class Loop {
 public:
  explicit Loop(bool copies) : copies_(copies) {}

  void take(const RecordBlock& block) {
    for (const Bytes record : block.records) {
      ++records_;
      if (!record.empty()) sum_ += std::to_integer<std::uint64_t>(record.front());
      if (!copies_) continue;
      if (size_ + record.size() > data_.size() && !data_.grow({}, 2 * (size_ + record.size()))) std::abort();
      copy_bytes(record, data_.span().subspan(size_));
      size_ += record.size();
      if (records_ % kBatch == 0) size_ = 0;
    }
  }
  void print(double seconds) const {
    std::printf("%.6f %llu %llu\n", seconds, static_cast<unsigned long long>(records_),
                static_cast<unsigned long long>(sum_));
  }

 private:
  const bool copies_;
  Buffer data_;
  std::size_t size_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t sum_ = 0;
};

int run(const std::string& path, bool copies, unsigned threads) {
  StoreResources services(64u << 20, executor_threads(), [](Severity, const std::string&) {});
  DataSet set(ShardList{.shards = {{.path = path}}},
              [&](const RequestContext& context, std::size_t,
                  const Shard& shard) -> Result<std::shared_ptr<const RecordStore>> {
                ASSIGN_OR_RETURN(auto opened, open_file(context, shard.path, Limits(), services));
                return std::move(opened.store);
              });
  const auto begin = std::chrono::steady_clock::now();
  RecordStream stream(set, {.threads = threads});
  Loop loop(copies);
  RecordBlock block;
  while (stream.next(block, std::chrono::minutes(10)) == RecordStream::Next::kBlock) {
    if (!block.problems.empty()) return 1;
    loop.take(block);
  }
  loop.print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  return recordfs::bench::run(argv[1], std::string_view(argv[2]) == "batches",
                              static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)));
}
