#include "core/codec/blosc.h"

#include <utility>

#include <blosc.h>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/codec/backend.h"

namespace recordfs {
namespace {

constexpr std::size_t kNumber = 4;
constexpr std::size_t kPreamble = kBloscHeaderSize + kNumber;  // a header and a table of one block
constexpr std::uint8_t kUnsplitFlag = 0x10;
constexpr int kNoSuchCodec = -5;  // returned by the library
// The library sums up the length of a match in a signed 32-bit integer, 255 for each such byte. No valid stream comes
// near this limit: its match would be longer than a chunk.
constexpr std::uint64_t kLongestRun = 8000000;

constexpr std::uint64_t kCodecMemory = 1u << 20;  // a lower bound of a codec's working memory

Error broken(std::uint32_t block) {
  return {Code::kDamage, 0, fmt::format("Blosc cannot decode block {} of the chunk", block)};
}

Error broken_chunk() { return {Code::kDamage, 0, "Blosc cannot decode the chunk"}; }

bool has_long_run(Bytes stored) {
  if (stored.size() < kLongestRun) return false;
  std::uint64_t run = 0;
  for (const std::byte byte : stored) {
    run = byte == std::byte{0xFF} ? run + 1 : 0;
    if (run >= kLongestRun) return true;
  }
  return false;
}

void put(MutableBytes out, std::size_t at, std::uint32_t number) {
  for (std::size_t i = 0; i < kNumber; ++i) out[at + i] = static_cast<std::byte>(number >> 8 * i & 0xFF);
}

// Returns the header of a synthetic chunk that holds only this block, so that the library needs no other part of the
// real chunk.
BloscHeader header_of_one(const BloscHeader& header, std::uint32_t block, std::size_t stored) {
  BloscHeader one = header;
  // The library never splits a shorter last block, but would split it as the only block of its chunk.
  if (header.streams(block) == 1) one.flags |= kUnsplitFlag;
  one.size = one.block_size = header.decoded_size(block);
  one.stored_size = static_cast<std::uint32_t>(kPreamble + stored);
  return one;
}

Result<Buffer> chunk_of_one(const RequestContext& context, const BloscHeader& one, Bytes stored) {
  ASSIGN_OR_RETURN(auto chunk, Buffer::allocate(context, one.stored_size));
  const MutableBytes bytes = chunk.span();
  bytes[0] = std::byte{BLOSC_VERSION_FORMAT};
  bytes[1] = std::byte{1};
  bytes[2] = static_cast<std::byte>(one.flags);
  bytes[3] = static_cast<std::byte>(one.typesize);
  put(bytes, 4, one.size);
  put(bytes, 8, one.block_size);
  put(bytes, 12, one.stored_size);
  put(bytes, 16, kPreamble);
  copy_bytes(stored, bytes.subspan(kPreamble));
  return chunk;
}

// Succeeds if no number in the chunk leads the library out of its bounds.
Result<void> check_chunk_of_one(const BloscHeader& one, Bytes chunk) {
  TRY(check_blosc(one));
  ASSIGN_OR_RETURN(const auto extent, find_blosc_block(one, 0, chunk));
  if (extent.begin != kPreamble || extent.end != chunk.size() || has_long_run(chunk)) return broken(0);
  return {};
}

// Fails with kOutOfMemory if the library's working memory is not available. The library does not check its own
// allocation.
Result<void> check_memory(const RequestContext& context, std::uint64_t size) {
  TRY(Buffer::allocate(context, static_cast<std::size_t>(3 * size + BLOSC_MAX_TYPESIZE * kNumber)));
  return {};
}

// Succeeds if no number in the whole chunk leads the library out of its bounds.
Result<void> check_numbers(const BloscHeader& header, Bytes chunk) {
  if (header.stored_size != chunk.size()) return broken_chunk();
  TRY(check_blosc(header));
  if (header.is_plain()) return {};
  for (std::uint32_t block = 0; block < header.blocks(); ++block) {
    TRY(find_blosc_block(header, block, chunk));
  }
  if (has_long_run(chunk)) return broken_chunk();
  return {};
}

// Decodes a chunk with this header, whose numbers were checked. Returns false if it is damaged.
Result<bool> decode_checked(const RequestContext& context, const BloscHeader& header, Bytes chunk, MutableBytes out) {
  TRY(check_memory(context, header.block_size));
  const auto decode = [&] {
    // Uses one thread and no global state, so concurrent calls are safe.
    return blosc_decompress_ctx(chunk.data(), out.data(), out.size(), 1);
  };
  int got = decode();
  if (got < 0 && got != kNoSuchCodec) {
    // The library reports damage if a codec runs out of memory. Check for memory and retry to tell the two apart.
    TRY(check_memory(context, header.block_size + kCodecMemory));
    got = decode();
  }
  if (got == kNoSuchCodec) {
    return Error{.code = Code::kUnsupported, .detail = fmt::format("this Blosc was built without {}", header.codec())};
  }
  // The library leaves bytes that it did not reach unwritten.
  return got >= 0 && static_cast<std::size_t>(got) == out.size();
}

}  // namespace

bool has_blosc() { return true; }

Result<void> decompress_blosc_block(const RequestContext& context, const BloscHeader& header, std::uint32_t block,
                                    Bytes stored, MutableBytes out) {
  if (out.size() != header.decoded_size(block) || stored.size() > kBloscLargest - kNumber) return broken(block);
  const BloscHeader one = header_of_one(header, block, stored.size());
  ASSIGN_OR_RETURN(const auto chunk, chunk_of_one(context, one, stored));
  TRY(check_chunk_of_one(one, chunk.view()));
  ASSIGN_OR_RETURN(const auto is_good, decode_checked(context, one, chunk.view(), out));
  if (!is_good) return broken(block);
  return {};
}

Result<void> decompress_blosc_chunk(const RequestContext& context, Bytes chunk, MutableBytes out) {
  ASSIGN_OR_RETURN(const auto header, parse_blosc_header(chunk));
  if (header.size != out.size()) return broken_chunk();
  TRY(check_numbers(header, chunk));
  if (header.is_plain()) {
    copy_bytes(chunk.subspan(kBloscHeaderSize), out);
    return {};
  }
  ASSIGN_OR_RETURN(const auto is_good, decode_checked(context, header, chunk, out));
  if (!is_good) return broken_chunk();
  return {};
}

std::string version_of_blosc() { return blosc_get_version_string(); }

}  // namespace recordfs
