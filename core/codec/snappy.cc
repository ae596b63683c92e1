#include <snappy.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/codec/backend.h"

#include "core/base/counted.h"

namespace recordfs {
namespace {

// The densest element of the format is a copy of 64 bytes, encoded in 3.
constexpr std::uint64_t kLargestRatio = 22;

Error broken(std::string_view why) { return {Code::kDamage, 0, fmt::format("snappy: {}", why)}; }

const char* characters(Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); }

// Returns the size that `stored` declares. Fails with kDamage if `stored` cannot produce that many bytes.
Result<std::size_t> declared_size(Bytes stored) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(characters(stored), stored.size(), &size)) return broken("missing length");
  if (size / kLargestRatio > stored.size())
    return broken(fmt::format("{} cannot decompress to {} bytes", counted(stored.size(), "byte"), size));
  return size;
}

Result<void> uncompress(Bytes stored, MutableBytes out) {
  char nothing = 0;
  char* target = out.empty() ? &nothing : reinterpret_cast<char*>(out.data());
  if (!snappy::RawUncompress(characters(stored), stored.size(), target)) return broken("corrupt data");
  return {};
}

Result<void> decompress_snappy_into(Bytes stored, MutableBytes out) {
  ASSIGN_OR_RETURN(const auto size, declared_size(stored));
  if (size != out.size()) return wrong_size(out.size());
  return uncompress(stored, out);
}

Result<Buffer> decompress_snappy(const RequestContext& context, Bytes stored, std::uint64_t, std::uint64_t limit) {
  ASSIGN_OR_RETURN(const auto size, declared_size(stored));
  if (size > limit) return more_than(limit);
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, size));
  TRY(uncompress(stored, buffer.span()));
  return buffer;
}

// Raw Snappy cannot be decompressed incrementally. The first read decompresses everything; the maximum ratio bounds the
// memory.
class SnappyStream final : public DecodeStream {
 public:
  explicit SnappyStream(Bytes stored) : stored_(stored) {}

  Result<std::size_t> read(const RequestContext& context, MutableBytes out) override {
    if (!decoded_) {
      ASSIGN_OR_RETURN(auto whole, decompress_snappy(context, stored_, 0, std::numeric_limits<std::uint64_t>::max()));
      whole_ = std::move(whole);
      decoded_ = true;
    }
    const std::size_t size = std::min(out.size(), whole_.size() - given_);
    if (size > 0) std::memcpy(out.data(), whole_.data() + given_, size);
    given_ += size;
    return size;
  }

  std::size_t stored_left() const override { return decoded_ ? 0 : stored_.size(); }

 private:
  Bytes stored_;
  Buffer whole_;
  std::size_t given_ = 0;
  bool decoded_ = false;
};

Result<std::unique_ptr<DecodeStream>> open_snappy(Bytes stored, Tail, std::uint64_t /*memory*/) {
  return std::unique_ptr<DecodeStream>(std::make_unique<SnappyStream>(stored));
}

}  // namespace

const Backend kSnappyBackend = {decompress_snappy_into, decompress_snappy, open_snappy};

std::string version_of_snappy() { return fmt::format("{}.{}.{}", SNAPPY_MAJOR, SNAPPY_MINOR, SNAPPY_PATCHLEVEL); }

}  // namespace recordfs
