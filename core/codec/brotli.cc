#include <brotli/decode.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/codec/backend.h"

#include "core/base/counted.h"

namespace recordfs {
namespace {

// The decoder holds back output until its window is full or its input is used up. Small input pieces return the
// beginning of a stream sooner.
constexpr std::size_t kPieceBytes = 16 << 10;

struct DestroyState {
  void operator()(BrotliDecoderState* state) const { BrotliDecoderDestroyInstance(state); }
};
using State = std::unique_ptr<BrotliDecoderState, DestroyState>;

Error no_memory() { return {Code::kOutOfMemory, 0, "no memory for brotli"}; }
Error broken(std::string_view why) { return {Code::kDamage, 0, fmt::format("brotli: {}", why)}; }

Error error_of(BrotliDecoderErrorCode code) {
  const bool no_allocation =
      code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
  return no_allocation ? no_memory() : broken(BrotliDecoderErrorString(code));
}

// Returns null if out of memory.
State new_state() {
  State state(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
  if (state) BrotliDecoderSetParameter(state.get(), BROTLI_DECODER_PARAM_LARGE_WINDOW, 1);
  return state;
}

class BrotliStream final : public DecodeStream {
 public:
  BrotliStream(State state, Bytes stored, Tail tail)
      : state_(std::move(state)),
        next_(reinterpret_cast<const std::uint8_t*>(stored.data())),
        left_(stored.size()),
        tail_(tail) {}

  Result<std::size_t> read(MutableBytes out) override {
    auto* target = reinterpret_cast<std::uint8_t*>(out.data());
    std::size_t room = out.size();
    while (!ended_ && room > 0) {
      const std::size_t given = std::min(left_, kPieceBytes);
      std::size_t unused = given;
      const auto outcome = BrotliDecoderDecompressStream(state_.get(), &unused, &next_, &room, &target, nullptr);
      left_ -= given - unused;
      if (outcome == BROTLI_DECODER_RESULT_ERROR) return error_of(BrotliDecoderGetErrorCode(state_.get()));
      const bool hungry = outcome == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT && room > 0;
      if (hungry && (left_ == 0 || unused > 0)) return broken("truncated stream");
      ended_ = outcome == BROTLI_DECODER_RESULT_SUCCESS;
    }
    if (ended_ && left_ > 0 && tail_ == Tail::kDamage)
      return broken(counted(left_, "byte") + " after the end of the stream");
    return out.size() - room;
  }

  std::size_t stored_left() const override { return left_; }

 private:
  State state_;
  const std::uint8_t* next_;
  std::size_t left_;
  const Tail tail_;
  bool ended_ = false;
};

Result<std::unique_ptr<DecodeStream>> open_brotli(Bytes stored, Tail tail, std::uint64_t /*memory*/) {
  State state = new_state();
  if (!state) return no_memory();
  return std::unique_ptr<DecodeStream>(std::make_unique<BrotliStream>(std::move(state), stored, tail));
}

}  // namespace

const Backend kBrotliBackend = {nullptr, nullptr, open_brotli};

std::string version_of_brotli() {
  const std::uint32_t version = BrotliDecoderVersion();
  return fmt::format("{}.{}.{}", version >> 24, version >> 12 & 0xFFFu, version & 0xFFFu);
}

}  // namespace recordfs
