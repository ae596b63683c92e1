#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/codec/backend.h"

namespace recordfs {
namespace {

// A guessed size is trusted up to this many bytes, or up to this many for each stored byte.
constexpr std::uint64_t kBelievedBytes = 1 << 20;
constexpr std::uint64_t kBelievedRatio = 64;
// The assumed compression ratio if there is no guess.
constexpr std::uint64_t kUsualRatio = 4;

std::uint64_t most_believed(std::uint64_t stored_size) {
  const std::uint64_t stored = std::min(stored_size, std::numeric_limits<std::uint64_t>::max() / kBelievedRatio);
  return std::max(kBelievedBytes, stored * kBelievedRatio);
}

std::uint64_t first_capacity(std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit) {
  const std::uint64_t believed = most_believed(stored_size);
  const std::uint64_t wanted = expected > 0 ? expected : std::max<std::uint64_t>(stored_size * kUsualRatio, 256);
  return std::min({wanted, believed, limit});
}

std::size_t next_capacity(std::uint64_t full, std::uint64_t limit) {
  return static_cast<std::size_t>(full > limit / 2 ? limit : std::max<std::uint64_t>(2 * full, 256));
}

// Returns nullopt if more than `limit` bytes come out.
Result<std::optional<Buffer>> collect_up_to(DecodeStream& stream, std::uint64_t stored_size, std::uint64_t expected,
                                            std::uint64_t limit) {
  ASSIGN_OR_RETURN(auto buffer,
                   Buffer::allocate(static_cast<std::size_t>(first_capacity(stored_size, expected, limit))));
  std::size_t filled = 0;
  for (;;) {
    auto got = stream.read(buffer.span().subspan(filled));
    if (!got) return std::move(got).error();
    filled += *got;
    std::byte next{};
    if (filled == buffer.size()) got = stream.read({&next, 1});
    if (!got) return std::move(got).error();
    if (filled < buffer.size() || *got == 0) break;
    if (filled >= limit) return std::optional<Buffer>{};
    TRY(buffer.grow(next_capacity(filled, limit)));
    buffer.data()[filled++] = next;
  }
  // Do not hold the memory of a guess that was far too high.
  const bool holds_much_more = filled < buffer.size() - buffer.size() / 4;
  buffer.truncate(filled);
  if (holds_much_more) buffer.fit();
  return std::optional(std::move(buffer));
}

}  // namespace

bool is_plausible(std::uint64_t stored_size, std::uint64_t size) { return size <= most_believed(stored_size); }

Error more_than(std::uint64_t limit) {
  return {Code::kLimit, 0, fmt::format("decompresses to more than the limit of {} bytes", limit)};
}

Error wrong_size(std::uint64_t expected) {
  return {Code::kDamage, 0, fmt::format("does not decompress to the expected {} bytes", expected)};
}

Result<Buffer> collect(DecodeStream& stream, std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit) {
  ASSIGN_OR_RETURN(auto bytes, collect_up_to(stream, stored_size, expected, limit));
  if (!bytes) return more_than(limit);
  return std::move(*bytes);
}

Result<Buffer> collect_exactly(DecodeStream& stream, std::uint64_t stored_size, std::uint64_t size) {
  ASSIGN_OR_RETURN(auto bytes, collect_up_to(stream, stored_size, size, size));
  if (!bytes || bytes->size() != size) return wrong_size(size);
  return std::move(*bytes);
}

Result<void> fill(DecodeStream& stream, MutableBytes out) {
  ASSIGN_OR_RETURN(const auto got, stream.read(out));
  if (got < out.size()) return wrong_size(out.size());
  std::byte after{};
  ASSIGN_OR_RETURN(const auto more, stream.read({&after, 1}));
  if (more > 0) return wrong_size(out.size());
  return {};
}

}  // namespace recordfs
