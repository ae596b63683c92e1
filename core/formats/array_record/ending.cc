#include "core/formats/array_record/ending.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/counted.h"
#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/formats/array_record/messages.h"
#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::array_record {
namespace {

using riegeli::kBlockSize;

// The used bytes of the postscript's block: two headers and three copies of a message of at most 21 bytes.
constexpr std::uint64_t kPostscriptBytes = 256;
// The largest chunk to examine as a possible footer if no postscript names it.
constexpr std::uint64_t kMostTried = 16 << 20;
// The largest records of a footer: the head with its options, and each entry.
constexpr std::uint64_t kLargestHead = 1024;
constexpr std::uint64_t kLargestEntry = std::uint64_t{3} * (1 + 10);
// The most chunk headers to read in the block where a file was cut off: more than fit.
constexpr int kMostSteps = 2048;
// The most blocks without a chunk to skip at the end of a file.
constexpr int kMostBlocks = 16;

// Returns the chunk that begins at `at` and ends at or before `end`, or nullopt.
Result<std::optional<ChunkInfo>> chunk_at(const RequestContext& context, const Container& riegeli, Position at,
                                          Position end) {
  ASSIGN_OR_RETURN(const auto step, riegeli.scan(context, {at, 0}));
  if (!step.chunk || step.chunk->begin != at || step.chunk->end > end) return std::optional<ChunkInfo>{};
  return step.chunk;
}

Result<Bytes> record_of(const RequestContext& context, const Chunk& chunk, std::uint64_t index, Slice& held) {
  if (const Error* failure = chunk.layout().failure(index)) return *failure;
  const Extent extent = chunk.layout().extent(index);
  ASSIGN_OR_RETURN(auto slice, chunk.read(context, extent.begin, extent.size));
  held = std::move(slice);
  return held.bytes;
}

Error wrong_footer(Position at, std::string why) { return {Code::kDamage, at, std::move(why)}; }

// Reads the footer into `ending`; with kPresence nothing after its head. Fails also with damage in the footer.
Result<void> read_footer(const RequestContext& context, const Container& riegeli, const ChunkInfo& info,
                         EndingDetail detail, Ending& ending) {
  ASSIGN_OR_RETURN(const auto chunk, riegeli.decode(context, info));
  const std::uint64_t records = chunk->layout().records();
  Slice held;
  if (records == 0) return wrong_footer(info.begin, "the footer is empty");
  ASSIGN_OR_RETURN(const auto first, record_of(context, *chunk, 0, held));
  const auto head = parse_head(first);
  if (!head) return Error{Code::kNotFound, info.begin, "the chunk is not a footer"};
  if (head->version != kVersion) {
    return Error{Code::kUnsupported, info.begin, fmt::format("unknown footer version {}", head->version)};
  }
  if (head->chunks != records - 1) {
    return wrong_footer(info.begin,
                        fmt::format("the footer counts {} and lists {}", counted(head->chunks, "chunk"), records - 1));
  }
  ending.head = *head;
  if (detail == EndingDetail::kPresence) return {};
  std::vector<IndexEntry> index;
  context.announce(records * sizeof(IndexEntry));
  index.reserve(static_cast<std::size_t>(records - 1));
  ASSIGN_OR_RETURN(const auto all, chunk->read(context, 0, chunk->payload_size()));
  for (std::uint64_t i = 1; i < records; ++i) {
    if (const Error* failure = chunk->layout().failure(i)) return *failure;
    const Extent extent = chunk->layout().extent(i);
    const auto entry =
        parse_entry(all.bytes.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size)));
    const Position least = index.empty() ? 1 : index.back().begin + 1;
    if (!entry || entry->begin < least || entry->begin >= info.begin) {
      return wrong_footer(info.begin, fmt::format("entry {} of the footer does not refer to a chunk before it", i - 1));
    }
    index.push_back(*entry);
  }
  ending.index = std::move(index);
  return {};
}

// Returns whether the footer of a file that ends at `end` may have the size of this chunk.
bool has_size_of_footer(const ChunkInfo& chunk, Position end) {
  const std::uint64_t records = chunk.records.value_or(0);
  if (chunk.begin == 0 || chunk.end > end || records == 0) return false;
  return chunk.decoded_size.value_or(UINT64_MAX) / records <= kLargestHead + kLargestEntry;
}

