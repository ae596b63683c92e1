#include <algorithm>
#include <cstring>

#include "core/codec/backend.h"

namespace recordfs {
namespace {

class NoneStream final : public DecodeStream {
 public:
  explicit NoneStream(Bytes stored) : rest_(stored) {}

  Result<std::size_t> read(MutableBytes out) override {
    const std::size_t size = std::min(out.size(), rest_.size());
    if (size > 0) std::memcpy(out.data(), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return size;
  }

  std::size_t stored_left() const override { return rest_.size(); }

 private:
  Bytes rest_;
};

Result<void> decompress_none_into(Bytes stored, MutableBytes out) {
  if (stored.size() != out.size()) return wrong_size(out.size());
  if (!stored.empty()) std::memcpy(out.data(), stored.data(), stored.size());
  return {};
}

Result<Buffer> decompress_none(Bytes stored, std::uint64_t, std::uint64_t limit) {
  if (stored.size() > limit) return more_than(limit);
  return Buffer::copy_of(stored);
}

Result<std::unique_ptr<DecodeStream>> open_none(Bytes stored, Tail, std::uint64_t /*memory*/) {
  return std::unique_ptr<DecodeStream>(std::make_unique<NoneStream>(stored));
}

}  // namespace

const Backend kNoneBackend = {decompress_none_into, decompress_none, open_none};

}  // namespace recordfs
