#include "core/formats/bloscpack/decode.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/codec/blosc.h"
#include "core/formats/chunk.h"

namespace recordfs::bloscpack {
namespace {

constexpr std::uint64_t kPiece = 256 << 10;

Error mismatch(const ChunkInfo& info) {
  return {Code::kDamage, info.begin, "the checksum of the chunk does not match"};
}

Result<void> compare(const RequestContext& context, const Stored& stored, Digester& digester) {
  const Position at = stored.info.begin + stored.info.stored_size;
  ASSIGN_OR_RETURN(const auto due, read_exactly(context, *stored.source, at, stored.info.end - at));
  const Digest digest = digester.finish();
  if (!std::ranges::equal(digest.view(), due.view())) return mismatch(stored.info);
  return {};
}

// Returns an error about the chunk. Errors from inside the chunk get its position.
Error at_chunk(Error error, const ChunkInfo& info) {
  if (error.code != Code::kIo && error.code != Code::kChanged) error.position = info.begin;
  return error;
}

// Verifies the checksum in pieces of bounded size. Fails with kDamage, and as Source does.
Result<void> verify_stored(const RequestContext& context, const Stored& stored) {
  if (!stored.digest) return {};
  Digester digester(*stored.digest);
  for (std::uint64_t done = 0; done < stored.info.stored_size;) {
    const std::uint64_t length = std::min(stored.info.stored_size - done, kPiece);
    ASSIGN_OR_RETURN(const auto piece, read_exactly(context, *stored.source, stored.info.begin + done, length));
    digester.append(piece.view());
    done += length;
  }
  return compare(context, stored, digester);
}

// Returns all stored bytes without the checksum, verified. The caller has checked the size against Limits.
Result<Buffer> read_verified(const RequestContext& context, const Stored& stored) {
  auto bytes = read_exactly(context, *stored.source, stored.info.begin, stored.info.stored_size);
  if (!bytes || !stored.digest) return bytes;
  Digester digester(*stored.digest);
  digester.append(bytes->view());
  TRY(compare(context, stored, digester));
  return bytes;
}

// Returns the header, which must match the one found by the scan. Fails with kDamage, as check_blosc() does, and as
// Source does.
Result<BloscHeader> read_header(const RequestContext& context, const Stored& stored) {
  const ChunkInfo& info = stored.info;
  ASSIGN_OR_RETURN(const auto head, read_exactly(context, *stored.source, info.begin, kBloscHeaderSize));
  auto header = parse_blosc_header(head.view());
  if (!header) return at_chunk(std::move(header).error(), info);
  if (header->size != info.decoded_size || header->stored_size != info.stored_size) {
    return Error{Code::kDamage, info.begin, "the chunk is not the one that the scan found"};
  }
  if (auto sound = check_blosc(*header); !sound) return at_chunk(std::move(sound).error(), info);
  return header;
}

using Pointer = std::shared_ptr<const Chunk>;

Layout layout_of(const RequestContext& context, const BloscHeader& header) {
  Layout layout;
  layout.add(context, header.size);
  return layout;
}

Error too_large(const ChunkInfo& info, std::uint64_t bytes, std::string_view what) {
  return {Code::kLimit, info.begin, fmt::format("{} bytes {} exceed the limit", bytes, what)};
}

Error not_built(const ChunkInfo& info) { return {Code::kUnsupported, info.begin, "Blosc is not part of this build"}; }

// Returns a chunk that reads `size` bytes from `begin` on. They are a part of a chunk that was verified after the
// source had `generation`.
Pointer in_place(const RequestContext& context, Stored stored, Position begin, std::uint64_t size,
                 std::uint64_t generation) {
  Layout layout;
  layout.add(context, size);
  auto source = stored.source;
  const Position chunk = stored.info.begin;
  auto verify = [stored = std::move(stored)](const RequestContext& request, const Source&) {
    return verify_stored(request, stored);
  };
  return std::make_shared<FileChunk>(std::move(source), std::move(layout), FileChunk::stored_at(begin),
                                     FileChunk::Verified{generation, chunk, std::move(verify)});
}

Pointer plain_chunk(const RequestContext& context, Stored stored, const BloscHeader& header, std::uint64_t generation) {
  const Position data = stored.info.begin + kBloscHeaderSize;
  return in_place(context, std::move(stored), data, header.size, generation);
}

// Stored blocks in memory, each decoded into its place when first read.
class BlocksInMemory final : public Chunk {
 public:
  BlocksInMemory(const RequestContext& context, const BloscHeader& header, Position begin, Buffer stored,
                 Buffer payload)
      : Chunk(layout_of(context, header)),
        header_(header),
        begin_(begin),
        stored_(std::move(stored)),
        payload_(std::move(payload)),
        is_decoded_(header.blocks()) {}