// Returns the ending with the footer at `footer`, as named by a postscript. Returns nullopt for a valid chunk that is
// not a footer. An unreadable chunk counts as a footer, and so does a large one of a footer's size, whatever it
// contains: then its presence is known without decoding it.
Result<std::optional<Ending>> ending_at(const RequestContext& context, const Source& source, const Container& riegeli,
                                        Position footer, Position postscript, EndingDetail detail) {
  constexpr std::uint64_t kMostOfFooter = 1u << 20;
  fetch(context, source, footer, std::min(postscript, footer + kMostOfFooter));
  Ending ending{
      .footer = footer, .postscript = postscript, .has_postscript = true, .head = {}, .index = {}, .flaw = {}};
  ASSIGN_OR_RETURN(const auto chunk, chunk_at(context, riegeli, footer, postscript));
  if (!chunk) {
    ending.flaw = wrong_footer(footer, "no valid chunk where the footer should be");
    return std::optional<Ending>(std::move(ending));
  }
  const bool is_large = chunk->stored_size > kBlockSize && has_size_of_footer(*chunk, postscript);
  if (is_large && detail == EndingDetail::kPresence) return std::optional<Ending>(std::move(ending));
  auto read = read_footer(context, riegeli, *chunk, detail, ending);
  if (!read && read.error().code == Code::kNotFound) {
    if (!is_large) return std::optional<Ending>{};
    read = wrong_footer(footer, read.error().detail);
  }
  if (!read) {
    if (!is_permanent(read.error().code)) return std::move(read).error();
    ending.head = {};
    ending.flaw = std::move(read).error();
  }
  return std::optional<Ending>(std::move(ending));
}

// Returns the ending that the postscript copies at the start of a block name.
Result<std::optional<Ending>> by_postscript_at(const RequestContext& context, const Source& source,
                                               const Container& riegeli, Position postscript, EndingDetail detail) {
  std::array<std::byte, kPostscriptBytes> bytes{};
  ASSIGN_OR_RETURN(const auto got, source.read_at(context, postscript, bytes));
  std::optional<Ending> best;
  for (const Position footer : footers_named_in(Bytes(bytes).first(got))) {
    if (footer >= postscript) continue;
    ASSIGN_OR_RETURN(auto ending, ending_at(context, source, riegeli, footer, postscript, detail));
    if (ending && (!best || !ending->flaw)) best = std::move(*ending);
    if (best && !best->flaw) break;
  }
  return best;
}

// Returns whether at least one of the last chunks in the footer is where the footer states. One of them may be damaged,
// but not all.
Result<bool> fits_chunks(const RequestContext& context, const Container& riegeli, const Ending& ending) {
  constexpr std::size_t kTried = 4;
  const auto& index = ending.index;
  if (index.empty()) return true;
  for (std::size_t i = 0; i < std::min(kTried, index.size()); ++i) {
    const IndexEntry& entry = index[index.size() - 1 - i];
    ASSIGN_OR_RETURN(const auto chunk, chunk_at(context, riegeli, entry.begin, ending.footer));
    if (chunk && chunk->records == entry.records) return true;
  }
  return false;
}

// Discards the index if its positions are wrong, because bytes were deleted or inserted.
Result<void> forget_index_that_does_not_fit(const RequestContext& context, const Container& riegeli, Ending& ending) {
  if (ending.flaw) return {};
  ASSIGN_OR_RETURN(const auto fits, fits_chunks(context, riegeli, ending));
  if (fits) return {};
  ending.flaw = wrong_footer(ending.footer, "the footer's chunks are not where it says");
  ending.head = {};
  ending.index.clear();
  return {};
}

