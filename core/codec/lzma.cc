#include <lzma.h>

#include <limits>

#include <fmt/format.h>

#include "core/codec/backend.h"
#include "core/codec/member_stream.h"

namespace recordfs {
namespace {

// An upper bound of the library's memory in addition to the dictionary.
constexpr std::uint64_t kBesides = 2 << 20;

std::uint64_t with_besides(std::uint64_t memory) {
  return memory > std::numeric_limits<std::uint64_t>::max() - kBesides ? memory : memory + kBesides;
}

std::string_view reason(lzma_ret outcome) {
  switch (outcome) {
    case LZMA_FORMAT_ERROR: return "invalid header";
    case LZMA_OPTIONS_ERROR: return "unsupported options";
    case LZMA_DATA_ERROR: return "corrupt data";
    default: return "cannot be read";
  }
}

class LzmaStream final : public MemberStream {
 public:
  LzmaStream(CodecId codec, Bytes stored, Tail tail, std::uint64_t memory)
      : MemberStream(to_string(codec), stored, tail),
        name_(to_string(codec)),
        memory_(with_besides(memory)),
        ready_((codec == CodecId::kLzma
                    ? lzma_alone_decoder(&state_, memory_)
                    : lzma_stream_decoder(&state_, memory_, LZMA_TELL_UNSUPPORTED_CHECK)) == LZMA_OK) {}
  ~LzmaStream() override { lzma_end(&state_); }

  // Returns whether initialization succeeded. If not, the stream must not be read.
  bool ready() const { return ready_; }

 private:
  Result<Step> step(Bytes rest, MutableBytes out) override {
    state_.next_in = reinterpret_cast<const std::uint8_t*>(rest.data());
    state_.avail_in = rest.size();
    state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_.avail_out = out.size();
    const lzma_ret outcome = lzma_code(&state_, LZMA_RUN);
    if (outcome != LZMA_OK && outcome != LZMA_STREAM_END && outcome != LZMA_BUF_ERROR) return error_of(outcome);
    return Step{rest.size() - state_.avail_in, out.size() - state_.avail_out, outcome == LZMA_STREAM_END};
  }

  Error error_of(lzma_ret outcome) const {
    if (outcome == LZMA_MEM_ERROR) return no_memory();
    if (outcome == LZMA_UNSUPPORTED_CHECK) {
      return {Code::kUnsupported, 0, fmt::format("{}: an unknown kind of checksum", name_)};
    }
    if (outcome != LZMA_MEMLIMIT_ERROR) return broken(reason(outcome));
    const std::uint64_t wanted = lzma_memusage(&state_);
    return {Code::kLimit, 0,
            fmt::format("{}: requires {} bytes of memory, more than the limit of {}", name_, wanted, memory_)};
  }

  lzma_stream state_ = LZMA_STREAM_INIT;
  const std::string_view name_;
  const std::uint64_t memory_;
  const bool ready_;
};

template <CodecId codec>
Result<std::unique_ptr<DecodeStream>> open_stream_of(Bytes stored, Tail tail, std::uint64_t memory) {
  auto stream = std::make_unique<LzmaStream>(codec, stored, tail, memory);
  if (!stream->ready()) return Error{Code::kOutOfMemory, 0, "no memory for lzma"};
  return std::unique_ptr<DecodeStream>(std::move(stream));
}

}  // namespace

const Backend kLzmaBackend = {nullptr, nullptr, open_stream_of<CodecId::kLzma>};
const Backend kXzBackend = {nullptr, nullptr, open_stream_of<CodecId::kXz>};

std::string version_of_lzma() { return lzma_version_string(); }

}  // namespace recordfs