  // Checks the header of every block, so that a chunk that contradicts itself fails as a whole.
  Result<void> check() const {
    for (std::uint32_t block = 0; block < header_.blocks(); ++block) {
      TRY(find(block));
    }
    return {};
  }

  std::uint64_t payload_size() const override { return header_.size; }
  std::uint64_t memory() const override {
    return sizeof(*this) + stored_.size() + payload_.size() + is_decoded_.size() / 8 + layout().memory();
  }

  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) return Slice{};
    const auto last = static_cast<std::uint32_t>((offset + length - 1) / header_.block_size);
    if (length == header_.size) decode_all(context);
    for (auto block = static_cast<std::uint32_t>(offset / header_.block_size); block <= last; ++block) {
      TRY(decode(context, block));
    }
    const Bytes all = payload_.view();
    return Slice{all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)), shared_from_this()};
  }

 private:
  Result<BloscExtent> find(std::uint32_t block) const {
    auto extent = find_blosc_block(header_, block, stored_.view());
    if (!extent) extent.error().position = begin_;
    return extent;
  }

  // Decodes all blocks at once, which is faster, if none was decoded before. Otherwise, and if one is damaged, each is
  // decoded alone.
  void decode_all(const RequestContext& context) const {
    const std::lock_guard lock(mutex_);
    if (std::exchange(was_decoding_, true)) return;
    if (!decompress_blosc_chunk(context, stored_.view(), payload_.span())) return;
    is_decoded_.assign(is_decoded_.size(), true);
  }

  Result<void> decode(const RequestContext& context, std::uint32_t block) const {
    const std::lock_guard lock(mutex_);
    was_decoding_ = true;
    if (is_decoded_[block]) return {};
    if (const auto failed = failures_.find(block); failed != failures_.end()) return failed->second;
    ASSIGN_OR_RETURN(const auto extent, find(block));
    const Bytes stored = stored_.view().subspan(extent.begin, extent.end - extent.begin);
    const std::size_t at = std::size_t{block} * header_.block_size;
    auto done = decompress_blosc_block(context, header_, block, stored,
                                       payload_.span().subspan(at, header_.decoded_size(block)));
    if (done) {
      is_decoded_[block] = true;
      return {};
    }
    done.error().position = begin_;
    if (is_permanent(done.error().code)) failures_.emplace(block, done.error());
    return done;
  }

  const BloscHeader header_;
  const Position begin_;
  const Buffer stored_;
  mutable std::mutex mutex_;
  mutable Buffer payload_;  // valid where is_decoded_ is set, and never written again there
  mutable std::vector<bool> is_decoded_;
  mutable bool was_decoding_ = false;
  mutable std::map<std::uint32_t, Error> failures_;
};

// Threads decode blocks larger than this one at a time, because the library allocates as much memory again for each.
constexpr std::uint32_t kLargeBlock = 64 << 20;
std::mutex one_large_block;

// Blocks read and decoded on demand; keeps the last one.
class BlocksInFile final : public Chunk {
 public:
  BlocksInFile(const RequestContext& context, const BloscHeader& header, Stored stored, std::uint64_t generation,
               const Limits& limits)
      : Chunk(layout_of(context, header)),
        header_(header),
        limits_(limits),
        info_(stored.info),
        stored_(in_place(context, std::move(stored), info_.begin, info_.stored_size, generation)) {}

