#include "core/formats/leveldb_table/records.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/formats/leveldb_table/entries.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint64_t kFailedSize = 1;

std::uint64_t varint_size(std::uint64_t number) {
  std::uint64_t size = 1;
  for (; number >= 0x80; number >>= 7) ++size;
  return size;
}

std::uint64_t record_size(const Entry& entry) {
  return varint_size(entry.key_size()) + entry.key_size() + varint_size(entry.value.size()) + entry.value.size();
}

// Writes records forwards.
class RecordWriter {
 public:
  explicit RecordWriter(MutableBytes out) : out_(out) {}

  void add(const Entry& entry) {
    put_number(entry.key_size());
    const std::size_t key = written_;
    put(out_.subspan(key_, static_cast<std::size_t>(entry.shared)));
    put(entry.suffix);
    key_ = key;
    put_number(entry.value.size());
    put(entry.value);
  }
  void add_failed() { out_[written_++] = std::byte{0}; }

 private:
  void put(Bytes bytes) {
    copy_bytes(bytes, out_.subspan(written_));
    written_ += bytes.size();
  }
  void put_number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out_[written_++] = static_cast<std::byte>((number & 0x7f) | 0x80);
    out_[written_++] = static_cast<std::byte>(number);
  }

  MutableBytes out_;
  std::size_t written_ = 0;
  std::size_t key_ = 0;  // where the previous key begins
};

Result<Extents> split(Bytes content, Position begin, const Dialect& dialect) {
  const auto extents = split_content(content, dialect.is_rocksdb);
  if (!extents) return Error{Code::kDamage, begin, "the restart points would not fit the block"};
  return *extents;
}

// Passes each entry to `take`, or nullopt in place of unreadable bytes. `take` returns whether to continue.
template <class Take>
void for_each(const Extents& extents, const Take& take) {
  EntryReader reader(extents);
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (!take(entry) || (!entry && !reader.go_to_restart())) return;
  }
}

}  // namespace

Result<Layout> layout_records(const RequestContext& context, Bytes content, Position begin, const Dialect& dialect,
                              const Limits& limits) {
  ASSIGN_OR_RETURN(const auto extents, split(content, begin, dialect));
  Layout layout;
  const Error failure{Code::kDamage, begin, "an entry of the block exceeds it, or shares more than the previous key"};
  std::optional<Error> refusal;
  for_each(extents, [&](const std::optional<Entry>& entry) {
    const std::uint64_t size = entry ? record_size(*entry) : kFailedSize;
    if (layout.records() == limits.records_per_chunk) {
      refusal = {Code::kLimit, begin, fmt::format("the block has more than {} entries", limits.records_per_chunk)};
    } else if (size > limits.decoded_chunk - layout.end()) {
      refusal = {Code::kLimit, begin,
                 fmt::format("the block's keys and values are more than {} bytes", limits.decoded_chunk)};
    } else if (entry) {
      layout.add(context, size);
    } else {
      layout.add_failed(context, size, failure);
    }
    return !refusal.has_value();
  });
  if (refusal) return *refusal;
  return layout;
}

Result<std::shared_ptr<const Chunk>> decode_records(const RequestContext& context, Bytes content, Position begin,
                                                    const Dialect& dialect, const Limits& limits) {
  ASSIGN_OR_RETURN(auto layout, layout_records(context, content, begin, dialect, limits));
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(layout.end())));
  RecordWriter writer(payload.span());
  for_each(*split(content, begin, dialect), [&](const std::optional<Entry>& entry) {
    entry ? writer.add(*entry) : writer.add_failed();
    return true;
  });
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

std::optional<Record> parse_record(Bytes record) {
  Cursor cursor(record);
  Record parsed;
  parsed.key = cursor.take(cursor.varint32());
  parsed.value = cursor.take(cursor.varint32());
  if (!cursor.ok() || !cursor.at_end()) return std::nullopt;
  return parsed;
}

}  // namespace recordfs::leveldb_table
