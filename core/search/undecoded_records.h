// The records that a search or a condition could not decode.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/formats/chunk_info.h"

namespace recordfs {

// Thread-safe.
class UndecodedRecords {
 public:
  struct Summary {
    std::uint64_t records = 0;
    Position chunk = 0;  // of the first one that was noted
    std::string path{};  // of its file
    std::string why{};

    // Adds those of later records.
    void add(const Summary& later) {
      const std::uint64_t before = records;
      if (before == 0) *this = later;
      records = before + later.records;
    }
    // Notes a later record.
    void note(const ChunkInfo& of, std::string_view file, const Error& error) {
      if (records++ > 0) return;
      chunk = of.begin;
      path = file;
      why = error.detail.empty() ? to_string(error) : error.detail;
    }
  };

  // Returns whether an error says that a record cannot be decoded, rather than that reading has to stop.
  static bool is_of_record(Code code) {
    return code == Code::kNotFound || code == Code::kDamage || code == Code::kUnsupported;
  }
  void note(const ChunkInfo& chunk, std::string_view path, const Error& error) {
    const std::lock_guard lock(mutex_);
    summary_.note(chunk, path, error);
  }
  Summary summary() const {
    const std::lock_guard lock(mutex_);
    return summary_;
  }

 private:
  mutable std::mutex mutex_;  // guards summary_
  Summary summary_;
};

}  // namespace recordfs
