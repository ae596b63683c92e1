// Writes files to memory with the writers of formats, and reads them as any file is read.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/record_writer.h"
#include "core/formats/registry.h"

namespace recordfs {

struct MemorySink final : ByteSink {
  std::string bytes;
  Result<void> write(Bytes more) override {
    bytes += as_text(more);
    return {};
  }
  Result<void> rewrite(Position begin, Bytes other) override {
    EXPECT_LE(begin + other.size(), bytes.size());
    bytes.replace(begin, other.size(), as_text(other));
    return {};
  }
};

struct FailingSink final : ByteSink {
  Result<void> write(Bytes) override { return system_error(ENOSPC); }
};

// Writes records through a gatherer, and finishes the file.
inline Result<void> write_all(const RequestContext& context, RecordWriter& writer,
                              const std::vector<std::string>& records) {
  RecordGatherer gatherer(writer);
  for (const std::string& record : records) TRY(gatherer.add(context, as_bytes(record)));
  TRY(gatherer.flush(context));
  return writer.finish(context);
}

inline std::string written(const FileWriter& format, const std::vector<std::string>& records,
                           const WriterOptions& options = {}) {
  MemorySink sink;
  const auto writer = format.open({}, sink, options);
  EXPECT_TRUE(writer && write_all({}, **writer, records));
  return sink.bytes;
}

struct WrittenFile {
  std::shared_ptr<const Source> source;
  std::unique_ptr<const Container> container;
  std::vector<ChunkInfo> chunks{};
  std::vector<std::string> problems{};
};

// Opens a file, and scans and verifies it.
inline WrittenFile open_written(const std::string& bytes) {
  WrittenFile file{std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value()), nullptr};
  auto container = open_container({}, file.source, "x", Limits{});
  if (!container) {
    file.problems.push_back(to_string(container.error()));
    return file;
  }
  file.container = std::move(*container);
  for (std::optional<ChunkKey> at = file.container->traits().first; at;) {
    const auto step = file.container->scan({}, *at);
    if (!step) {
      file.problems.push_back(to_string(step.error()));
      break;
    }
    for (const DamagedRegion& region : step->damage) file.problems.push_back(region.reason);
    if (step->chunk) {
      file.chunks.push_back(*step->chunk);
      if (const auto verified = file.container->verify({}, *step->chunk); !verified) {
        file.problems.push_back(to_string(verified.error()));
      }
    }
    at = step->next;
  }
  return file;
}

struct WrittenRecords {
  std::string format;
  std::vector<std::string> problems;
  std::vector<std::string> records;
};

inline WrittenRecords read_written(const std::string& bytes) {
  const WrittenFile file = open_written(bytes);
  WrittenRecords all{.format = {}, .problems = file.problems, .records = {}};
  if (!file.container) return all;
  all.format = file.container->traits().format;
  for (const ChunkInfo& info : file.chunks) {
    const auto chunk = file.container->decode({}, info);
    for (std::uint64_t i = 0; chunk && i < (*chunk)->layout().records(); ++i) {
      const Extent extent = (*chunk)->layout().extent(i);
      const auto record = (*chunk)->read({}, extent.begin, extent.size);
      all.records.emplace_back(record ? as_text(record->bytes) : "unreadable");
    }
  }
  return all;
}

// Returns a file of the chunks of another one, which are copied as they are stored if the writer can.
inline std::string copied(const FileWriter& format, const std::string& bytes) {
  const WrittenFile file = open_written(bytes);
  EXPECT_NE(file.container, nullptr);
  if (!file.container) return {};
  const auto options = format.like({}, *file.container, *file.source);
  MemorySink sink;
  const auto writer = options ? format.open({}, sink, *options) : options.error();
  EXPECT_TRUE(writer);
  if (!writer) return {};
  RecordGatherer gatherer(**writer);
  for (const ChunkInfo& info : file.chunks) {
    EXPECT_TRUE(gatherer.flush({}));
    if ((*writer)->can_append_stored(info)) {
      EXPECT_TRUE((*writer)->append_stored({}, *file.source, info));
      continue;
    }
    const auto chunk = file.container->decode({}, info);
    for (std::uint64_t i = 0; chunk && i < (*chunk)->layout().records(); ++i) {
      const Extent extent = (*chunk)->layout().extent(i);
      EXPECT_TRUE(gatherer.add({}, (*chunk)->read({}, extent.begin, extent.size)->bytes));
    }
  }
  EXPECT_TRUE(gatherer.flush({}) && (*writer)->finish({}));
  return sink.bytes;
}

}  // namespace recordfs
