#include <lz4.h>
#include <lz4frame.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/codec/backend.h"
#include "core/codec/lz4_block.h"
#include "core/codec/member_stream.h"

namespace recordfs {
namespace {

constexpr std::size_t kReach = 64 << 10;  // of references to earlier bytes

constexpr std::uint32_t kFrameMagic = 0x184D2204;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // and the 15 values after it

// Flags in the byte after the magic.
constexpr std::uint8_t kWantsDictionary = 0x01;
constexpr std::uint8_t kStatesSize = 0x08;

// The densest element of a block is a byte that extends a copy by 255.
constexpr std::uint64_t kLargestRatio = 255;

struct FreeContext {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};
using Kept = KeptContext<LZ4F_dctx, FreeContext>;
using Context = Kept::Pointer;

// Contexts that have decoded larger blocks are not kept, because they have buffers for two of them.
constexpr std::uint64_t kLargestKeptBlock = 1u << 20;

Kept kept_contexts;

// Returns this thread's context or a new one; null if out of memory.
Context take_context() {
  if (auto kept = kept_contexts.take()) {
    LZ4F_resetDecompressionContext(kept.get());
    return kept;
  }
  LZ4F_dctx* context = nullptr;
  const std::size_t outcome = LZ4F_createDecompressionContext(&context, LZ4F_VERSION);
  return Context(LZ4F_isError(outcome) ? nullptr : context);
}

bool begins_frame(Bytes bytes) {
  Cursor cursor(bytes);
  const std::uint32_t magic = cursor.u32_le();
  return cursor.ok() && (magic == kFrameMagic || (magic & ~0xFu) == kSkippableMagic);
}

// Returns the flags of a content frame, or 0 for a skippable one.
std::uint8_t flags_of(Bytes frame) {
  Cursor cursor(frame);
  const std::uint32_t magic = cursor.u32_le();
  const std::uint8_t flags = cursor.u8();
  return cursor.ok() && magic == kFrameMagic ? flags : 0;
}

// Returns the largest block size. If the output has that much room, the library decodes directly into it and otherwise
// into an internal buffer.
std::uint64_t largest_block(Bytes stored) {
  constexpr unsigned kSmallestLog = 8;  // log2 of the size for number 0; each further number quadruples it
  constexpr unsigned kSmallestNumber = 4;
  Cursor cursor(stored);
  const std::uint32_t magic = cursor.u32_le();
  cursor.skip(1);
  const unsigned number = cursor.u8() >> 4 & 7;
  if (!cursor.ok() || magic != kFrameMagic || number < kSmallestNumber) return 0;
  return std::uint64_t{1} << (kSmallestLog + 2 * number);
}

class Lz4Stream final : public MemberStream {
 public:
  Lz4Stream(Context context, Bytes stored, Tail tail)
      : MemberStream("lz4", stored, tail), context_(std::move(context)) {}
  ~Lz4Stream() override {
    // A reset leaves some state of a frame that did not end.
    if (has_ended_ && largest_block_ <= kLargestKeptBlock) kept_contexts.keep(std::move(context_));
  }
  Lz4Stream(const Lz4Stream&) = delete;
  Lz4Stream& operator=(const Lz4Stream&) = delete;

 private:
  Result<Step> step(Bytes rest, MutableBytes out) override {
    if (!in_frame_) return enter_frame(rest);
    std::size_t taken = rest.size();
    std::size_t given = out.size();
    const std::size_t hint = LZ4F_decompress(context_.get(), out.data(), &given, rest.data(), &taken, nullptr);
    if (LZ4F_isError(hint)) return error_of(hint);
    if (states_nothing_ && given > 0) return broken("content in a frame with a declared size of 0");
    in_frame_ = hint != 0;
    has_ended_ = !in_frame_;
    return Step{taken, given, !in_frame_};
  }

  bool next_member(Bytes rest) override { return begins_frame(rest); }

  // Checks what the library does not. It treats a stated size of 0 as no size, and ignores that a frame requires a
  // dictionary.
  Result<Step> enter_frame(Bytes rest) {
    if (!begins_frame(rest)) return broken("missing frame header");
    has_ended_ = false;
    largest_block_ = std::max(largest_block_, largest_block(rest));
    LZ4F_frameInfo_t info{};
    std::size_t taken = rest.size();
    const std::size_t hint = LZ4F_getFrameInfo(context_.get(), &info, rest.data(), &taken);
    if (LZ4F_isError(hint)) return error_of(hint);
    const std::uint8_t flags = flags_of(rest);
    if ((flags & kWantsDictionary) != 0) return Error{Code::kUnsupported, 0, "lz4: frame requires a dictionary"};
    states_nothing_ = (flags & kStatesSize) != 0 && info.contentSize == 0;
    in_frame_ = true;
    return Step{taken, 0, false};
  }

  Error error_of(std::size_t outcome) const {
    const std::string_view name = LZ4F_getErrorName(outcome);
    return name == "ERROR_allocation_failed" ? no_memory() : broken(name);
  }

  Context context_;
  std::uint64_t largest_block_ = 0;
  bool in_frame_ = false;
  bool has_ended_ = true;  // each frame, without an error
  bool states_nothing_ = false;
};

Result<std::unique_ptr<DecodeStream>> open_lz4(Bytes stored, Tail tail, std::uint64_t /*memory*/) {
  Context context = take_context();
  if (!context) return Error{Code::kOutOfMemory, 0, "no memory for lz4"};
  return std::unique_ptr<DecodeStream>(std::make_unique<Lz4Stream>(std::move(context), stored, tail));
}

}  // namespace

const Backend kLz4FrameBackend = {nullptr, nullptr, open_lz4, nullptr, largest_block};

Result<Buffer> decompress_lz4_block(const RequestContext& context, Bytes stored, std::uint64_t size, Bytes dictionary) {
  if (size / kLargestRatio > stored.size()) {
    return Error{Code::kDamage, 0,
                 fmt::format("lz4: {} cannot decompress to {} bytes", counted(stored.size(), "byte"), size)};
  }
  if (std::max<std::uint64_t>(stored.size(), size) > LZ4_MAX_INPUT_SIZE) {
    return Error{Code::kUnsupported, 0, "lz4: block larger than 2 GB"};
  }
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, static_cast<std::size_t>(size)));
  char nothing = 0;
  char* const target = size == 0 ? &nothing : reinterpret_cast<char*>(buffer.data());
  // Only the last 64 KiB of a dictionary are within reach.
  const Bytes reachable = dictionary.last(std::min(dictionary.size(), kReach));
  const int given = LZ4_decompress_safe_usingDict(
      reinterpret_cast<const char*>(stored.data()), target, static_cast<int>(stored.size()), static_cast<int>(size),
      reinterpret_cast<const char*>(reachable.data()), static_cast<int>(reachable.size()));
  if (given < 0) return Error{Code::kDamage, 0, "lz4: corrupt data"};
  if (static_cast<std::uint64_t>(given) != size) return wrong_size(size);
  return buffer;
}

std::string version_of_lz4() { return LZ4_versionString(); }

}  // namespace recordfs
