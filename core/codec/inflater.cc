#include "core/codec/inflater.h"

#ifdef RECORDFS_HAVE_ZLIB

#include <zlib.h>

#include <algorithm>

namespace recordfs {
namespace {

constexpr int kZlib = MAX_WBITS;
constexpr int kGzip = MAX_WBITS + 16;
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

Error no_memory() { return {.code = Code::kOutOfMemory, .detail = "no memory for deflate"}; }

class ZlibInflater final : public Inflater {
 public:
  ZlibInflater() = default;
  ~ZlibInflater() override { inflateEnd(&state_); }
  ZlibInflater(const ZlibInflater&) = delete;
  ZlibInflater& operator=(const ZlibInflater&) = delete;

  bool begin(int wrapper) { return inflateInit2(&state_, wrapper) == Z_OK; }

  Result<std::unique_ptr<Inflater>> copy() const override {
    auto other = std::make_unique<ZlibInflater>();
    // inflateCopy() does not modify the source, but its parameter is not const.
    if (inflateCopy(&other->state_, const_cast<z_stream*>(&state_)) != Z_OK) return no_memory();
    return std::unique_ptr<Inflater>(std::move(other));
  }

  Result<Step> step(Bytes stored, MutableBytes out) override {
    stored = stored.first(std::min(stored.size(), kPieceBytes));
    out = out.first(std::min(out.size(), kPieceBytes));
    state_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data()));
    state_.avail_in = static_cast<uInt>(stored.size());
    Bytef nowhere = 0;
    state_.next_out = out.empty() ? &nowhere : reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(out.size());
    const int outcome = inflate(&state_, Z_NO_FLUSH);
    state_.next_out = nullptr;
    if (outcome == Z_MEM_ERROR) return no_memory();
    Step step{.taken = stored.size() - state_.avail_in, .given = out.size() - state_.avail_out};
    if (outcome == Z_STREAM_END) {
      step.verdict = Verdict::kEnded;
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      step.verdict = Verdict::kBroken;
      step.reason = state_.msg ? state_.msg : zError(outcome);
    }
    return step;
  }

  void reset() override { inflateReset(&state_); }

 private:
  z_stream state_{};  // not movable: zlib stores its address
};

}  // namespace

Result<std::unique_ptr<Inflater>> Inflater::open(CodecId codec) {
  if (codec != CodecId::kGzip && codec != CodecId::kZlib) {
    return Error{.code = Code::kUnsupported, .detail = "neither a gzip nor a zlib stream"};
  }
  auto inflater = std::make_unique<ZlibInflater>();
  if (!inflater->begin(codec == CodecId::kGzip ? kGzip : kZlib)) return no_memory();
  return std::unique_ptr<Inflater>(std::move(inflater));
}

}  // namespace recordfs

#else

namespace recordfs {

Result<std::unique_ptr<Inflater>> Inflater::open(CodecId) {
  return Error{.code = Code::kUnsupported, .detail = "this build has no zlib"};
}

}  // namespace recordfs

#endif
