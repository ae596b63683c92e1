// ChunkLines: the records of a chunk as JSON lines, for chunks/OFFSET/records.jsonl.
//
// A line has a record's ordinal and index, its size, its bytes as "text" or "base64", and the decoded record:
//
//   {"ordinal":42,"index":3,"size":5,"text":"hello"}
//
// The line of an unreadable record has "error" after the index. A chunk whose number of records is unknown has one
// line: {"chunk":65536,"error":"..."}.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/cancellable_mutex.h"
#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"

namespace recordfs {

// Larger records are parsed by one thread at a time.
inline constexpr std::uint64_t kLargeRecord = 256u << 10;

// Returns a lock of `large` for a record of more than kLargeRecord bytes, and nullopt otherwise. May wait for the lock.
// Fails as RequestContext::spend() and CancellableMutex::lock() do.
Result<std::optional<CancellableMutex::Lock>> lock_for(const RequestContext& context, std::uint64_t size,
                                                       CancellableMutex& large);

// The positions of lines in a text that is generated when read. Blocks of a few lines, or of one long line, make up the
// text, which is never in memory as a whole.
struct LineTable {
  struct Block {
    std::uint64_t first = 0;  // index of its first line
    std::uint64_t begin = 0;  // position in the text, in bytes
  };

  std::uint64_t id = 0;             // unique in the process
  std::uint64_t first_ordinal = 0;  // of the chunk's first record
  std::vector<Block> blocks{};
  std::uint64_t size = 0;  // of the text, in bytes

  // Returns the text of a block. Its owner keeps it alive.
  using MakeText = std::function<Result<Slice>(std::size_t block)>;
  // Returns up to `length` bytes of the text from `offset`, fewer only at its end.
  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length,
                     const MakeText& make_text) const;
  std::uint64_t end_of(std::size_t block) const { return block + 1 < blocks.size() ? blocks[block + 1].begin : size; }
  std::uint64_t memory() const { return blocks.capacity() * sizeof(Block); }
};

// Generates the lines of a chunk. Thread-safe.
class ChunkLines {
 public:
  // The line of a larger record omits its bytes.
  static constexpr std::uint64_t kLargestRecord = 64u << 20;

  // Decodes the chunk. If the chunk is damaged, succeeds and its lines show the error. Fails only for reasons that may
  // pass. The references must outlive the result. `large` is held while a large record is parsed.
  static Result<ChunkLines> open(const RequestContext& context, const RecordStore& store, const RecordDecoder& decoder,
                                 const ChunkInfo& chunk, std::uint64_t first_ordinal, CancellableMutex& large);

  std::uint64_t lines() const { return records_.value_or(1); }

  // Appends the lines of a block to `text`, which must be empty. Returns the index of the next line. The same block
  // always gives the same text. Fails only for reasons that may pass. REQUIRES: block.first < lines().
  Result<std::uint64_t> write(const RequestContext& context, const LineTable::Block& block, std::string& text) const;

 private:
  ChunkLines(const RecordStore& store, const RecordDecoder& decoder, const ChunkInfo& info, std::uint64_t first_ordinal,
             CancellableMutex& large)
      : store_(store), decoder_(decoder), info_(info), first_ordinal_(first_ordinal), large_(large) {}

  Result<void> write_line(const RequestContext& context, std::uint64_t index, bool is_decoded, std::string& text) const;
  Result<void> write_record(const RequestContext& context, std::uint64_t index, std::uint64_t size, bool is_decoded,
                            std::string& text) const;

  const RecordStore& store_;
  const RecordDecoder& decoder_;
  const ChunkInfo info_;
  const std::uint64_t first_ordinal_;
  CancellableMutex& large_;
  std::shared_ptr<const Chunk> chunk_;  // null if unreadable
  std::string failure_;                 // why it is unreadable
  std::optional<std::uint64_t> records_;
  std::uint64_t most_text_ = 0;  // nothing is decoded after so many bytes of text
};

}  // namespace recordfs
