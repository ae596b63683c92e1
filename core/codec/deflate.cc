#include <zlib.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/codec/backend.h"
#include "core/codec/inflater.h"
#include "core/codec/member_stream.h"

namespace recordfs {
namespace {

// zlib takes sizes as unsigned int; both the stored bytes and the output may be larger.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

// Returns the wrapper as inflateInit2() numbers it. The window always has the maximum size of the format.
constexpr int wrapper_of(CodecId codec) {
  if (codec == CodecId::kDeflate) return -MAX_WBITS;
  return codec == CodecId::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

Error no_memory() { return {.code = Code::kOutOfMemory, .detail = "no memory for deflate"}; }

class ZlibInflater final : public Inflater {
 public:
  ZlibInflater() = default;
  ~ZlibInflater() override { inflateEnd(&state_); }
  ZlibInflater(const ZlibInflater&) = delete;
  ZlibInflater& operator=(const ZlibInflater&) = delete;

  // Lets a raw deflate stream refer to bytes before its begin. Returns whether there was memory for it.
  bool follow(Bytes dictionary) {
    const Bytes reachable = dictionary.last(std::min<std::size_t>(dictionary.size(), std::size_t{1} << MAX_WBITS));
    return inflateSetDictionary(&state_, reinterpret_cast<const Bytef*>(reachable.data()),
                                static_cast<uInt>(reachable.size())) == Z_OK;
  }

  // Returns whether initialization succeeded. If not, no other function may be called.
  bool begin(CodecId codec) { return inflateInit2(&state_, wrapper_of(codec)) == Z_OK; }

  Result<std::unique_ptr<Inflater>> copy() const override {
    auto other = std::make_unique<ZlibInflater>();
    // inflateCopy() does not modify the source, but its parameter is not const.
    if (inflateCopy(&other->state_, const_cast<z_stream*>(&state_)) != Z_OK) return no_memory();
    return std::unique_ptr<Inflater>(std::move(other));
  }

  Result<Step> step(Bytes stored, MutableBytes out) override {
    stored = stored.first(std::min(stored.size(), kPieceBytes));
    out = out.first(std::min(out.size(), kPieceBytes));
    // zlib does not modify the input, but its field is not const.
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
      step.needs_dictionary = outcome == Z_NEED_DICT;
    }
    return step;
  }

  void reset() override { inflateReset(&state_); }

 private:
  z_stream state_{};  // not movable: zlib stores its address
};

class InflateStream final : public MemberStream {
 public:
  InflateStream(CodecId codec, Bytes stored, Tail tail)
      : MemberStream(to_string(codec), stored, tail),
        is_gzip_(codec == CodecId::kGzip),
        ready_(inflater_.begin(codec)) {}

  // Returns whether initialization succeeded. If not, the stream must not be read.
  bool ready() const { return ready_; }

 private:
  Result<Step> step(Bytes rest, MutableBytes out) override {
    auto step = inflater_.step(rest, out);
    if (!step) return no_memory();
    if (step->verdict != Inflater::Verdict::kBroken) {
      return Step{step->taken, step->given, step->verdict == Inflater::Verdict::kEnded};
    }
    Error error = broken(step->reason);
    if (step->needs_dictionary) error.code = Code::kUnsupported;
    return error;
  }

  bool next_member(Bytes rest) override {
    if (!is_gzip_ || !begins_gzip_member(rest)) return false;
    inflater_.reset();
    return true;
  }

  const bool is_gzip_;
  ZlibInflater inflater_;
  const bool ready_;
};

template <CodecId codec>
Result<std::unique_ptr<DecodeStream>> open_inflate(Bytes stored, Tail tail, std::uint64_t /*memory*/) {
  auto stream = std::make_unique<InflateStream>(codec, stored, tail);
  if (!stream->ready()) return Error{Code::kOutOfMemory, 0, fmt::format("no memory for {}", to_string(codec))};
  return std::unique_ptr<DecodeStream>(std::move(stream));
}

#ifdef RECORDFS_HAVE_LIBDEFLATE
constexpr const WholeUnit* kWholeUnits[] = {&kWholeDeflate, &kWholeZlib, &kWholeGzip};
#else
constexpr const WholeUnit* kWholeUnits[] = {nullptr, nullptr, nullptr};
#endif

}  // namespace

const Backend kDeflateBackend = {nullptr, nullptr, open_inflate<CodecId::kDeflate>, kWholeUnits[0]};
const Backend kZlibBackend = {nullptr, nullptr, open_inflate<CodecId::kZlib>, kWholeUnits[1]};
const Backend kGzipBackend = {nullptr, nullptr, open_inflate<CodecId::kGzip>, kWholeUnits[2]};

Result<std::unique_ptr<Inflater>> Inflater::open(CodecId codec) {
  if (codec != CodecId::kGzip && codec != CodecId::kZlib) {
    return Error{.code = Code::kUnsupported, .detail = "neither a gzip nor a zlib stream"};
  }
  auto inflater = std::make_unique<ZlibInflater>();
  if (!inflater->begin(codec)) return no_memory();
  return std::unique_ptr<Inflater>(std::move(inflater));
}

Result<Buffer> decompress_deflate_with(const RequestContext& context, Bytes dictionary, Bytes stored,
                                       std::uint64_t size) {
  ASSIGN_OR_RETURN(auto out, Buffer::allocate(context, static_cast<std::size_t>(size)));
  ZlibInflater inflater;
  if (!inflater.begin(CodecId::kDeflate) || !inflater.follow(dictionary)) return no_memory();
  std::size_t given = 0;
  for (bool has_ended = false; !has_ended;) {
    ASSIGN_OR_RETURN(const auto step, inflater.step(stored, out.span().subspan(given)));
    stored = stored.subspan(step.taken);
    given += step.given;
    has_ended = step.verdict == Inflater::Verdict::kEnded;
    if (step.verdict == Inflater::Verdict::kBroken) {
      return Error{.code = Code::kDamage, .detail = fmt::format("deflate: {}", step.reason)};
    }
    if (!has_ended && step.taken == 0 && step.given == 0) return wrong_size(size);
  }
  if (given != size || !stored.empty()) return wrong_size(size);
  return out;
}

std::string version_of_zlib() { return zlibVersion(); }

}  // namespace recordfs
