#include "core/formats/chunk.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>

namespace recordfs {
namespace {

bool same_error(const Error& a, const Error& b) {
  return a.code == b.code && a.position == b.position && a.os_error == b.os_error && a.detail == b.detail;
}

constexpr int kAttempts = 8;

}  // namespace

void Layout::push_end(const RequestContext& context, std::uint64_t end) {
  if (wide_.empty() && end <= std::numeric_limits<std::uint32_t>::max()) {
    context.announce_growth(narrow_);
    narrow_.push_back(static_cast<std::uint32_t>(end));
  } else {
    context.announce_growth(wide_);
    wide_.push_back(end);
  }
}

void Layout::add_failed(const RequestContext& context, std::uint64_t records, std::uint64_t size, Error why) {
  const std::uint64_t first = this->records();
  for (std::uint64_t i = 0; i < records; ++i) add(context, size);
  if (records == 0) return;
  const auto last = failures_.empty() ? failures_.end() : std::prev(failures_.end());
  if (last != failures_.end() && last->second.end == first && same_error(last->second.why, why)) {
    last->second.end += records;
  } else {
    failures_.emplace(first, Failures{first + records, std::move(why)});
  }
}

Extent Layout::extent(std::uint64_t index) const {
  assert(index < records());
  const std::uint64_t begin = index == 0 ? base_ : end_of(index - 1);
  return {begin, end_of(index) - begin};
}

const Error* Layout::failure(std::uint64_t index) const {
  if (failures_.empty()) return nullptr;
  const auto after = failures_.upper_bound(index);
  if (after == failures_.begin()) return nullptr;
  const Failures& last = std::prev(after)->second;
  return index < last.end ? &last.why : nullptr;
}

std::uint64_t Layout::index_at(std::uint64_t offset) const {
  if (!narrow_.empty() && offset < narrow_.back()) {
    const auto first_after = std::ranges::upper_bound(narrow_, offset);
    return static_cast<std::uint64_t>(first_after - narrow_.begin());
  }
  const auto first_after = std::ranges::upper_bound(wide_, offset);
  return narrow_.size() + static_cast<std::uint64_t>(first_after - wide_.begin());
}

std::uint64_t Layout::memory() const {
  std::uint64_t failures = 0;
  for (const auto& [first, last] : failures_)
    failures += sizeof(first) + sizeof(last) + last.why.detail.capacity() + 48;
  return narrow_.capacity() * sizeof(std::uint32_t) + wide_.capacity() * sizeof(std::uint64_t) + failures;
}

BufferChunk::BufferChunk(Buffer bytes, Layout layout, std::size_t begin)
    : Chunk(std::move(layout)), bytes_(std::move(bytes)), begin_(begin) {
  assert(begin_ + this->layout().end() <= bytes_.size());
}

Result<Slice> BufferChunk::read(const RequestContext&, std::uint64_t offset, std::uint64_t length) const {
  const Bytes bytes =
      bytes_.view().subspan(begin_ + static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  return Slice{bytes, shared_from_this()};
}

std::uint64_t BufferChunk::memory() const { return sizeof(*this) + bytes_.size() + layout().memory(); }

FileChunk::Read FileChunk::stored_at(Position begin) {
  return [begin](const RequestContext& context, const Source& source, const Layout&, std::uint64_t offset,
                 std::uint64_t length) { return read_exactly(context, source, begin + offset, length); };
}

Result<Slice> FileChunk::read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return Slice{};
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(auto bytes, read_(context, *source_, layout(), offset, length));
    const std::uint64_t generation = source_->generation();
    const bool is_verified = !verified_.again || generation == generation_.load(std::memory_order_acquire);
    if (is_verified) return owned(std::move(bytes));
    TRY(verified_.again(context, *source_));
    generation_.store(generation, std::memory_order_release);
  }
  return Error{Code::kChanged, verified_.begin, "the file is being written to while it is read"};
}

}  // namespace recordfs
