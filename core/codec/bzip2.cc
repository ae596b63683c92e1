#include <bzlib.h>

#include <algorithm>
#include <limits>

#include "core/codec/backend.h"
#include "core/codec/member_stream.h"

namespace recordfs {
namespace {

bool begins_bzip2_stream(Bytes rest) {
  constexpr std::string_view kMagic = "BZh";
  return as_text(rest).starts_with(kMagic);
}

// At most so many bytes fit into a counter of the library.
unsigned as_count(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(size, std::numeric_limits<unsigned>::max()));
}

class Bzip2Stream final : public MemberStream {
 public:
  Bzip2Stream(Bytes stored, Tail tail) : MemberStream("bzip2", stored, tail), is_ready_(begin()) {}
  ~Bzip2Stream() override { end(); }

  // Returns whether initialization succeeded. If not, the stream must not be read.
  bool is_ready() const { return is_ready_; }

 private:
  bool begin() {
    state_ = {};
    return BZ2_bzDecompressInit(&state_, 0, 0) == BZ_OK;
  }
  void end() {
    if (is_ready_) BZ2_bzDecompressEnd(&state_);
    is_ready_ = false;
  }

  Result<Step> step(Bytes rest, MutableBytes out) override {
    if (!is_ready_) return no_memory();
    // The library does not change its input.
    state_.next_in = const_cast<char*>(reinterpret_cast<const char*>(rest.data()));
    state_.avail_in = as_count(rest.size());
    state_.next_out = reinterpret_cast<char*>(out.data());
    state_.avail_out = as_count(out.size());
    const std::size_t stored = state_.avail_in;
    const std::size_t room = state_.avail_out;
    const int outcome = BZ2_bzDecompress(&state_);
    if (outcome == BZ_MEM_ERROR) return no_memory();
    if (outcome != BZ_OK && outcome != BZ_STREAM_END) {
      return broken(outcome == BZ_DATA_ERROR_MAGIC ? "invalid header" : "corrupt data");
    }
    return Step{stored - state_.avail_in, room - state_.avail_out, outcome == BZ_STREAM_END};
  }

  bool next_member(Bytes rest) override {
    if (!begins_bzip2_stream(rest)) return false;
    end();
    is_ready_ = begin();
    return true;
  }

  bz_stream state_{};
  bool is_ready_;
};

Result<std::unique_ptr<DecodeStream>> open_bzip2(Bytes stored, Tail tail, std::uint64_t /*memory*/) {
  auto stream = std::make_unique<Bzip2Stream>(stored, tail);
  if (!stream->is_ready()) return out_of_memory("no bzip2 memory");
  return std::unique_ptr<DecodeStream>(std::move(stream));
}

}  // namespace

const Backend kBzip2Backend = {nullptr, nullptr, open_bzip2};

std::string version_of_bzip2() {
  const std::string_view version = BZ2_bzlibVersion();  // 1.0.8, 13-Jul-2019
  return std::string(version.substr(0, version.find(',')));
}

}  // namespace recordfs
