#include "core/database/new_database.h"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/protobuf.h"
#include "core/codec/codec.h"
#include "core/formats/leveldb_log/writer.h"
#include "core/formats/leveldb_table/writer.h"

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

Result<std::vector<Family>> writable_families(const Database& source) {
  auto families = source.families();
  for (const Family& family : families) {
    if (!family.is_ordered) {
      return Error{.code = Code::kUnsupported,
                   .detail = fmt::format("the order of its keys is unknown: {}", family.comparator)};
    }
    if (family.has_timestamps) {
      return Error{.code = Code::kUnsupported, .detail = "recover does not write keys with timestamps"};
    }
  }
  return families;
}

bool needs_tables(const Database& source) {
  return source.summary().engine != "LevelDB" || source.families().size() > 1;
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

namespace {

// Gathers entries with the sequence number 0.
class NewTable final : public KeyWriter {
 public:
  explicit NewTable(std::unique_ptr<RecordWriter> table) : table_(std::move(table)), gatherer_(*table_) {}

  Result<void> add(Bytes key, Bytes value) override {
    if (key.size() > kLongestText - kInternalSize || value.size() > kLongestText) {
      return Error{.code = Code::kLimit, .detail = "a key or value of more than 4 GiB"};
    }
    std::string internal(as_text(key));
    append_le(internal, std::uint64_t{kSetsValue});
    std::string entry;
    append_text(entry, as_bytes(internal));
    append_text(entry, value);
    return gatherer_.add({}, as_bytes(entry));
  }
  Result<void> finish() override {
    TRY(gatherer_.flush({}));
    return table_->finish({});
  }

 private:
  static constexpr std::uint64_t kInternalSize = 8;  // sequence number and type

  const std::unique_ptr<RecordWriter> table_;
  RecordGatherer gatherer_;
};

}  // namespace

Result<std::unique_ptr<KeyWriter>> open_new_table(ByteSink& sink, const Family& family) {
  constexpr std::uint32_t kExternalVersion = 2;  // of SstFileWriter
  leveldb_table::PropertyMap properties;
  properties["rocksdb.comparator"] = family.comparator.empty() ? kUsualComparator : std::string_view(family.comparator);
  if (!family.name.empty()) properties["rocksdb.column.family.name"] = family.name;
  append_le(properties["rocksdb.external_sst_file.version"], kExternalVersion);
  append_le(properties["rocksdb.external_sst_file.global_seqno"], std::uint64_t{0});
  // Not compressed, because a build of RocksDB may lack any codec.
  const WriterOptions options{.codec = std::string(to_string(CodecId::kNone)),
                              .stored_metadata = leveldb_table::rocksdb_metadata(properties)};
  ASSIGN_OR_RETURN(auto table, leveldb_table::kWriter.open({}, sink, options));
  return std::unique_ptr<KeyWriter>(std::make_unique<NewTable>(std::move(table)));
}

}  // namespace recordfs::database
