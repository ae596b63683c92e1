// The buffers of a transposed chunk, which are stored in compressed buckets (FORMAT.md, "Transposed chunks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/codec/codec.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli::transposed {

// Returns an error about the chunk's content.
inline Error damage(std::string_view detail) { return {.code = Code::kDamage, .detail = std::string(detail)}; }

struct Buffers {
  std::vector<UnitContent> buckets;
  std::vector<Bytes> buffers;  // views into the buckets or into the chunk's data
};

struct BufferLimits {
  std::uint64_t bytes = 0;  // of all buffers together
  std::uint64_t count = 0;  // of buffers, and of buckets
};

// Parses the counts and lengths at the start of the header and takes the buckets from `data`. The buffers must use up
// every bucket, and no buffer crosses buckets. Fails with kDamage, with kLimit if the buffers exceed `limits`, and as
// the codec does. `data` must outlive the result.
Result<Buffers> open_buffers(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                             const BufferLimits& limits);

// Buffers whose buckets are decompressed when they are needed. Not thread-safe.
class LazyBuffers {
 public:
  // Reads as open_buffers() does, but places the buffers by the sizes that the buckets declare. Fails also with kDamage
  // if these disagree with the buffers. `data` must outlive the result.
  static Result<LazyBuffers> parse(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                                   const BufferLimits& limits);

  std::size_t size() const { return places_.size(); }
  // Returns a buffer, and decompresses its bucket as far as needed, unless that was done before. Fails as open_unit(),
  // and with kDamage. The bytes are valid as long as this. REQUIRES: buffer < size().
  Result<Bytes> open(const RequestContext& context, std::size_t buffer);

 private:
  struct Bucket {
    Bytes stored{};
    std::uint64_t size = 0;
    bool is_open = false;
    UnitContent content{};  // if it was decompressed at once
    // Otherwise the beginning of the content, as far as it was needed.
    std::unique_ptr<DecodeStream> stream{};
    Buffer front{};  // of `size` bytes, most of which may be unused memory
    std::size_t filled = 0;
  };
  // Of a buffer.
  struct Place {
    std::size_t bucket = 0;
    std::uint64_t begin = 0;  // in the bucket
    std::uint64_t size = 0;
  };

  // Fails if a bucket before this one has another size than it declares, since the buffers would be in other places.
  // Decompresses those whose streams do not state their sizes.
  Result<void> check_sizes_before(const RequestContext& context, std::size_t bucket);
  // Decompresses a bucket, which must have the size that it declares.
  Result<UnitContent> content_of(const RequestContext& context, const Bucket& bucket) const;
  // Returns the first `size` bytes of a bucket, or more.
  Result<Bytes> front_of(const RequestContext& context, Bucket& bucket, std::size_t size) const;
  Result<void> open(const RequestContext& context, Bucket& bucket) const;
  Result<void> open_front(const RequestContext& context, Bucket& bucket) const;

  CodecId codec_ = CodecId::kNone;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;
  std::size_t checked_ = 0;  // so many buckets have the sizes that they declare
};

}  // namespace recordfs::riegeli::transposed