  std::uint64_t payload_size() const override { return header_.size; }
  std::uint64_t memory() const override { return sizeof(*this) + header_.block_size + layout().memory(); }

  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) return Slice{};
    auto first = part(context, offset, length);
    if (!first || first->bytes.size() == length) return first;
    ASSIGN_OR_RETURN(auto gathered, Buffer::allocate(context, static_cast<std::size_t>(length)));
    copy_bytes(first->bytes, gathered.span());
    for (std::size_t filled = first->bytes.size(); filled < length;) {
      ASSIGN_OR_RETURN(const auto next, part(context, offset + filled, length - filled));
      copy_bytes(next.bytes, gathered.span().subspan(filled));
      filled += next.bytes.size();
    }
    return owned(std::move(gathered));
  }

 private:
  // Returns the part of a range that is in its first block.
  Result<Slice> part(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const {
    const auto block = static_cast<std::uint32_t>(offset / header_.block_size);
    ASSIGN_OR_RETURN(const auto decoded, decoded_block(context, block));
    const auto begin = static_cast<std::size_t>(offset % header_.block_size);
    const Bytes rest = decoded->view().subspan(begin);
    return Slice{rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(length, rest.size()))), decoded};
  }

  Result<std::shared_ptr<const Buffer>> decoded_block(const RequestContext& context, std::uint32_t block) const {
    const std::lock_guard lock(mutex_);
    if (last_ && last_block_ == block) return last_;
    last_.reset();  // free the memory before allocating more
    std::unique_lock<std::mutex> turn;
    if (header_.decoded_size(block) > kLargeBlock) turn = std::unique_lock(one_large_block);
    auto decoded = decode(context, block);
    if (!decoded) return at_chunk(std::move(decoded).error(), info_);
    last_ = std::make_shared<const Buffer>(std::move(*decoded));
    last_block_ = block;
    return last_;
  }

  Result<Buffer> decode(const RequestContext& context, std::uint32_t block) const {
    ASSIGN_OR_RETURN(const auto extent,
                     find_blosc_block(header_, block, [&](std::uint32_t offset) -> Result<std::uint32_t> {
                       ASSIGN_OR_RETURN(const auto number, stored_->read(context, offset, 4));
                       return Cursor(number.bytes).u32_le();
                     }));
    const std::uint32_t size = extent.end - extent.begin;
    if (size > limits_.stored_chunk) return too_large(info_, size, "stored in one block");
    ASSIGN_OR_RETURN(const auto stored, stored_->read(context, extent.begin, size));
    ASSIGN_OR_RETURN(auto decoded, Buffer::allocate(context, header_.decoded_size(block)));
    TRY(decompress_blosc_block(context, header_, block, stored.bytes, decoded.span()));
    return decoded;
  }

  const BloscHeader header_;
  const Limits limits_;
  const ChunkInfo info_;
  const Pointer stored_;  // the stored bytes, in the file
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Buffer> last_;
  mutable std::uint32_t last_block_ = 0;
};

// Returns the header if decode_chunk() supports the chunk. verify_chunk() calls this too, so that both report the
// same errors.
Result<BloscHeader> supported_header(const RequestContext& context, const Stored& stored) {
  auto header = read_header(context, stored);
  if (header && !header->is_plain() && !has_blosc()) return not_built(stored.info);
  return header;
}

Result<void> check_limits(const ChunkInfo& info, const Limits& limits) {
  if (info.stored_size > limits.stored_chunk) return too_large(info, info.stored_size, "stored in one chunk");
  if (*info.decoded_size > limits.decoded_chunk) return too_large(info, *info.decoded_size, "in one decoded chunk");
  return {};
}

Result<Pointer> decode_one_block(const RequestContext& context, const Stored& stored, const BloscHeader& header,
                                 Bytes bytes, Buffer payload) {
  auto extent = find_blosc_block(header, 0, bytes);
  if (!extent) return at_chunk(std::move(extent).error(), stored.info);
  const Bytes block = bytes.subspan(extent->begin, extent->end - extent->begin);
  if (auto done = decompress_blosc_block(context, header, 0, block, payload.span()); !done) {
    return at_chunk(std::move(done).error(), stored.info);
  }
  return Pointer(std::make_shared<BufferChunk>(std::move(payload), layout_of(context, header)));
}

Result<Pointer> decode_blocks(const RequestContext& context, const Stored& stored, const BloscHeader& header) {
  ASSIGN_OR_RETURN(auto bytes, read_verified(context, stored));
  auto payload = Buffer::allocate(context, header.size);
  if (!payload) return at_chunk(std::move(payload).error(), stored.info);
  if (header.blocks() == 1) return decode_one_block(context, stored, header, bytes.view(), std::move(*payload));
  auto chunk =
      std::make_shared<BlocksInMemory>(context, header, stored.info.begin, std::move(bytes), std::move(*payload));
  TRY(chunk->check());
  return Pointer(std::move(chunk));
}

}  // namespace

Result<void> verify_chunk(const RequestContext& context, const Stored& stored) {
  TRY(supported_header(context, stored));
  return verify_stored(context, stored);
}

Result<Pointer> decode_chunk(const RequestContext& context, Stored stored, const Limits& limits) {
  TRY(check_limits(stored.info, limits));
  ASSIGN_OR_RETURN(const auto header, supported_header(context, stored));
  if (!header.is_plain()) return decode_blocks(context, stored, header);
  const std::uint64_t generation = stored.source->generation();
  TRY(verify_stored(context, stored));
  return plain_chunk(context, std::move(stored), header, generation);
}

Result<Pointer> open_in_place(const RequestContext& context, Stored stored, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto header, read_header(context, stored));
  const bool is_plain = header.is_plain();
  if (!is_plain && !has_blosc()) return not_built(stored.info);
  if (!is_plain && header.block_size > limits.decoded_chunk) {
    return too_large(stored.info, header.block_size, "in one decoded block");
  }
  const std::uint64_t generation = stored.source->generation();
  TRY(verify_stored(context, stored));
  if (is_plain) return plain_chunk(context, std::move(stored), header, generation);
  return Pointer(std::make_shared<BlocksInFile>(context, header, std::move(stored), generation, limits));
}

}  // namespace recordfs::bloscpack
