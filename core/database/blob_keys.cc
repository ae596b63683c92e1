#include "core/database/blob_keys.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/database/blob.h"
#include "core/database/entry.h"
#include "core/formats/container.h"
#include "core/formats/rocksdb_blob/format.h"
#include "core/formats/rocksdb_blob/wire.h"

namespace recordfs::database {
namespace {

using rocksdb_blob::kRecordHeaderSize;

class BlobReader {
 public:
  BlobReader(std::shared_ptr<const Source> source, const DirectoryEntry& entry, const Limits& limits,
             LoggedWrites& writes)
      : source_(std::move(source)),
        entry_(entry),
        limits_(limits),
        writes_(writes),
        headers_(framed::header_reader(*source_)) {
    write_.type = kTypeBlob;
    write_.log = writes.add_log(entry.name);
  }

  Result<BlobReplay> run(const RequestContext& context) {
    ASSIGN_OR_RETURN(const auto head, read_up_to(context, *source_, 0, rocksdb_blob::kFileHeaderSize));
    const auto header = rocksdb_blob::parse_file_header(head.view()).value_or(rocksdb_blob::FileHeader{});
    write_.family = header.column_family;
    ASSIGN_OR_RETURN(const auto container, rocksdb_blob::kFormat.open(context, source_, limits_));
    for (std::optional<ChunkKey> at = container->traits().first; at;) {
      TRY(context.spend(0));
      ASSIGN_OR_RETURN(const auto step, container->scan(context, *at));
      for (const DamagedRegion& region : step.damage) take_damage(region);
      if (step.chunk && step.chunk->records != 0u) TRY(read_run(context, *step.chunk, header.compression));
      at = step.next;
    }
    return std::move(replay_);
  }

 private:
  Result<void> read_run(const RequestContext& context, const ChunkInfo& chunk, std::uint8_t compression) {
    for (Position at = chunk.begin; at < chunk.end;) {
      ASSIGN_OR_RETURN(const auto bytes, headers_.from(context, at, kRecordHeaderSize));
      const auto header = rocksdb_blob::parse_record_header(bytes);
      if (!header || !header->fits(chunk.end - at)) return Error{Code::kChanged, at, "the record is no longer there"};
      if (header->key_size > limits_.stored_chunk) return Error{Code::kLimit, at, "a key exceeds the limit"};
      ASSIGN_OR_RETURN(const auto key, read_exactly(context, *source_, at + kRecordHeaderSize, header->key_size));
      const Position value = at + kRecordHeaderSize + header->key_size;
      TRY(take(key.view(), blob_place(entry_.is.number, value, header->value_size, compression)));
      at += header->size();
    }
    return {};
  }

  Result<void> take(Bytes key, std::string place) {
    if (has_write_ && as_text(key) == write_.key) note_ambiguous();
    has_write_ = true;
    write_.key = as_text(key);
    write_.value = std::move(place);
    write_.value_size = write_.value.size();
    return writes_.add(0, write_);
  }

  void take_damage(const DamagedRegion& region) {
    constexpr std::size_t kMost = 1000;
    if (replay_.problems.size() == kMost) return;
    const Code code = region.damage_class == DamageClass::kUnsupported ? Code::kUnsupported : Code::kDamage;
    replay_.problems.push_back({.file = entry_.name, .error = {code, region.begin, region.reason}});
    if (!std::exchange(has_lost_any_, true)) replay_.losses.emplace_back();
  }

  // RocksDB writes the values of a key consecutively.
  void note_ambiguous() {
    constexpr std::size_t kMost = 1000;
    if (replay_.losses.empty() || replay_.losses.back().from != write_.key) ++ambiguous_;
    if (ambiguous_ == 1) {
      replay_.problems.push_back(
          {.file = entry_.name,
           .error = {.code = Code::kUnsupported,
                     .detail = "the file has several values of a key, and does not say which one is the newest"}});
    }
    if (ambiguous_ < kMost) {
      replay_.losses.push_back({.family = write_.family, .from = write_.key, .to = write_.key});
    } else if (!std::exchange(has_lost_any_, true)) {
      replay_.losses.emplace_back();
    }
  }

  const std::shared_ptr<const Source> source_;
  const DirectoryEntry& entry_;
  const Limits& limits_;
  LoggedWrites& writes_;
  WindowedReader headers_;
  LoggedWrites::Pending write_;
  bool has_write_ = false;
  bool has_lost_any_ = false;
  std::size_t ambiguous_ = 0;  // keys with several values
  BlobReplay replay_;
};

}  // namespace

bool are_blob_files(const std::vector<DirectoryEntry>& files) {
  const auto is_blob_file = [](const DirectoryEntry& entry) { return entry.is.kind == FileKind::kBlob; };
  return !files.empty() && std::ranges::all_of(files, is_blob_file);
}

Result<BlobReplay> replay_blob_files(const RequestContext& context, OpenFiles& files,
                                     const std::vector<DirectoryEntry>& entries, const Limits& limits,
                                     LoggedWrites& writes) {
  BlobReplay all;
  for (const DirectoryEntry& entry : entries) {
    ASSIGN_OR_RETURN(auto source, files.open(entry.name));
    ASSIGN_OR_RETURN(auto replay, BlobReader(std::move(source), entry, limits, writes).run(context));
    std::ranges::move(replay.problems, std::back_inserter(all.problems));
    std::ranges::move(replay.losses, std::back_inserter(all.losses));
  }
  return all;
}

}  // namespace recordfs::database
