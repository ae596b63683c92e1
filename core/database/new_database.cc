#include "core/database/new_database.h"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/protobuf.h"
#include "core/formats/leveldb_log/writer.h"

namespace recordfs::database {
namespace {

constexpr std::size_t kBatchSize = 64u << 10;  // bytes of writes, unless one is larger
constexpr std::uint64_t kLongestText = UINT32_MAX;

// Tags of LevelDB's version_edit.cc, and the type of a write that sets a value.
constexpr std::uint64_t kComparatorTag = 1;
constexpr std::uint64_t kLogNumberTag = 2;
constexpr std::uint64_t kNextFileTag = 3;
constexpr std::uint64_t kLastSequenceTag = 4;
constexpr std::uint64_t kPreviousLogTag = 9;
constexpr char kSetsValue = 1;

constexpr std::uint64_t kLogNumber = 3;
constexpr std::string_view kUsualComparator = "leveldb.BytewiseComparator";

struct StringSink final : ByteSink {
  std::string bytes;
  Result<void> write(Bytes more) override {
    bytes += as_text(more);
    return {};
  }
};

void append_text(std::string& out, Bytes text) {
  protobuf::append_varint(out, text.size());
  out += as_text(text);
}

Result<void> append_record(RecordWriter& log, std::string_view record) {
  const Bytes bytes = as_bytes(record);
  ASSIGN_OR_RETURN(const auto encoded, log.encode({}, std::span(&bytes, 1)));
  return log.append({}, encoded);
}

}  // namespace

Result<Family> writable_family(const Database& source) {
  const auto families = source.families();
  if (source.summary().engine != "LevelDB" || families.size() != 1) {
    return Error{.code = Code::kUnsupported, .detail = "recover does not write databases of RocksDB yet"};
  }
  if (families.front().is_ordered) return families.front();
  return Error{.code = Code::kUnsupported,
               .detail = fmt::format("the order of its keys is unknown: {}", families.front().comparator)};
}

Result<std::string> new_manifest(const Family& family) {
  std::string edit;
  protobuf::append_varint(edit, kComparatorTag);
  append_text(edit, as_bytes(family.comparator.empty() ? kUsualComparator : std::string_view(family.comparator)));
  for (const auto& [tag, number] :
       {std::pair{kLogNumberTag, kLogNumber}, std::pair{kPreviousLogTag, std::uint64_t{0}},
        std::pair{kNextFileTag, kLogNumber + 1}, std::pair{kLastSequenceTag, std::uint64_t{0}}}) {
    protobuf::append_varint(edit, tag);
    protobuf::append_varint(edit, number);
  }
  StringSink sink;
  const auto log = leveldb_log::log_writer(sink, {});
  TRY(append_record(*log, edit));
  TRY(log->finish({}));
  return std::move(sink.bytes);
}

NewLog::NewLog(ByteSink& sink) : log_(leveldb_log::log_writer(sink, {})) {}

Result<void> NewLog::add(Bytes key, Bytes value) {
  if (key.size() > kLongestText || value.size() > kLongestText) {
    return Error{.code = Code::kLimit, .detail = "a key or value of more than 4 GiB"};
  }
  if (count_ > 0 && writes_.size() + key.size() + value.size() > kBatchSize) TRY(write_batch());
  writes_ += kSetsValue;
  append_text(writes_, key);
  append_text(writes_, value);
  ++count_;
  return {};
}

Result<void> NewLog::write_batch() {
  std::string batch;
  append_le(batch, sequence_);
  append_le(batch, count_);
  batch += writes_;
  sequence_ += std::exchange(count_, 0);
  writes_.clear();
  return append_record(*log_, batch);
}

Result<void> NewLog::finish() {
  if (count_ > 0) TRY(write_batch());
  return log_->finish({});
}

}  // namespace recordfs::database
