#include <zstd.h>
#include <zstd_errors.h>

#include <fmt/format.h>

#include "core/codec/backend.h"
#include "core/codec/compressor.h"

namespace recordfs {
namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using KeptCompressor = KeptContext<ZSTD_CCtx, FreeCompressor>;
using Compressor = KeptCompressor::Pointer;

KeptCompressor spare_compressors;

// `result` is what a function of the library returned.
Result<void> check(std::size_t result) {
  if (!ZSTD_isError(result)) return {};
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) return out_of_memory("zstd");
  return Error{.code = Code::kUnsupported, .detail = fmt::format("zstd: {}", ZSTD_getErrorName(result))};
}

// The level is reduced to one that the library has.
Result<Compressor> take_compressor(int level) {
  Compressor context = spare_compressors.take();
  if (!context) context.reset(ZSTD_createCCtx());
  if (!context) return out_of_memory("zstd");
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  TRY(check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level)));
  return context;
}

class ZstdCompressor final : public CompressStream {
 public:
  explicit ZstdCompressor(Compressor context) : context_(std::move(context)) {}

  Result<void> append(Bytes content, std::string& out) override { return run(content, ZSTD_e_continue, out); }
  Result<void> finish(std::string& out) override { return run({}, ZSTD_e_end, out); }

 private:
  Result<void> run(Bytes content, ZSTD_EndDirective directive, std::string& out) {
    const std::size_t piece = compressed_piece(content.size());
    ZSTD_inBuffer in{content.data(), content.size(), 0};
    for (bool is_done = false; !is_done;) {
      const std::size_t begin = out.size();
      out.resize(begin + piece);
      ZSTD_outBuffer target{out.data() + begin, piece, 0};
      const std::size_t left = ZSTD_compressStream2(context_.get(), &target, &in, directive);
      out.resize(begin + target.pos);
      TRY(check(left));
      is_done = directive == ZSTD_e_end ? left == 0 : in.pos == in.size;
    }
    return {};
  }

  const Compressor context_;
};

}  // namespace

Result<void> compress_zstd(int level, Bytes content, std::string& out) {
  ASSIGN_OR_RETURN(auto context, take_compressor(level));
  const std::size_t begin = out.size();
  out.resize(begin + ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data() + begin, out.size() - begin, content.data(), content.size());
  TRY(check(size));
  out.resize(begin + size);
  spare_compressors.keep(std::move(context));
  return {};
}

Result<std::unique_ptr<CompressStream>> open_zstd_compressor(int level) {
  ASSIGN_OR_RETURN(auto context, take_compressor(level));
  TRY(check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1)));
  return std::unique_ptr<CompressStream>(std::make_unique<ZstdCompressor>(std::move(context)));
}

}  // namespace recordfs
