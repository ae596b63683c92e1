#include "core/formats/leveldb_table/entries.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/leveldb_table/entity.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::size_t kTagSize = 8;

constexpr std::size_t kRestartSize = 4;
constexpr std::uint32_t kHashFlag = 1u << 31;  // a hash table is between the restarts and their number
constexpr std::uint32_t kUnknownFlag = 1u << 30;
constexpr std::uint32_t kUniformFlag = 1u << 29;   // only a hint for searches: the keys are evenly distributed
constexpr std::uint32_t kSeparateFlag = 1u << 28;  // values apart from the keys; their offset is before the number
constexpr std::uint32_t kFlags = kHashFlag | kUnknownFlag | kUniformFlag | kSeparateFlag;

// Returns the content without its hash table: a byte for each bucket, and a 2-byte count.
std::optional<Bytes> without_hashes(Bytes content) {
  constexpr std::size_t kCountSize = 2;
  if (content.size() < kCountSize) return std::nullopt;
  Cursor cursor(content.last(kCountSize));
  const std::size_t buckets = cursor.u16_le();
  content = content.first(content.size() - kCountSize);
  if (content.size() < buckets) return std::nullopt;
  return content.first(content.size() - buckets);
}

// No database has reached it, but keys that are not internal often exceed it when parsed as internal.
constexpr std::uint64_t kLargestSequence = std::uint64_t{1} << 48;
constexpr std::uint64_t kSequenceOfSeeks = (std::uint64_t{1} << 56) - 1;  // in shortened keys of an index

bool has_type_of_leveldb(const InternalKey& key) { return key.type == kDelete || key.type == kPut; }

constexpr std::uint64_t kFailedSize = 1;

std::uint64_t varint_size(std::uint64_t number) {
  std::uint64_t size = 1;
  for (; number >= 0x80; number >>= 7) ++size;
  return size;
}

std::uint64_t size_of(const Entry& entry) { return record_size(entry.key_size(), entry.value.size()); }

// Writes records forwards.
class RecordWriter {
 public:
  // `content`, if not null, has the entries. Frees its memory up to what was written.
  explicit RecordWriter(MutableBytes out, Buffer* content = nullptr) : out_(out), content_(content) {}

  void add(const Entry& entry) {
    put_number(entry.key_size());
    const std::size_t key = written_;
    put(out_.subspan(key_, static_cast<std::size_t>(entry.shared)));
    take(entry.suffix);
    key_ = key;
    put_number(entry.value.size());
    take(entry.value);
  }
  std::size_t written() const { return written_; }
  void add_failed() { out_[written_++] = std::byte{0}; }

 private:
  static constexpr std::size_t kFreed = 4u << 20;  // bytes at once

  // Writes bytes of the content.
  void take(Bytes bytes) {
    for (; content_ != nullptr && bytes.size() > kFreed; bytes = bytes.subspan(kFreed)) {
      put(bytes.first(kFreed));
      free_before(bytes.data() + kFreed);
    }
    put(bytes);
    if (content_ != nullptr && !bytes.empty()) free_before(bytes.data() + bytes.size());
  }
  void free_before(const std::byte* end) {
    const auto size = static_cast<std::size_t>(end - content_->data());
    if (size - freed_ < kFreed) return;
    content_->release(freed_, size);
    freed_ = size;
  }
  void put(Bytes bytes) {
    copy_bytes(bytes, out_.subspan(written_));
    written_ += bytes.size();
  }
  void put_number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out_[written_++] = static_cast<std::byte>((number & 0x7f) | 0x80);
    out_[written_++] = static_cast<std::byte>(number);
  }

  MutableBytes out_;
  Buffer* content_;
  std::size_t freed_ = 0;  // bytes of the content
  std::size_t written_ = 0;
  std::size_t key_ = 0;  // where the previous key begins
};

constexpr std::size_t kLargeContent = 512u << 10;  // bytes
constexpr std::size_t kLargestMovedKey = 64u << 10;

