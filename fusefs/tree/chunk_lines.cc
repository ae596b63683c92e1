#include "fusefs/tree/chunk_lines.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/json_text.h"

namespace recordfs {
namespace {

constexpr std::size_t kBlockSize = 64u << 10;
// Parsing a record takes at least as long as decompressing so many times its bytes.
constexpr std::uint64_t kWorkOfAByte = 8;
// A type can turn a few bytes into any amount of text, and a chunk may consist of such records. Therefore nothing is
// decoded after this many bytes of a chunk's lines.
constexpr std::uint64_t kLeastText = 256u << 20;
constexpr std::uint64_t kTextOfAByte = 16;
constexpr std::uint64_t kTextOfARecord = 1024;

void append_error(std::string& text, std::string_view detail) {
  text += ",\"error\":";
  append_json_string(text, printable(detail));
}

}  // namespace

Result<std::optional<CancellableMutex::Lock>> lock_for(const RequestContext& context, std::uint64_t size,
                                                       CancellableMutex& large) {
  std::optional<CancellableMutex::Lock> held;
  if (size <= kLargeRecord) return held;
  TRY(context.spend(size * kWorkOfAByte));
  ASSIGN_OR_RETURN(auto alone, large.lock(context));
  held.emplace(std::move(alone));
  return held;
}

Result<Slice> LineTable::read(const RequestContext& context, std::uint64_t offset, std::uint64_t length,
                              const MakeText& make_text) const {
  if (offset >= size) return Slice{};
  const std::uint64_t end = offset + std::min(length, size - offset);
  ASSIGN_OR_RETURN(auto joined, Buffer::allocate(context, static_cast<std::size_t>(end - offset)));
  MutableBytes rest = joined.span();
  const auto after = std::ranges::upper_bound(blocks, offset, {}, &Block::begin);
  for (auto block = static_cast<std::size_t>(after - blocks.begin()) - 1; !rest.empty(); ++block) {
    ASSIGN_OR_RETURN(const auto text, make_text(block));
    const std::uint64_t at = end - rest.size() - blocks[block].begin;
    const Bytes piece = text.bytes.subspan(static_cast<std::size_t>(at));
    const std::size_t taken = std::min(piece.size(), rest.size());
    std::memcpy(rest.data(), piece.data(), taken);
    rest = rest.subspan(taken);
  }
  return owned(std::move(joined));
}

Result<ChunkLines> ChunkLines::open(const RequestContext& context, const RecordStore& store,
                                    const RecordDecoder& decoder, const ChunkInfo& chunk, std::uint64_t first_ordinal,
                                    CancellableMutex& large) {
  ChunkLines lines(store, decoder, chunk, first_ordinal, large);
  auto decoded = store.chunks().get(context, chunk);
  if (decoded) {
    lines.chunk_ = std::move(*decoded);
    lines.records_ = lines.chunk_->layout().records();
    lines.most_text_ =
        kLeastText + kTextOfAByte * lines.chunk_->layout().total() + kTextOfARecord * lines.chunk_->layout().records();
    return lines;
  }
  if (!is_permanent(decoded.error().code)) return std::move(decoded).error();
  lines.failure_ = decoded.error().detail;
  auto records = store.chunks().records_in(context, chunk);
  if (!records && !is_permanent(records.error().code)) return std::move(records).error();
  if (records && *records > 0) lines.records_ = *records;
  return lines;
}

Result<std::uint64_t> ChunkLines::write(const RequestContext& context, const LineTable::Block& block,
                                        std::string& text) const {
  std::uint64_t line = block.first;
  while (line < lines() && text.size() < kBlockSize) {
    const bool is_decoded = block.begin + text.size() < most_text_;
    const std::size_t before = text.size();
    TRY(write_line(context, line, is_decoded, text));
    TRY(context.spend(text.size() - before));
    ++line;
  }
  return line;
}

Result<void> ChunkLines::write_line(const RequestContext& context, std::uint64_t index, bool is_decoded,
                                    std::string& text) const {
  if (!records_) {
    fmt::format_to(std::back_inserter(text), "{{\"chunk\":{}", info_.begin);
  } else {
    fmt::format_to(std::back_inserter(text), "{{\"ordinal\":{},\"index\":{}", first_ordinal_ + index, index);
  }
  if (chunk_ == nullptr) {
    append_error(text, failure_);
  } else if (const Error* failure = chunk_->layout().failure(index)) {
    append_error(text, failure->detail);
  } else {
    const std::uint64_t size = chunk_->layout().extent(index).size;
    ASSIGN_OR_RETURN(const auto alone, lock_for(context, size, large_));
    TRY(write_record(context, index, size, is_decoded, text));
  }
  text += "}\n";
  return {};
}

Result<void> ChunkLines::write_record(const RequestContext& context, std::uint64_t index, std::uint64_t size,
                                      bool is_decoded, std::string& text) const {
  if (size > kLargestRecord) {
    fmt::format_to(std::back_inserter(text), ",\"size\":{}", size);
    append_error(text, "record too large for a line");
    return {};
  }
  auto record = store_.records().read(context, *chunk_, index, 0, size);
  if (!record) {
    if (!is_permanent(record.error().code)) return std::move(record).error();
    append_error(text, record.error().detail);
    return {};
  }
  fmt::format_to(std::back_inserter(text), ",\"size\":{},", size);
  append_json_bytes(text, "text", "base64", record->bytes);
  if (is_decoded) return decoder_.append_members(context, text, info_, record->bytes);
  append_error(text, "decoded content of the preceding records too large");
  return {};
}

}  // namespace recordfs