// Finds a postscript in the last block of a file without its beginning, or of a file appended to another one. The
// footer is not where the postscript states. The scan recognizes it by its content.
Result<std::optional<Ending>> by_shifted_postscript(const RequestContext& context, const Source& source) {
  if (source.size() <= kBlockSize) return std::optional<Ending>{};
  const Position postscript = source.size() - kBlockSize;
  std::array<std::byte, kPostscriptBytes> bytes{};
  ASSIGN_OR_RETURN(const auto got, source.read_at(context, postscript, bytes));
  const Bytes seen = Bytes(bytes).first(got);
  if (!riegeli::parse_block_header(seen.first(riegeli::kBlockHeaderSize)) || footers_named_in(seen).empty()) {
    return std::optional<Ending>{};
  }
  Ending ending{
      .footer = source.size(), .postscript = postscript, .has_postscript = true, .head = {}, .index = {}, .flaw = {}};
  ending.flaw = wrong_footer(postscript, "the footer is not where the postscript says");
  return std::optional<Ending>(std::move(ending));
}

// Finds a postscript in the last block, or in the previous one if other bytes follow the file.
Result<std::optional<Ending>> by_postscript(const RequestContext& context, const Source& source,
                                            const Container& riegeli, EndingDetail detail) {
  std::optional<Ending> none;
  if (source.size() <= kBlockSize) return none;
  const Position last = (source.size() - 1) / kBlockSize * kBlockSize;
  auto ending = by_postscript_at(context, source, riegeli, last, detail);
  if (!ending || *ending || last == kBlockSize) return ending;
  return by_postscript_at(context, source, riegeli, last - kBlockSize, detail);
}

// Returns the last chunk of records that begins after the chunk that covers `start`.
Result<std::optional<ChunkInfo>> walk_to_last(const RequestContext& context, const Container& riegeli, Position start,
                                              Position end) {
  auto last = riegeli.locate(context, start);
  if (!last) return last;
  std::optional<ChunkKey> key = ChunkKey{*last ? (*last)->end : start, 0};
  for (int i = 0; i < kMostSteps && key && key->position < end; ++i) {
    ASSIGN_OR_RETURN(const auto step, riegeli.scan(context, *key));
    const bool is_one = step.chunk && step.chunk->end <= end && step.chunk->records.value_or(0) > 0;
    if (is_one) last = step.chunk;
    key = step.next;
  }
  return last;
}

// Returns the last chunk of records before `end`, skipping padding. If the file ends inside a chunk, searches the block
// of its end and the blocks before it.
Result<std::optional<ChunkInfo>> last_chunk(const RequestContext& context, const Container& riegeli, Position end) {
  for (int i = 0; i < kMostBlocks && end > 0; ++i) {
    ASSIGN_OR_RETURN(auto last, riegeli.locate(context, end - 1));
    if (last) {
      if (last->records.value_or(0) > 0 || last->begin == 0) return last;
      return riegeli.locate(context, last->begin - 1);
    }
    const Position block = (end - 1) / kBlockSize * kBlockSize;
    auto found = walk_to_last(context, riegeli, block, end);
    if (!found || *found) return found;
    end = block;
  }
  return std::optional<ChunkInfo>{};
}

bool may_be_footer(const ChunkInfo& chunk, Position end) {
  const std::uint64_t most = kLargestHead + kLargestEntry * chunk.records.value_or(0);
  return has_size_of_footer(chunk, end) && chunk.stored_size <= kMostTried &&
         *chunk.decoded_size <= std::min(kMostTried, most);
}

// Finds the footer of a file whose postscript is lost or cut off: the last chunk of records, recognized by its content.
Result<std::optional<Ending>> by_footer(const RequestContext& context, const Container& riegeli, Position end) {
  if (end == 0) return std::optional<Ending>{};
  ASSIGN_OR_RETURN(const auto chunk, last_chunk(context, riegeli, end));
  if (!chunk || !may_be_footer(*chunk, end)) return std::optional<Ending>{};
  Ending ending;
  ending.footer = chunk->begin;
  ending.postscript = std::min(end, riegeli::block_at_or_after(chunk->end));
  auto read = read_footer(context, riegeli, *chunk, EndingDetail::kIndex, ending);
  if (read) return std::optional<Ending>(std::move(ending));
  const Code code = read.error().code;
  if (code != Code::kNotFound && !is_permanent(code)) return std::move(read).error();
  return std::optional<Ending>{};
}