// Makes the only entry of a block a record in the same memory: what precedes the value is rewritten before it. Returns
// null, and leaves the content unchanged, if that is not possible.
std::shared_ptr<const Chunk> keep_only_record(Buffer& content, const Extents& extents, Layout& layout) {
  if (content.size() < kLargeContent || layout.records() != 1 || layout.has_failures()) return nullptr;
  const auto entry = EntryReader(extents).next();
  if (!entry || entry->suffix.size() > kLargestMovedKey || entry->value.empty()) return nullptr;
  const auto value = static_cast<std::size_t>(entry->value.data() - content.data());
  const std::size_t end = value + entry->value.size();
  const std::string front = record_front(entry->suffix, entry->value.size());
  if (front.size() > value) return nullptr;
  copy_bytes(as_bytes(front), content.span().subspan(value - front.size()));
  content.truncate(end);
  return std::make_shared<BufferChunk>(std::move(content), std::move(layout), value - front.size());
}

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

constexpr std::uint8_t kSingleDelete = 7;
constexpr std::uint8_t kDeleteRange = 15;
constexpr std::uint8_t kDeleteWithTimestamp = 20;
constexpr std::uint8_t kEntity = 22;

struct Content {
  Bytes key;    // the user's key
  Bytes value;  // empty for deletions
  std::optional<InternalKey> tag;

  bool has_value() const { return !tag || !value.empty() || (tag->type != kDelete && tag->type != kSingleDelete); }
};

Result<Content> content_of(Bytes record, bool has_database_keys) {
  const auto parsed = parse_record(record);
  if (!parsed) return Error{.code = Code::kDamage, .detail = "not a table entry"};
  if (!has_database_keys) return Content{parsed->key, parsed->value, std::nullopt};
  const auto internal = parse_internal(parsed->key);
  if (!internal) return Error{.code = Code::kDamage, .detail = "key shorter than an internal key"};
  return Content{internal->user_key, parsed->value, internal};
}

std::string name_of(std::uint8_t type) {
  const std::string_view name = type_name(type);
  return name.empty() ? fmt::format("type {}", type) : std::string(name);
}

KeyChangeKind kind_of(std::uint8_t type) {
  switch (type) {
    case kPut: return KeyChangeKind::kSet;
    case kDelete:
    case kSingleDelete:
    case kDeleteWithTimestamp: return KeyChangeKind::kDelete;
    case kDeleteRange: return KeyChangeKind::kDeleteRange;
    default: return KeyChangeKind::kUnknown;
  }
}

}  // namespace

std::optional<Extents> split_content(Bytes content, bool may_have_flags) {
  if (content.size() < kRestartSize) return std::nullopt;
  Cursor cursor(content.last(kRestartSize));
  std::uint32_t count = cursor.u32_le();
  content = content.first(content.size() - kRestartSize);
  const std::uint32_t flags = may_have_flags ? count & kFlags : 0;
  count &= ~flags;
  if ((flags & kUnknownFlag) != 0) return std::nullopt;
  std::optional<std::size_t> values_begin;
  if ((flags & kSeparateFlag) != 0) {
    if (content.size() < kRestartSize) return std::nullopt;
    values_begin = Cursor(content.last(kRestartSize)).u32_le();
    content = content.first(content.size() - kRestartSize);
  }
  if ((flags & kHashFlag) != 0) {
    const auto rest = without_hashes(content);
    if (!rest) return std::nullopt;
    content = *rest;
  }
  if (count == 0 || count > content.size() / kRestartSize) return std::nullopt;  // writers always add the first one
  const std::size_t size = count * kRestartSize;
  Extents extents{content.first(content.size() - size), content.last(size)};
  if (!values_begin) return extents;
  if (*values_begin > extents.entries.size()) return std::nullopt;
  extents.values = extents.entries.subspan(*values_begin);
  extents.entries = extents.entries.first(*values_begin);
  return extents;
}

