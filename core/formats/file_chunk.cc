#include "core/formats/file_chunk.h"

namespace recordfs {
namespace {

constexpr int kAttempts = 8;

}  // namespace

FileChunk::Read FileChunk::stored_at(Position begin) {
  return [begin](const RequestContext& context, const Source& source, const Layout&, std::uint64_t offset,
                 std::uint64_t length) { return read_exactly(context, source, begin + offset, length); };
}

Result<Slice> FileChunk::read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return Slice{};
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(auto bytes, read_(context, *source_, layout(), offset, length));
    const std::uint64_t generation = source_->generation();
    const bool is_verified = !verified_.again || generation == generation_.load(std::memory_order_acquire);
    if (is_verified) return owned(std::move(bytes));
    TRY(verified_.again(context, *source_));
    generation_.store(generation, std::memory_order_release);
  }
  return Error{Code::kChanged, verified_.begin, "the file is being written to while it is read"};
}

}  // namespace recordfs
