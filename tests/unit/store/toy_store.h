// A RecordStore over a toy file, and what tests of the store need for it: waiting, log lines, gates, and sources that
// fail or change.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/store/record_store.h"
#include "tests/toy/toy_format.h"
#include "tests/unit/support/signal.h"
#include "tests/unit/support/waited.h"

namespace recordfs::testing {

// Blocks threads that pass a position at or after a limit. Initially open.
class Gate {
 public:
  void pass(Position position) {
    std::unique_lock lock(mutex_);
    if (position >= limit_) {
      ++held_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return position < limit_; });
      --held_;
    }
  }
  void close_from(Position limit) { set(limit); }
  void open() { set(UINT64_MAX); }
  // Waits until a thread is blocked.
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ > 0; });
  }

 private:
  void set(Position limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  Position limit_ = UINT64_MAX;
  int held_ = 0;
};

// A source in memory. Tests can replace its bytes and make its reads fail.
class ChangeableSource final : public Source {
 public:
  explicit ChangeableSource(std::string bytes) : size_(bytes.size()), bytes_(std::move(bytes)) {}

  void fail(int reads, Error error) {
    const std::lock_guard lock(mutex_);
    failing_reads_ = reads;
    error_ = std::move(error);
  }
  void rewrite(std::string bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ = std::move(bytes);
  }

  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    const std::lock_guard lock(mutex_);
    if (failing_reads_ > 0) {
      --failing_reads_;
      return error_;
    }
    if (at >= bytes_.size()) return std::size_t{0};
    const std::size_t length = std::min(out.size(), bytes_.size() - static_cast<std::size_t>(at));
    if (length > 0) std::memcpy(out.data(), bytes_.data() + at, length);
    return length;
  }

 private:
  const std::uint64_t size_;
  mutable std::mutex mutex_;
  std::string bytes_;
  mutable int failing_reads_ = 0;
  Error error_;
};

inline Error bad_sector() { return {.code = Code::kIo, .detail = "bad sector", .os_error = 5}; }

// Collects log lines.
class Lines {
 public:
  Log log() {
    return [this](Severity severity, const std::string& line) {
      const std::lock_guard lock(mutex_);
      (severity == Severity::kDetail ? details_ : lines_).push_back(line);
    };
  }
  // Returns the lines without details.
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::vector<std::string> details() const {
    const std::lock_guard lock(mutex_);
    return details_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<std::string> details_;
};

struct ToyStore {
  explicit ToyStore(const toy::Shape& shape, Catalog::Bounds bounds = {}, std::uint64_t cache_bytes = 64u << 20)
      : file(toy::make_file(shape)),
        source(std::make_shared<ChangeableSource>(file.bytes)),
        services(cache_bytes, 2, lines.log()),
        store(std::make_shared<RecordStore>("toy", source, toy::open(source, Limits{}, watch).value(), services,
                                            bounds)) {}

  ChunkInfo chunk(std::size_t number) const {
    return waited([&] { return store->index().chunk_at({}, file.begins[number]); }).value();
  }

  toy::File file;
  std::shared_ptr<ChangeableSource> source;
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  Lines lines;
  StoreResources services;
  std::shared_ptr<RecordStore> store;
};

inline std::string text_of(const Slice& slice) { return std::string(as_text(slice.bytes)); }

}  // namespace recordfs::testing