std::size_t EntryReader::restart(std::size_t index) const {
  return Cursor(extents_.restarts.subspan(index * kRestartSize)).u32_le();
}

std::optional<Entry> EntryReader::next() {
  if (extents_.values) return next_apart();
  Cursor cursor(rest());
  Entry entry;
  entry.shared = cursor.varint32();
  const std::uint32_t suffix = cursor.varint32();
  const std::uint32_t value = has_values_ ? cursor.varint32() : 0;
  entry.suffix = cursor.take(suffix);
  entry.value = cursor.take(value);
  if (!cursor.ok() || entry.shared > key_size_) return std::nullopt;
  next_ += cursor.offset();
  key_size_ = entry.key_size();
  return entry;
}

// The entry at a restart point has the offset of its value too; the others' values follow the previous one.
std::optional<Entry> EntryReader::next_apart() {
  if (!has_values_) return std::nullopt;  // blocks whose values do not state their sizes never have them apart
  Cursor cursor(rest());
  Entry entry;
  entry.shared = cursor.varint32();
  const std::uint32_t suffix = cursor.varint32();
  const std::uint32_t value = cursor.varint32();
  const std::size_t value_begin = is_at_restart() ? cursor.varint32() : next_value_;
  entry.suffix = cursor.take(suffix);
  const Bytes values = *extents_.values;
  if (!cursor.ok() || entry.shared > key_size_) return std::nullopt;
  if (value_begin > values.size() || value > values.size() - value_begin) return std::nullopt;
  entry.value = values.subspan(value_begin, value);
  next_ += cursor.offset();
  next_value_ = value_begin + value;
  key_size_ = entry.key_size();
  return entry;
}

bool EntryReader::is_at_restart() {
  const std::size_t count = restarts();
  while (next_restart_ < count && restart(next_restart_) < next_) ++next_restart_;
  return next_restart_ < count && restart(next_restart_) == next_;
}

std::size_t EntryReader::restarts() const { return extents_.restarts.size() / kRestartSize; }

void EntryReader::go_to(std::size_t index) {
  next_ = std::min(restart(index), extents_.entries.size());
  next_restart_ = index;
  key_size_ = 0;
}

bool EntryReader::go_to_restart() {
  const std::size_t count = restarts();
  while (next_restart_ < count && restart(next_restart_) <= next_) ++next_restart_;
  if (next_restart_ == count || restart(next_restart_) >= extents_.entries.size()) return false;
  next_ = restart(next_restart_);
  key_size_ = 0;
  return true;
}

Bytes KeyBuilder::key(const Entry& entry) {
  key_.resize(static_cast<std::size_t>(entry.shared));
  key_ += as_text(entry.suffix);
  return as_bytes(key_);
}

std::optional<InternalKey> parse_internal(Bytes key) {
  if (key.size() < kTagSize) return std::nullopt;
  const std::uint64_t tag = Cursor(key.last(kTagSize)).u64_le();
  return InternalKey{key.first(key.size() - kTagSize), tag >> 8, static_cast<std::uint8_t>(tag & 0xff)};
}

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case kDelete: return "delete";
    case kPut: return "put";
    case 0x02: return "merge";
    case 0x07: return "single_delete";
    case 0x0f: return "delete_range";
    case 0x11: return "blob_index";
    case 0x14: return "delete_with_timestamp";
    case 0x16: return "put_entity";
    case 0x18: return "timed_put";
    default: return {};
  }
}

bool is_entry_of_database(Bytes key, Bytes value) {
  const auto parsed = parse_internal(key);
  return parsed && has_type_of_leveldb(*parsed) && parsed->sequence < kLargestSequence &&
         (parsed->type == kPut || value.empty());
}

bool is_index_key_of_database(Bytes key) {
  const auto parsed = parse_internal(key);
  return parsed && has_type_of_leveldb(*parsed) &&
         (parsed->sequence < kLargestSequence || parsed->sequence == kSequenceOfSeeks);
}

