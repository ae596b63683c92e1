// make_data FORM RECORDS FILE [--print-records]: writes a container of so many log lines.
//
// FORM: riegeli-none, riegeli-zstd or leveldb. With --print-records the lines go to stdout too, one a line, for
// whoever compares. Holds little of the file in memory. Exit status: 0 written, 1 wrong use or not written.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/log_lines.h"
#include "tests/writers/leveldb_log/log_writer.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kChunkBytes = 1u << 20;  // what Riegeli's own writer takes by default

class Container {
 public:
  virtual ~Container() = default;
  virtual void add(std::string record) = 0;
  // The bytes that are ready to be written; at the end all that are left.
  virtual std::string take(bool at_end) = 0;
};

class RiegeliFile final : public Container {
 public:
  explicit RiegeliFile(char compression) : compression_(compression) {}

  void add(std::string record) override {
    bytes_ += record.size();
    records_.push_back(std::move(record));
    if (bytes_ >= kChunkBytes) close_chunk();
  }

  std::string take(bool at_end) override {
    if (at_end && !records_.empty()) close_chunk();
    return writer_.take();
  }

 private:
  void close_chunk() {
    writer_.add(riegeli_writer::simple_chunk(records_, compression_));
    records_.clear();
    bytes_ = 0;
  }

  const char compression_;
  riegeli_writer::Writer writer_;
  std::vector<std::string> records_;
  std::size_t bytes_ = 0;
};

class LeveldbLog final : public Container {
 public:
  void add(std::string record) override { writer_.append(record); }
  std::string take(bool at_end) override {
    std::string bytes = writer_.take_frames();
    if (at_end) bytes += writer_.log();
    return bytes;
  }

 private:
  leveldb_log::LogWriter writer_;
};

std::unique_ptr<Container> container_of(std::string_view form) {
  if (form == "riegeli-none") return std::make_unique<RiegeliFile>('\0');
  if (form == "riegeli-zstd") return std::make_unique<RiegeliFile>('z');
  if (form == "leveldb") return std::make_unique<LeveldbLog>();
  return nullptr;
}

bool put(const std::string& bytes, std::FILE* out) {
  return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
}

bool write_records(Container& container, std::uint64_t records, std::FILE* out, bool print) {
  for (std::uint64_t i = 0; i < records; ++i) {
    std::string line = log_line(i);
    if (print && !put(line + '\n', stdout)) return false;
    container.add(std::move(line));
    if (!put(container.take(false), out)) return false;
  }
  return put(container.take(true), out);
}

int fail(const std::string& reason) {
  std::fprintf(stderr, "make_data: %s\n", reason.c_str());
  return 1;
}

int run(const std::vector<std::string>& words) {
  const bool print = words.size() == 4 && words[3] == "--print-records";
  if (words.size() != 3 && !print) return fail("usage: make_data FORM RECORDS FILE [--print-records]");
  const auto container = container_of(words[0]);
  if (!container) return fail(words[0] + ": not riegeli-none, riegeli-zstd or leveldb");
  std::uint64_t records = 0;
  const char* end = words[1].data() + words[1].size();
  if (std::from_chars(words[1].data(), end, records).ptr != end) return fail(words[1] + ": not a number");
  std::FILE* out = std::fopen(words[2].c_str(), "wbe");
  if (out == nullptr) return fail(words[2] + ": " + std::strerror(errno));
  const bool written = write_records(*container, records, out, print);
  if (std::fclose(out) != 0 || !written) return fail(words[2] + ": not written whole");
  return 0;
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) { return recordfs::bench::run({argv + 1, argv + argc}); }
