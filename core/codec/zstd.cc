#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/codec/backend.h"
#include "core/codec/member_stream.h"

namespace recordfs {
namespace {

constexpr std::uint32_t kFrameMagic = 0xFD2FB528;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // and the 15 values after it
constexpr int kWindowLogMax = sizeof(void*) == 8 ? 31 : 30;
constexpr std::uint64_t kLargestWindow = std::uint64_t{1} << kWindowLogMax;
constexpr unsigned kSingleSegment = 0x20;  // descriptor flag: the window is the content, and there is no window byte
constexpr unsigned kLeastWindowLog = 10;
// Contexts larger than this (they hold the window of a stream) are not cached.
constexpr std::size_t kKeptContextBytes = 8 << 20;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using Kept = KeptContext<ZSTD_DCtx, FreeContext>;
using Context = Kept::Pointer;

Kept spare_contexts;

Error no_memory() { return {Code::kOutOfMemory, 0, "no memory for zstd"}; }
Error broken(std::string_view why) { return {Code::kDamage, 0, fmt::format("zstd: {}", why)}; }

Error error_of(std::size_t result) {
  Error error = broken(ZSTD_getErrorName(result));
  switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: error.code = Code::kOutOfMemory; break;
    case ZSTD_error_version_unsupported:
    case ZSTD_error_frameParameter_unsupported:
    case ZSTD_error_frameParameter_windowTooLarge:
    case ZSTD_error_dictionary_wrong: error.code = Code::kUnsupported; break;
    default: break;
  }
  return error;
}

// Returns this thread's cached context or a new one; null if out of memory.
Context take_context() {
  Context context = spare_contexts.take();
  if (!context) context.reset(ZSTD_createDCtx());
  if (!context) return context;
  ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLogMax);
  return context;
}

void give_back(Context context) {
  if (context && ZSTD_sizeof_DCtx(context.get()) <= kKeptContextBytes) {
    spare_contexts.keep(std::move(context));
  }
}

enum class FrameKind { kContent, kSkippable, kOther };

// kOther includes frames of zstd before 0.8, which the library may support and recordfs does not.
FrameKind frame_kind(Bytes bytes) {
  Cursor cursor(bytes);
  const std::uint32_t magic = cursor.u32_le();
  if (cursor.ok() && magic == kFrameMagic) return FrameKind::kContent;
  if (cursor.ok() && (magic & ~0xFu) == kSkippableMagic) return FrameKind::kSkippable;
  return FrameKind::kOther;
}

// Returns the window that the frame at the front of `stored` declares (RFC 8878, 3.1.1.1.2); nullopt if it has none of
// its own.
std::optional<std::uint64_t> window_of(Bytes stored) {
  Cursor cursor(stored);
  const std::uint32_t magic = cursor.u32_le();
  const unsigned descriptor = cursor.u8();
  const unsigned window = cursor.u8();
  if (!cursor.ok() || magic != kFrameMagic || (descriptor & kSingleSegment) != 0) return std::nullopt;
  const std::uint64_t base = std::uint64_t{1} << (kLeastWindowLog + (window >> 3));
  return base + base / 8 * (window & 7);
}

// Returns the memory that a stream allocates for the frame at the front of `stored` before any output. That is the
// window, or the content if that is smaller. Returns 0 for a skippable frame or a truncated header.
std::uint64_t memory_of(Bytes stored) {
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t wanted =
      std::min(window_of(stored).value_or(kUnknown), zstd_content_size(stored).value_or(kUnknown));
  return wanted == kUnknown ? 0 : wanted;
}

// Succeeds if `stored` consists of complete frames up to its last byte, judging by headers only. Refuses what a stream
// refuses.
Result<void> check_frames(Bytes stored) {
  do {
    if (frame_kind(stored) == FrameKind::kOther) return broken("missing frame header");
    const std::size_t size = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
    if (ZSTD_isError(size)) return error_of(size);
    if (window_of(stored).value_or(0) > kLargestWindow) {
      return Error{Code::kUnsupported, 0,
                   fmt::format("zstd: {}", ZSTD_getErrorString(ZSTD_error_frameParameter_windowTooLarge))};
    }
    stored = stored.subspan(size);
  } while (!stored.empty());
  return {};
}

Result<void> decompress_zstd_into(Bytes stored, MutableBytes out) {
  TRY(check_frames(stored));
  Context context = take_context();
  if (!context) return no_memory();
  std::byte nothing{};
  const std::size_t got =
      ZSTD_decompressDCtx(context.get(), out.empty() ? &nothing : out.data(), out.size(), stored.data(), stored.size());
  give_back(std::move(context));
  if (ZSTD_isError(got) && ZSTD_getErrorCode(got) != ZSTD_error_dstSize_tooSmall) return error_of(got);
  if (got != out.size()) return wrong_size(out.size());
  return {};
}

