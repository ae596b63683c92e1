#include <algorithm>
#include <cstring>
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

Result<Buffer> grown(const Buffer& full, std::byte next, std::uint64_t limit) {
  const std::uint64_t size = full.size();
  auto larger =
      Buffer::allocate(static_cast<std::size_t>(size > limit / 2 ? limit : std::max<std::uint64_t>(2 * size, 256)));
  if (!larger) return larger;
  if (size > 0) std::memcpy(larger->data(), full.data(), full.size());
  larger->data()[full.size()] = next;
  return larger;
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
    buffer = grown(*buffer, next, limit);
    ++filled;
  }
  if (!buffer) return buffer;
  // A guess that was far too high must not hold memory for as long as the bytes are kept.
  if (filled < buffer->size() - buffer->size() / 4) return Buffer::copy_of(buffer->view().first(filled));
  buffer->truncate(filled);
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
