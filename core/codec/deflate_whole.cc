// Decompresses complete deflate units with libdeflate, in half of the time of zlib.
#include <utility>

#include <libdeflate.h>

#include "core/base/cursor.h"
#include "core/codec/backend.h"

namespace recordfs {
namespace {

constexpr std::uint8_t kHeaderHasCrc = 0x02;
constexpr std::size_t kFlagsAt = 3;
constexpr std::size_t kLeastMember = 18;
constexpr std::size_t kSizeBytes = 4;

struct FreeContext {
  void operator()(libdeflate_decompressor* context) const { libdeflate_free_decompressor(context); }
};

using Kept = KeptContext<libdeflate_decompressor, FreeContext>;

Kept kept_contexts;

// Returns this thread's context or a new one; null if out of memory.
Kept::Pointer take_context() {
  auto context = kept_contexts.take();
  if (!context) context.reset(libdeflate_alloc_decompressor());
  return context;
}

// The sizes of one stream or member.
struct Taken {
  std::size_t stored;
  std::size_t content;
};

using Decompress = decltype(&libdeflate_deflate_decompress_ex);

// Decompresses the stream at the front of `stored`, if its content fits into `out`.
std::optional<Taken> take_one(Decompress decompress, Bytes stored, MutableBytes out) {
  std::byte nothing{};
  Taken taken{};
  auto context = take_context();
  if (!context) return std::nullopt;
  const auto outcome = decompress(context.get(), stored.data(), stored.size(), out.empty() ? &nothing : out.data(),
                                  out.size(), &taken.stored, &taken.content);
  kept_contexts.keep(std::move(context));
  if (outcome != LIBDEFLATE_SUCCESS) return std::nullopt;
  return taken;
}

template <Decompress decompress>
std::optional<std::size_t> take_stream(Bytes stored, MutableBytes out) {
  const auto taken = take_one(decompress, stored, out);
  if (!taken || taken->content != out.size()) return std::nullopt;
  return taken->stored;
}

// Decompresses members back to back, as the stream accepts them.
std::optional<std::size_t> take_members(Bytes stored, MutableBytes out) {
  Bytes rest = stored;
  do {
    // libdeflate does not verify the header checksum.
    if (rest.size() < kLeastMember || (std::to_integer<std::uint8_t>(rest[kFlagsAt]) & kHeaderHasCrc) != 0) {
      return std::nullopt;
    }
    const auto taken = take_one(libdeflate_gzip_decompress_ex, rest, out);
    if (!taken) return std::nullopt;
    rest = rest.subspan(taken->stored);
    out = out.subspan(taken->content);
  } while (begins_gzip_member(rest));
  if (!out.empty()) return std::nullopt;
  return stored.size() - rest.size();
}

std::optional<std::uint64_t> states_nothing(Bytes) { return std::nullopt; }

// Returns the size in the trailer of the last member: the low 32 bits.
std::optional<std::uint64_t> size_of_last_member(Bytes stored) {
  if (stored.size() < kLeastMember) return std::nullopt;
  return Cursor(stored.last(kSizeBytes)).u32_le();
}

}  // namespace

const WholeUnit kWholeDeflate = {take_stream<libdeflate_deflate_decompress_ex>, states_nothing};
const WholeUnit kWholeZlib = {take_stream<libdeflate_zlib_decompress_ex>, states_nothing};
const WholeUnit kWholeGzip = {take_members, size_of_last_member};

std::string version_of_libdeflate() { return LIBDEFLATE_VERSION_STRING; }

}  // namespace recordfs
