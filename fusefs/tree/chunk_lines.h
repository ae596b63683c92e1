// The records of a chunk as lines of JSON, one object a record: what chunks/OFFSET/records.jsonl holds.
//
// A line tells a record's ordinal and index, its size, its bytes as "text" or "base64", and what is decoded of it:
//
//   {"ordinal":42,"index":3,"size":5,"text":"hello"}
//
// A record that can't be read has a line too, with "error" behind its index. So has a chunk of which nobody can tell
// how many records it has: {"chunk":65536,"error":"..."}.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/cancellable_mutex.h"
#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"

namespace recordfs {

// A larger record is looked into by one thread at a time.
inline constexpr std::uint64_t kLargeRecord = 256u << 10;

// Who looks into a record of `size` bytes is held up here. Fails as RequestContext::spend() and
// CancellableMutex::lock() do.
Result<std::optional<CancellableMutex::Lock>> lock_for(std::uint64_t size, CancellableMutex& large);

// Where the lines of a chunk stand in their text, which is never in memory as a whole: in blocks, each of a few
// lines or of one that is long.
struct LineTable {
  struct Block {
    std::uint64_t first = 0;  // line of it
    std::uint64_t begin = 0;  // of its text, in bytes
  };

  std::uint64_t id = 0;             // different from that of all others
  std::uint64_t first_ordinal = 0;  // of the chunk's first record
  std::vector<Block> blocks{};
  std::uint64_t size = 0;  // of the text, in bytes

  // The block that a byte of the text lies in. REQUIRES: offset < size.
  std::size_t block_at(std::uint64_t offset) const;
  // Where a block ends.
  std::uint64_t end_of(std::size_t block) const { return block + 1 < blocks.size() ? blocks[block + 1].begin : size; }
  std::uint64_t memory() const { return blocks.capacity() * sizeof(Block); }
};

// Makes the lines of a chunk. Any thread.
class ChunkLines {
 public:
  // Of a larger record the bytes are not shown.
  static constexpr std::uint64_t kLargestRecord = 64u << 20;

  // Fails for passing reasons alone. `store` and `decoder` have to outlive it, and so has `large`, which is held while
  // a large record is looked into.
  static Result<ChunkLines> open(const RecordStore& store, const RecordDecoder& decoder, const ChunkInfo& chunk,
                                 std::uint64_t first_ordinal, CancellableMutex& large);

  std::uint64_t lines() const { return records_.value_or(1); }

  // Appends the lines of a block to an empty text. Returns the first line behind it. The same block gives the same
  // text every time, or fails, for passing reasons alone. REQUIRES: block.first < lines().
  Result<std::uint64_t> write(const LineTable::Block& block, std::string& text) const;

 private:
  ChunkLines(const RecordStore& store, const RecordDecoder& decoder, const ChunkInfo& info, std::uint64_t first_ordinal,
             CancellableMutex& large)
      : store_(store), decoder_(decoder), info_(info), first_ordinal_(first_ordinal), large_(large) {}

  Result<void> write_line(std::uint64_t index, bool is_decoded, std::string& text) const;
  Result<void> write_record(std::uint64_t index, std::uint64_t size, bool is_decoded, std::string& text) const;

  const RecordStore& store_;
  const RecordDecoder& decoder_;
  const ChunkInfo info_;
  const std::uint64_t first_ordinal_;
  CancellableMutex& large_;
  std::shared_ptr<const Chunk> chunk_;  // null: it can't be read
  std::string failure_;                 // why it can't
  std::optional<std::uint64_t> records_;
  std::uint64_t most_text_ = 0;  // bytes of text behind which nothing is decoded any more
};

}  // namespace recordfs
