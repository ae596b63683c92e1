#include <zlib.h>

#include <algorithm>

#include "core/codec/compressor.h"

namespace recordfs {
namespace {

// zlib takes sizes as unsigned int.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
constexpr int kMemoryLevel = 8;  // zlib's default

// Returns the wrapper as deflateInit2() numbers it.
constexpr int deflate_wrapper_of(CodecId codec) {
  if (codec == CodecId::kDeflate) return -MAX_WBITS;
  return codec == CodecId::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

class DeflateCompressor final : public CompressStream {
 public:
  DeflateCompressor() = default;
  ~DeflateCompressor() override { deflateEnd(&state_); }
  DeflateCompressor(const DeflateCompressor&) = delete;
  DeflateCompressor& operator=(const DeflateCompressor&) = delete;

  // Returns whether initialization succeeded. If not, no other function may be called.
  bool begin(CodecId codec, int level) {
    const int known = std::clamp(level, Z_NO_COMPRESSION, Z_BEST_COMPRESSION);
    return deflateInit2(&state_, known, Z_DEFLATED, deflate_wrapper_of(codec), kMemoryLevel, Z_DEFAULT_STRATEGY) ==
           Z_OK;
  }

  Result<void> append(Bytes content, std::string& out) override {
    for (; !content.empty(); content = content.subspan(std::min(content.size(), kMostAtOnce))) {
      run(content.first(std::min(content.size(), kMostAtOnce)), Z_NO_FLUSH, out);
    }
    return {};
  }

  Result<void> finish(std::string& out) override {
    run({}, Z_FINISH, out);
    deflateReset(&state_);
    return {};
  }

 private:
  // deflate() allocates no memory, so it cannot fail.
  void run(Bytes content, int flush, std::string& out) {
    const std::size_t piece = compressed_piece(content.size());
    // zlib does not modify the input, but its field is not const.
    state_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
    state_.avail_in = static_cast<uInt>(content.size());
    do {
      const std::size_t begin = out.size();
      out.resize(begin + piece);
      state_.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
      state_.avail_out = static_cast<uInt>(piece);
      deflate(&state_, flush);
      out.resize(out.size() - state_.avail_out);
    } while (state_.avail_out == 0);
  }

  z_stream state_{};
};

}  // namespace

Result<std::unique_ptr<CompressStream>> open_deflate_compressor(CodecId codec, int level) {
  auto stream = std::make_unique<DeflateCompressor>();
  if (!stream->begin(codec, level)) return out_of_memory("deflate");
  return std::unique_ptr<CompressStream>(std::move(stream));
}

}  // namespace recordfs
