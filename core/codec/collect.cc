#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/codec/backend.h"

namespace recordfs {
namespace {

// A guess of the size is believed up to this many bytes, or up to this many for each stored byte.
constexpr std::uint64_t kBelievedBytes = 64 << 10;
constexpr std::uint64_t kBelievedRatio = 64;
// What a stream without a guess is expected to give for each stored byte.
constexpr std::uint64_t kUsualRatio = 4;

std::uint64_t first_capacity(std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit) {
  const std::uint64_t stored = std::min(stored_size, std::numeric_limits<std::uint64_t>::max() / kBelievedRatio);
  const std::uint64_t believed = std::max(kBelievedBytes, stored * kBelievedRatio);
  const std::uint64_t wanted = expected > 0 ? expected : std::max<std::uint64_t>(stored * kUsualRatio, 256);
  return std::min({wanted, believed, limit});
}

std::size_t next_capacity(std::uint64_t full, std::uint64_t limit) {
  return static_cast<std::size_t>(full > limit / 2 ? limit : std::max<std::uint64_t>(2 * full, 256));
}

}  // namespace

Error more_than(std::uint64_t limit) {
  return {Code::kLimit, 0, fmt::format("decompresses to more than the {} bytes that are allowed", limit)};
}

Error wrong_size(std::uint64_t expected) {
  return {Code::kDamage, 0, fmt::format("does not decompress to the expected {} bytes", expected)};
}

Result<Buffer> collect(DecodeStream& stream, std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit) {
  auto buffer = Buffer::allocate(static_cast<std::size_t>(first_capacity(stored_size, expected, limit)));
  std::size_t filled = 0;
  while (buffer) {
    auto got = stream.read(buffer->span().subspan(filled));
    if (!got) return std::move(got).error();
    filled += *got;
    std::byte next{};
    if (filled == buffer->size()) got = stream.read({&next, 1});
    if (!got) return std::move(got).error();
    if (filled < buffer->size() || *got == 0) break;
    if (filled >= limit) return more_than(limit);
    if (auto grown = buffer->grow(next_capacity(filled, limit)); !grown) return std::move(grown).error();
    buffer->data()[filled++] = next;
  }
  if (!buffer) return buffer;
  // A guess that was far too high must not hold memory for as long as the bytes are kept.
  const bool holds_much_more = filled < buffer->size() - buffer->size() / 4;
  buffer->truncate(filled);
  if (holds_much_more) buffer->fit();
  return buffer;
}

Result<void> fill(DecodeStream& stream, MutableBytes out) {
  auto got = stream.read(out);
  if (!got) return std::move(got).error();
  if (*got < out.size()) return wrong_size(out.size());
  std::byte behind{};
  auto more = stream.read({&behind, 1});
  if (!more) return std::move(more).error();
  if (*more > 0) return wrong_size(out.size());
  return {};
}

}  // namespace recordfs
