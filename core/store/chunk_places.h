// Where the chunks of a scan are, in about ten bytes each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/store/indexed_chunk.h"

namespace recordfs {

// The places of the first chunks of a scan in file order, and the sums before each. A value, not thread-safe.
class ChunkPlaces {
 public:
  static constexpr std::size_t kMostBytes = 8u << 20;  // later chunks are not kept

  // Reserves memory for one more chunk, so that add() does not throw.
  void make_room();
  // Appends the next chunk of the scan. Ignores it, and all later ones, if there is no room or it is not in file order.
  void add(const IndexedChunk& indexed);
  // Removes the chunks from number `chunks` on.
  void truncate(std::uint64_t chunks);

  std::uint64_t chunks() const { return chunks_; }
  // Returns the encoded chunks.
  std::string_view bytes() const { return bytes_; }
  // Decodes `bytes`, which are untrusted. Returns nullopt if they are not `chunks` chunks that a scan of a file of
  // `size` bytes with these totals could have found, or do not agree with its anchors.
  static std::optional<ChunkPlaces> parse(std::string_view bytes, std::uint64_t chunks, const PrefixSums& totals,
                                          const std::vector<Anchor>& anchors, std::uint64_t size);

  // Returns consecutive chunks, together at most kMostOfInterval bytes of the file unless it is one chunk, of which one
  // is the last that begins at or before `value` along `search_key`. Nullopt if its place is not known.
  std::optional<IntervalPlace> interval(SearchKey search_key, std::uint64_t value) const;
  static constexpr std::uint64_t kMostOfInterval = 256u << 10;

 private:
  static constexpr std::uint64_t kChunksPerGroup = 64;
  static constexpr std::size_t kLongest = 80;  // bytes of one chunk

  // Chunks that can be decoded without those before them.
  struct Group {
    std::uint64_t offset = 0;  // in bytes_
    PrefixSums before;
  };
  // What is stored of one chunk.
  struct Place {
    ChunkKey key;
    PrefixSums before;
    PrefixSums after;
  };
  class Decoder;

  void append(const Place& place);

  std::string bytes_;
  std::vector<Group> groups_;
  std::uint64_t chunks_ = 0;
  PrefixSums end_;  // after the last chunk
  bool is_full_ = false;
};

}  // namespace recordfs
