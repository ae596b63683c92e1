#include "core/formats/bloscpack/stored.h"

#include <algorithm>
#include <utility>

namespace recordfs::bloscpack {
namespace {

constexpr std::uint64_t kPiece = 256 << 10;

Error mismatch(const ChunkInfo& info) {
  return {Code::kDamage, info.begin, "the checksum of the chunk does not match"};
}

Result<void> compare(const Stored& stored, Digester& digester) {
  const Position at = stored.info.begin + stored.info.stored_size;
  ASSIGN_OR_RETURN(const auto due, read_exactly(*stored.source, at, stored.info.end - at));
  const Digest digest = digester.finish();
  if (!std::ranges::equal(digest.view(), due.view())) return mismatch(stored.info);
  return {};
}

}  // namespace

Error at_chunk(Error error, const ChunkInfo& info) {
  if (error.code != Code::kIo && error.code != Code::kChanged) error.position = info.begin;
  return error;
}

Result<void> verify_stored(const Stored& stored) {
  if (!stored.digest) return {};
  Digester digester(*stored.digest);
  for (std::uint64_t done = 0; done < stored.info.stored_size;) {
    const std::uint64_t length = std::min(stored.info.stored_size - done, kPiece);
    ASSIGN_OR_RETURN(const auto piece, read_exactly(*stored.source, stored.info.begin + done, length));
    digester.append(piece.view());
    done += length;
  }
  return compare(stored, digester);
}

Result<Buffer> read_verified(const Stored& stored) {
  auto bytes = read_exactly(*stored.source, stored.info.begin, stored.info.stored_size);
  if (!bytes || !stored.digest) return bytes;
  Digester digester(*stored.digest);
  digester.append(bytes->view());
  TRY(compare(stored, digester));
  return bytes;
}

Result<BloscHeader> read_header(const Stored& stored) {
  const ChunkInfo& info = stored.info;
  ASSIGN_OR_RETURN(const auto head, read_exactly(*stored.source, info.begin, kBloscHeaderSize));
  auto header = parse_blosc_header(head.view());
  if (!header) return at_chunk(std::move(header).error(), info);
  if (header->size != info.decoded_size || header->stored_size != info.stored_size) {
    return Error{Code::kDamage, info.begin, "the chunk is not the one that the scan found"};
  }
  if (auto sound = check_blosc(*header); !sound) return at_chunk(std::move(sound).error(), info);
  return header;
}

}  // namespace recordfs::bloscpack