Result<std::optional<Ending>> find_fitting_ending(const RequestContext& context, const Source& source,
                                                  const Container& riegeli, EndingDetail detail) {
  auto ending = by_postscript(context, source, riegeli, detail);
  if (!ending) return ending;
  if (*ending && !(*ending)->flaw) return ending;
  if (*ending) {
    // The footer is not readable at the named position, but may be elsewhere.
    auto found = by_footer(context, riegeli, (*ending)->postscript);
    if (!found) return found;
    if (*found) (*found)->has_postscript = true;
    return *found ? std::move(found) : std::move(ending);
  }
  ending = by_shifted_postscript(context, source);
  if (!ending || *ending) return ending;
  ASSIGN_OR_RETURN(const auto is_riegeli, riegeli::kFormat.probe(context, source, {}, ProbeDepth::kHead));
  if (is_riegeli == 0) return ending;
  ending = by_footer(context, riegeli, source.size());
  const bool may_have_block = source.size() % kBlockSize == 0 && source.size() > kBlockSize;
  if (!ending || *ending || !may_have_block) return ending;
  return by_footer(context, riegeli, source.size() - kBlockSize);  // before a broken postscript
}

Limits not_below_defaults(Limits limits) {
  const Limits defaults;
  limits.stored_chunk = std::max(limits.stored_chunk, defaults.stored_chunk);
  limits.decoded_chunk = std::max(limits.decoded_chunk, defaults.decoded_chunk);
  limits.records_per_chunk = std::max(limits.records_per_chunk, defaults.records_per_chunk);
  limits.scan_bytes = defaults.scan_bytes;
  return limits;
}

}  // namespace

Result<std::optional<Ending>> find_ending(const RequestContext& context, const Source& source, const Limits& limits,
                                          EndingDetail detail) {
  std::optional<ReadWindow> window;  // for a footer of many blocks
  if (detail == EndingDetail::kIndex) window.emplace(context, source);
  const RequestContext windowed = window ? context.with(*window) : context;
  // Does not own the source: the container is destroyed before the source.
  const std::shared_ptr<const Source> borrowed(std::shared_ptr<const Source>(), &source);
  auto riegeli = riegeli::open(windowed, borrowed, not_below_defaults(limits));
  if (!riegeli) return std::move(riegeli).error();
  auto ending = find_fitting_ending(windowed, source, **riegeli, detail);
  if (!ending || !*ending) return ending;
  TRY(forget_index_that_does_not_fit(windowed, **riegeli, **ending));
  return ending;
}

void fetch(const RequestContext& context, const Source& source, Position begin, Position end) {
  if (source.filesystem() != 0) static_cast<void>(read_up_to(context, source, begin, end - begin).has_value());
}

Result<EndingPart> part_of_ending(const RequestContext& context, const Source& source, const Container& riegeli,
                                  const ChunkInfo& chunk) {
  constexpr std::uint64_t kCopies = 3;
  if (chunk.records == kCopies && chunk.stored_size <= kPostscriptBytes / 2) {
    std::array<std::byte, kPostscriptBytes> bytes{};
    ASSIGN_OR_RETURN(const auto got, source.read_at(context, chunk.begin, bytes));
    if (!footers_named_in(Bytes(bytes).first(got)).empty()) return EndingPart::kPostscript;
  }
  if (!may_be_footer(chunk, source.size())) return EndingPart::kNone;
  auto decoded = riegeli.decode(context, chunk);
  if (!decoded) {
    return is_permanent(decoded.error().code) ? Result<EndingPart>(EndingPart::kNone) : std::move(decoded).error();
  }
  Slice held;
  for (std::uint64_t i = 0; i < *chunk.records; ++i) {
    auto record = record_of(context, **decoded, i, held);
    if (!record && !is_permanent(record.error().code)) return std::move(record).error();
    if (!record) return EndingPart::kNone;
    const auto head = i == 0 ? parse_head(*record) : std::nullopt;
    const bool is_right = i == 0 ? head && head->chunks == *chunk.records - 1 : parse_entry(*record).has_value();
    if (!is_right) return EndingPart::kNone;
  }
  return EndingPart::kFooter;
}

}  // namespace recordfs::array_record
