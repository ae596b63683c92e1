#include <zlib.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/codec/backend.h"
#include "core/codec/gzip.h"
#include "core/codec/member_stream.h"
#ifdef RECORDFS_HAVE_LIBDEFLATE
#include "core/codec/deflate_whole.h"
#endif

namespace recordfs {
namespace {

// The wrappers, as inflateInit2() numbers them. The window always has the maximum size of the format.
constexpr int kRaw = -MAX_WBITS;
constexpr int kZlib = MAX_WBITS;
constexpr int kGzip = MAX_WBITS + 16;

// zlib takes sizes as unsigned int; both the stored bytes and the output may be larger.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

class InflateStream final : public MemberStream {
 public:
  InflateStream(std::string_view name, int wrapper, Bytes stored, Tail tail)
      : MemberStream(name, stored, tail), wrapper_(wrapper), ready_(inflateInit2(&state_, wrapper) == Z_OK) {}
  ~InflateStream() override {
    if (ready_) inflateEnd(&state_);
  }

  // Returns whether initialization succeeded. If not, the stream must not be read.
  bool ready() const { return ready_; }

 private:
  Result<Step> step(Bytes rest, MutableBytes out) override {
    const auto stored = rest.first(std::min(rest.size(), kPieceBytes));
    out = out.first(std::min(out.size(), kPieceBytes));
    // zlib does not modify the input, but its field is not const.
    state_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data()));
    state_.avail_in = static_cast<uInt>(stored.size());
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(out.size());
    const int outcome = inflate(&state_, Z_NO_FLUSH);
    if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) return error_of(outcome);
    return Step{stored.size() - state_.avail_in, out.size() - state_.avail_out, outcome == Z_STREAM_END};
  }

  bool next_member(Bytes rest) override {
    return wrapper_ == kGzip && begins_gzip_member(rest) && inflateReset(&state_) == Z_OK;
  }

  Error error_of(int outcome) const {
    if (outcome == Z_MEM_ERROR) return no_memory();
    Error error = broken(state_.msg ? state_.msg : zError(outcome));
    if (outcome == Z_NEED_DICT) error.code = Code::kUnsupported;
    return error;
  }

  const int wrapper_;
  z_stream state_{};  // not movable: zlib stores its address
  const bool ready_;
};

template <CodecId codec, int wrapper>
Result<std::unique_ptr<DecodeStream>> open_inflate(Bytes stored, Tail tail, std::uint64_t /*memory*/) {
  auto stream = std::make_unique<InflateStream>(to_string(codec), wrapper, stored, tail);
  if (!stream->ready()) return Error{Code::kOutOfMemory, 0, fmt::format("no memory for {}", to_string(codec))};
  return std::unique_ptr<DecodeStream>(std::move(stream));
}

#ifdef RECORDFS_HAVE_LIBDEFLATE
constexpr const WholeUnit* kWholeRaw = &kWholeDeflate;
constexpr const WholeUnit* kWholeInZlib = &kWholeZlib;
constexpr const WholeUnit* kWholeInGzip = &kWholeGzip;
#else
constexpr const WholeUnit* kWholeRaw = nullptr;
constexpr const WholeUnit* kWholeInZlib = nullptr;
constexpr const WholeUnit* kWholeInGzip = nullptr;
#endif

}  // namespace

const Backend kDeflateBackend = {nullptr, nullptr, open_inflate<CodecId::kDeflate, kRaw>, kWholeRaw};
const Backend kZlibBackend = {nullptr, nullptr, open_inflate<CodecId::kZlib, kZlib>, kWholeInZlib};
const Backend kGzipBackend = {nullptr, nullptr, open_inflate<CodecId::kGzip, kGzip>, kWholeInGzip};

std::string version_of_zlib() { return zlibVersion(); }

}  // namespace recordfs