Result<Layout> layout_records(const RequestContext& context, Bytes content, Position begin, const Dialect& dialect,
                              const Limits& limits) {
  ASSIGN_OR_RETURN(const auto extents, split(content, begin, dialect));
  Layout layout;
  const Error failure{Code::kDamage, begin, "an entry of the block exceeds it, or shares more than the previous key"};
  std::optional<Error> refusal;
  for_each(extents, [&](const std::optional<Entry>& entry) {
    const std::uint64_t size = entry ? size_of(*entry) : kFailedSize;
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

Result<std::shared_ptr<const Chunk>> decode_records(const RequestContext& context, Buffer content, Position begin,
                                                    const Dialect& dialect, const Limits& limits) {
  ASSIGN_OR_RETURN(auto layout, layout_records(context, content.view(), begin, dialect, limits));
  const Extents extents = *split(content.view(), begin, dialect);
  if (auto only = keep_only_record(content, extents, layout)) return only;
  ASSIGN_OR_RETURN(auto payload, Buffer::allocate(context, static_cast<std::size_t>(layout.end())));
  RecordWriter writer(payload.span(), content.size() < RequestContext::kLargeAllocation ? nullptr : &content);
  for_each(extents, [&](const std::optional<Entry>& entry) {
    entry ? writer.add(*entry) : writer.add_failed();
    return true;
  });
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(payload), std::move(layout)));
}

std::optional<RecordsOfBlock> measure_records(Bytes content, const Dialect& dialect, const Limits& limits) {
  const auto extents = split_content(content, dialect.is_rocksdb);
  if (!extents) return std::nullopt;
  RecordsOfBlock sums;
  for (EntryReader reader(*extents); !reader.at_end(); ++sums.count) {
    const auto entry = reader.next();
    if (!entry || sums.count == limits.records_per_chunk) return std::nullopt;
    const std::uint64_t size = size_of(*entry);
    if (size > limits.decoded_chunk - sums.size) return std::nullopt;
    sums.size += size;
  }
  return sums;
}

void write_records(Bytes content, const Dialect& dialect, MutableBytes out, std::vector<Bytes>& records) {
  RecordWriter writer(out);
  std::size_t begin = 0;
  for (EntryReader reader(*split_content(content, dialect.is_rocksdb)); !reader.at_end(); begin = writer.written()) {
    writer.add(*reader.next());
    records.emplace_back(out.subspan(begin, writer.written() - begin));
  }
}

std::optional<Record> parse_record(Bytes record) {
  Cursor cursor(record);
  Record parsed;
  parsed.key = cursor.take(cursor.varint32());
  parsed.value = cursor.take(cursor.varint32());
  if (!cursor.ok() || !cursor.at_end()) return std::nullopt;
  return parsed;
}

std::uint64_t record_size(std::uint64_t key_size, std::uint64_t value_size) {
  return varint_size(key_size) + key_size + varint_size(value_size) + value_size;
}

std::string record_front(Bytes key, std::uint64_t value_size) {
  std::string front;
  protobuf::append_varint(front, key.size());
  front += as_text(key);
  protobuf::append_varint(front, value_size);
  return front;
}

Result<Value> value_of(Bytes record, bool has_database_keys) {
  ASSIGN_OR_RETURN(const auto content, content_of(record, has_database_keys));
  Value::Object members;
  add_member(members, "key", content.key);
  if (content.tag) {
    add_member(members, "sequence", content.tag->sequence);
    add_member(members, "type", name_of(content.tag->type));
  }
  if (content.has_value()) add_member(members, "value", content.value);
  if (content.tag && content.tag->type == kEntity) add_columns(content.value, Limits{}, members);
  return Value{std::move(members)};
}

Result<KeyChangeKind> change_kind_of(Bytes record, bool has_database_keys) {
  ASSIGN_OR_RETURN(const auto content, content_of(record, has_database_keys));
  return content.tag ? kind_of(content.tag->type) : KeyChangeKind::kSet;
}

}  // namespace recordfs::leveldb_table