// Returns the size of the frame header at the front of `stored` (RFC 8878, 3.1.1.1).
std::size_t head_size(Bytes stored) {
  constexpr std::array<std::size_t, 4> kDictionarySizes = {0, 1, 2, 4};
  Cursor cursor(stored);
  cursor.skip(sizeof(kFrameMagic));
  const unsigned descriptor = cursor.u8();
  const bool is_single = (descriptor & kSingleSegment) != 0;
  const std::array<std::size_t, 4> content_sizes = {is_single ? 1u : 0u, 2, 4, 8};
  return cursor.offset() + (is_single ? 0 : 1) + kDictionarySizes[descriptor & 3] + content_sizes[descriptor >> 6];
}

// Returns the sum of what the blocks of the frames can have: each states its stored size, and has at most 128 KiB.
std::uint64_t most_output(Bytes stored) {
  constexpr std::uint64_t kMostInBlock = 128u << 10;
  constexpr unsigned kRepeated = 1;
  std::uint64_t most = 0;
  for (auto size = zstd_frame_size(stored); size; size = zstd_frame_size(stored)) {
    const bool has_content = frame_kind(stored) == FrameKind::kContent;
    Cursor blocks(stored.first(*size));
    if (has_content) blocks.skip(head_size(stored));
    for (bool is_last = !has_content; !is_last && blocks.ok();) {
      std::uint32_t head = blocks.u8();
      head |= std::uint32_t{blocks.u8()} << 8;
      head |= std::uint32_t{blocks.u8()} << 16;
      is_last = (head & 1) != 0;
      blocks.skip((head >> 1 & 3) == kRepeated ? 1 : head >> 3);
      most += kMostInBlock;
    }
    stored = stored.subspan(*size);
  }
  return most;
}

class ZstdStream final : public MemberStream {
 public:
  ZstdStream(Context context, Bytes stored, Tail tail, std::uint64_t memory)
      : MemberStream("zstd", stored, tail), context_(std::move(context)), tail_(tail), memory_(memory) {}
  ~ZstdStream() override { give_back(std::move(context_)); }

 private:
  Result<Step> step(Bytes rest, MutableBytes out) override {
    if (!in_frame_) {
      TRY(check_frame(rest));
    }
    ZSTD_inBuffer in{rest.data(), rest.size(), 0};
    ZSTD_outBuffer target{out.data(), out.size(), 0};
    const std::size_t hint = ZSTD_decompressStream(context_.get(), &target, &in);
    if (ZSTD_isError(hint)) return error_of(hint);
    in_frame_ = hint != 0;
    if (in_frame_ && in.pos == 0 && target.pos == 0) return broken("truncated frame");
    return Step{in.pos, target.pos, !in_frame_};
  }

  // Unless they are ignored, bytes that are not a frame are damage of the next frame.
  bool next_member(Bytes rest) override { return tail_ == Tail::kDamage || frame_kind(rest) != FrameKind::kOther; }

  Result<void> check_frame(Bytes frame) const {
    if (frame_kind(frame) == FrameKind::kOther) return broken("missing frame header");
    const std::uint64_t wanted = memory_of(frame);
    if (wanted <= memory_) return {};
    return Error{Code::kLimit, 0,
                 fmt::format("zstd: requires a window of {} bytes, more than the limit of {}", wanted, memory_)};
  }

  Context context_;
  const Tail tail_;
  const std::uint64_t memory_;
  bool in_frame_ = false;
};

Result<std::unique_ptr<DecodeStream>> open_zstd(Bytes stored, Tail tail, std::uint64_t memory) {
  Context context = take_context();
  if (!context) return no_memory();
  return std::unique_ptr<DecodeStream>(std::make_unique<ZstdStream>(std::move(context), stored, tail, memory));
}

}  // namespace

Result<Buffer> decompress_zstd_with(const RequestContext& context, Bytes dictionary, Bytes stored, std::uint64_t size) {
  TRY(check_frames(stored));
  ASSIGN_OR_RETURN(auto out, Buffer::allocate(context, static_cast<std::size_t>(size)));
  Context decoder = take_context();
  if (!decoder) return no_memory();
  std::byte nothing{};
  const std::size_t got = ZSTD_decompress_usingDict(decoder.get(), out.empty() ? &nothing : out.data(), out.size(),
                                                    stored.data(), stored.size(), dictionary.data(), dictionary.size());
  give_back(std::move(decoder));
  if (ZSTD_isError(got) && ZSTD_getErrorCode(got) != ZSTD_error_dstSize_tooSmall) return error_of(got);
  if (got != size) return wrong_size(size);
  return out;
}

std::optional<std::uint64_t> zstd_content_size(Bytes head) {
  if (frame_kind(head) != FrameKind::kContent) return std::nullopt;
  const unsigned long long size = ZSTD_getFrameContentSize(head.data(), head.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) return std::nullopt;
  return size;
}

std::optional<std::uint64_t> zstd_frame_size(Bytes stored) {
  if (frame_kind(stored) == FrameKind::kOther) return std::nullopt;
  const std::size_t size = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(size)) return std::nullopt;
  return size;
}

const Backend kZstdBackend = {
    .decompress_into = decompress_zstd_into,
    .decompress = nullptr,
    .open_stream = open_zstd,
    .most_output = most_output,
};

std::string version_of_zstd() { return ZSTD_versionString(); }

}  // namespace recordfs
