#include <brotli/decode.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/codec/backend.h"
#include "core/codec/member_stream.h"

namespace recordfs {
namespace {

// The decoder holds back output until its window is full or its input is used up. Small input pieces return the
// beginning of a stream sooner.
constexpr std::size_t kPieceBytes = 16 << 10;

struct DestroyState {
  void operator()(BrotliDecoderState* state) const { BrotliDecoderDestroyInstance(state); }
};
using State = std::unique_ptr<BrotliDecoderState, DestroyState>;

// Returns null if out of memory.
State new_state() {
  State state(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
  if (state) BrotliDecoderSetParameter(state.get(), BROTLI_DECODER_PARAM_LARGE_WINDOW, 1);
  return state;
}

class BrotliStream final : public MemberStream {
 public:
  BrotliStream(State state, Bytes stored, Tail tail) : MemberStream("brotli", stored, tail), state_(std::move(state)) {}

 private:
  Result<Step> step(Bytes rest, MutableBytes out) override {
    const std::size_t given = std::min(rest.size(), kPieceBytes);
    std::size_t unused = given;
    std::size_t room = out.size();
    const auto* next = reinterpret_cast<const std::uint8_t*>(rest.data());
    auto* target = reinterpret_cast<std::uint8_t*>(out.data());
    const auto outcome = BrotliDecoderDecompressStream(state_.get(), &unused, &next, &room, &target, nullptr);
    if (outcome == BROTLI_DECODER_RESULT_ERROR) return error_of(BrotliDecoderGetErrorCode(state_.get()));
    return Step{given - unused, out.size() - room, outcome == BROTLI_DECODER_RESULT_SUCCESS};
  }

  Error error_of(BrotliDecoderErrorCode code) const {
    const bool no_allocation =
        code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return no_allocation ? no_memory() : broken(BrotliDecoderErrorString(code));
  }

  const State state_;
};

Result<std::unique_ptr<DecodeStream>> open_brotli(Bytes stored, Tail tail, std::uint64_t /*memory*/) {
  State state = new_state();
  if (!state) return Error{Code::kOutOfMemory, 0, "no memory for brotli"};
  return std::unique_ptr<DecodeStream>(std::make_unique<BrotliStream>(std::move(state), stored, tail));
}

}  // namespace

const Backend kBrotliBackend = {nullptr, nullptr, open_brotli};

std::string version_of_brotli() {
  const std::uint32_t version = BrotliDecoderVersion();
  return fmt::format("{}.{}.{}", version >> 24, version >> 12 & 0xFFFu, version & 0xFFFu);
}

}  // namespace recordfs
