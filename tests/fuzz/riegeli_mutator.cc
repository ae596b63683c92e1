// Splits a Riegeli file into chunks and reassembles it with correct block headers, sizes and hashes
// (core/formats/riegeli/FORMAT.md). Uses the terms of that page.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "core/hash/highway.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::uint64_t kBlock = 65536;
constexpr std::uint64_t kBlockHeader = 24;
constexpr std::uint64_t kChunkHeader = 40;
constexpr std::uint64_t kLargestFile = 200000;

struct RawChunk {
  std::string header;  // its 40 bytes
  std::string data;
};

std::uint64_t get(const std::string& bytes, std::size_t at, std::size_t width) {
  return get_number(as_bytes(bytes), at, width);
}

void put(std::string& bytes, std::size_t at, std::size_t width, std::uint64_t value) {
  put_number(std::as_writable_bytes(std::span(bytes)), at, width, value);
}

std::uint64_t records_of(const RawChunk& chunk) { return get(chunk.header, 24, 8) >> 8; }

// Returns the end of a chunk that begins at `begin`; see "Implementation notes" in the specification.
std::uint64_t chunk_end(std::uint64_t begin, const RawChunk& chunk) {
  constexpr std::uint64_t kUsable = kBlock - kBlockHeader;
  const std::uint64_t size = kChunkHeader + chunk.data.size();
  const std::uint64_t blocks = (size + (begin + kUsable - 1) % kBlock) / kUsable;
  const std::uint64_t last = begin + std::min(records_of(chunk), kLargestFile);
  const std::uint64_t rest = kBlock - 1 - (last + kBlock - 1) % kBlock;
  return std::max(begin + size + blocks * kBlockHeader, last + (rest > kUsable - 1 ? rest - (kUsable - 1) : 0));
}

// Returns the offsets of `size` bytes of a chunk from `at` on, without block headers. Advances `at` past them.
std::vector<std::size_t> places(std::size_t& at, std::uint64_t size, std::size_t file_size) {
  std::vector<std::size_t> found;
  while (found.size() < size) {
    if (at % kBlock == 0) at += kBlockHeader;
    if (at >= file_size) break;
    found.push_back(at++);
  }
  return found;
}

std::string gather(Bytes file, const std::vector<std::size_t>& from) {
  std::string bytes;
  for (const std::size_t at : from) bytes.push_back(static_cast<char>(file[at]));
  return bytes;
}

void scatter(MutableBytes file, const std::vector<std::size_t>& to, const std::string& bytes) {
  for (std::size_t i = 0; i < to.size(); ++i) file[to[i]] = static_cast<std::byte>(bytes[i]);
}

void fix_chunk(RawChunk& chunk) {
  put(chunk.header, 16, 8, riegeli_hash(as_bytes(chunk.data)));
  put(chunk.header, 0, 8, riegeli_hash(as_bytes(chunk.header).subspan(8)));
}

void put_block_header(MutableBytes file, std::size_t at, std::uint64_t previous, std::uint64_t next) {
  if (file.size() - at < kBlockHeader) return;
  put_number(file, at + 8, 8, previous);
  put_number(file, at + 16, 8, next);
  put_number(file, at, 8, riegeli_hash(file.subspan(at + 8, 16)));
}

struct Found {
  RawChunk chunk;
  std::vector<std::size_t> header_places;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Parses the chunk at `begin` without checking its hashes. Returns an empty one if the file ends too early.
Found find_chunk(Bytes file, std::uint64_t begin) {
  std::size_t at = begin;
  Found found;
  found.begin = begin;
  found.header_places = places(at, kChunkHeader, file.size());
  if (found.header_places.size() < kChunkHeader) return found;
  found.chunk.header = gather(file, found.header_places);
  const std::uint64_t size = std::min<std::uint64_t>(get(found.chunk.header, 8, 8), file.size());
  found.chunk.data = gather(file, places(at, size, file.size()));
  found.end = chunk_end(begin, found.chunk);
  return found;
}

std::vector<RawChunk> take_apart(Bytes file) {
  std::vector<RawChunk> chunks;
  for (std::uint64_t begin = 0; begin < file.size() && chunks.size() < 4096;) {
    Found found = find_chunk(file, begin);
    if (found.end == 0) break;
    chunks.push_back(std::move(found.chunk));
    begin = found.end;
  }
  return chunks;
}

void append_chunk(std::string& file, RawChunk chunk) {
  fix_chunk(chunk);
  const std::uint64_t begin = file.size();
  const std::uint64_t end = chunk_end(begin, chunk);
  if (end > kLargestFile) return;
  file.resize(end);
  const auto bytes = std::as_writable_bytes(std::span(file));
  for (std::size_t block = (begin + kBlock - 1) / kBlock * kBlock; block < end; block += kBlock) {
    put_block_header(bytes, block, block - begin, end - block);
  }
  std::size_t at = begin;
  scatter(bytes, places(at, kChunkHeader, file.size()), chunk.header);
  scatter(bytes, places(at, chunk.data.size(), file.size()), chunk.data);
}

std::string put_together(const std::vector<RawChunk>& chunks) {
  std::string file;
  for (const RawChunk& chunk : chunks) append_chunk(file, chunk);
  return file;
}

void change_header(RawChunk& chunk, std::minstd_rand& random) {
  constexpr std::array<std::uint64_t, 5> kTypes{'s', 'm', 'p', 'r', 't'};
  switch (random() % 3) {
    case 0: put(chunk.header, 24, 1, kTypes[random() % kTypes.size()]); break;
    case 1: put(chunk.header, 25, 7, records_of(chunk) + random() % 5 - 2); break;
    default: put(chunk.header, 32, 8, get(chunk.header, 32, 8) + random() % 33 - 16); break;
  }
}

void change_one(std::vector<RawChunk>& chunks, std::minstd_rand& random, const ChangeBytes& change) {
  const auto picked = chunks.begin() + static_cast<std::ptrdiff_t>(random() % chunks.size());
  switch (random() % 8) {
    case 0: change_header(*picked, random); break;
    case 1: chunks.insert(picked, RawChunk(*picked)); break;
    case 2: chunks.erase(picked); break;
    default: change(picked->data, 64); put(picked->header, 8, 8, picked->data.size());
  }
}

void fix_checksums(MutableBytes file) {
  for (std::uint64_t begin = 0; begin < file.size();) {
    Found found = find_chunk(file, begin);
    if (found.end == 0) break;
    fix_chunk(found.chunk);
    scatter(file, found.header_places, found.chunk.header);
    for (std::size_t block = (begin + kBlock - 1) / kBlock * kBlock;
         block < std::min<std::uint64_t>(found.end, file.size()); block += kBlock) {
      put_block_header(file, block, block - begin, found.end - block);
    }
    begin = found.end;
  }
}

std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  auto chunks = take_apart(file);
  if (chunks.empty()) chunks.push_back({std::string(kChunkHeader, '\0'), ""});
  change_one(chunks, random, change);
  return put_together(chunks);
}

}  // namespace

namespace riegeli {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace riegeli
}  // namespace recordfs::fuzz
