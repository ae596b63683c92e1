#include "core/dataset/record_block.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace recordfs {
namespace {

constexpr std::uint64_t kWhole = 64u << 20;      // payloads up to this size are read at once
constexpr std::uint64_t kBlockBytes = 8u << 20;  // of a larger payload, at least one record
constexpr std::uint64_t kRecordMemory = 2 * sizeof(Bytes);

Code code_of(DamageClass damage_class) {
  switch (damage_class) {
    case DamageClass::kUnfinished: return Code::kUnfinished;
    case DamageClass::kUnsupported: return Code::kUnsupported;
    case DamageClass::kStale: return Code::kStale;
    case DamageClass::kDamage: break;
  }
  return Code::kDamage;
}

// Records that were read one by one, each with an owner.
using Owners = std::vector<std::shared_ptr<const void>>;

}  // namespace

Error error_of(const DamagedRegion& region) {
  return {.code = code_of(region.damage_class), .position = region.begin, .detail = region.reason};
}

StreamProblem problem_of(const DamageRow& row) {
  return {.error = error_of(row.region),
          .end = row.region.end,
          .first_ordinal = row.first_ordinal,
          .records_lost = row.region.records_lost};
}

StreamProblem problem_of(Error error, const IndexedChunk& indexed, std::uint64_t index,
                         std::optional<std::uint64_t> records) {
  const ChunkInfo& chunk = indexed.chunk;
  if (error.position < chunk.begin || error.position >= chunk.end) error.position = chunk.begin;
  const Position end = error.end > error.position && error.end <= chunk.end ? error.end : chunk.end;
  StreamProblem problem{.error = std::move(error), .end = end, .records_lost = records};
  if (records) problem.first_ordinal = indexed.before.records + index + *records;
  return problem;
}

// Makes the blocks of one decoded chunk.
class BlockReader::ChunkBlocks {
 public:
  // `inside`: damage between the records, in order, with the index of the record after it.
  ChunkBlocks(const BlockReader& reader, const IndexedChunk& indexed, std::shared_ptr<const Chunk> chunk,
              std::deque<StreamProblem> inside)
      : context_(reader.cancelled),
        reader_(reader),
        indexed_(indexed),
        begin_(indexed.chunk.begin),
        first_(reader.base + indexed.before.records),
        chunk_(std::move(chunk)),
        inside_(std::move(inside)) {}

  // Reads the whole payload, if that is not too large, so that the records need no owners of their own.
  void read_whole() {
    if (chunk_->payload_size() > kWhole) return;
    if (auto whole = chunk_->read(context_, 0, chunk_->payload_size())) whole_ = std::move(*whole);
  }
  bool is_whole() const { return whole_.has_value(); }

  // Returns a block with records from `index` on, and advances it: all up to `end`, or as many as kBlockBytes permit.
  RecordBlock take(std::uint64_t& index, std::uint64_t end) {
    const std::uint64_t first = index;
    RecordBlock block = begin_block(index);
    Owners owners;
    for (; index < end && (whole_ || block.bytes < kBlockBytes); ++index) {
      take_damage_before(index, block);
      if (const Error* failure = chunk_->layout().failure(index)) {
        // Consecutive records that fail for one reason are one problem. The next block begins after it.
        const std::uint64_t first_failed = index;
        while (index < end && chunk_->layout().failure(index) == failure) ++index;
        add_problem(block, *failure, first_failed, index - first_failed);
        break;
      }
      auto record = read(index);
      if (!record) {
        add_problem(block, record.error(), index++, 1);
        break;
      }
      block.own_records.push_back(record->bytes);
      block.bytes += record->bytes.size() + kRecordMemory;
      if (!whole_) owners.push_back(std::move(record->owner));
    }
    if (!block.own_records.empty()) block.chunks.push_back({begin_, first, block.own_records.size()});
    return finish_block(std::move(block), std::move(owners));
  }

  // Returns a block with the damage that follows the last record.
  RecordBlock take_rest() {
    RecordBlock block = begin_block(0);
    take_damage_before(UINT64_MAX, block);
    return block;
  }

  // Returns a block with the records of a search, and all damage among and after them.
  RecordBlock take(const SearchResult& found, OrdinalInterval which) {
    RecordBlock block = begin_block(which.begin);
    Owners owners;
    auto failure = found.failures.begin();
    const auto take_problems_before = [&](std::uint64_t index) {
      for (; failure != found.failures.end() && failure->index < index; ++failure) {
        take_damage_before(failure->index, block);
        add_problem(block, failure->why, failure->index, 1);
      }
      take_damage_before(index, block);
    };
    for (const FoundRecord& one : found.records) {
      if (one.index < which.begin || one.index >= which.end) continue;
      take_problems_before(one.index);
      auto record = read(one.index);  // a large payload is read again after the search, which can fail
      if (!record) {
        add_problem(block, record.error(), one.index, 1);
        continue;
      }
      block.own_records.push_back(record->bytes);
      block.ordinals.push_back(first_ + one.index);
      add_to_part(block, one.index);
      block.bytes += record->bytes.size() + kRecordMemory;
      if (!whole_) owners.push_back(std::move(record->owner));
    }
    take_problems_before(UINT64_MAX);
    return finish_block(std::move(block), std::move(owners));
  }

 private:
  void take_damage_before(std::uint64_t index, RecordBlock& block) {
    for (; !inside_.empty() && inside_.front().before <= index; inside_.pop_front()) {
      block.problems.push_back(std::move(inside_.front()));
      block.problems.back().before = block.own_records.size();
    }
  }

  void add_problem(RecordBlock& block, const Error& error, std::uint64_t index,
                   std::optional<std::uint64_t> records) const {
    block.problems.push_back(problem_of(error, indexed_, index, records));
    block.problems.back().before = block.own_records.size();
  }

  // Adds the record that was appended last to the parts of the block.
  void add_to_part(RecordBlock& block, std::uint64_t index) const {
    const bool continues = !block.chunks.empty() && block.chunks.back().index + block.chunks.back().records == index;
    if (continues) {
      ++block.chunks.back().records;
    } else {
      block.chunks.push_back({begin_, index, 1});
    }
  }

  RecordBlock begin_block(std::uint64_t index) const {
    RecordBlock block;
    block.shard = reader_.shard;
    block.first_ordinal = first_ + index;
    return block;
  }

  Result<Slice> read(std::uint64_t index) const {
    const Extent extent = chunk_->layout().extent(index);
    if (!whole_) return reader_.part.store.chunks().read(context_, *chunk_, extent.begin, extent.size);
    return Slice{whole_->bytes.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size)),
                 {}};
  }

  RecordBlock finish_block(RecordBlock block, Owners owners) const {
    block.records = block.own_records;
    if (whole_) {
      block.owner = whole_->owner ? whole_->owner : chunk_;
    } else {
      block.owner = std::make_shared<const Owners>(std::move(owners));
    }
    return block;
  }

  const RequestContext context_;
  const BlockReader& reader_;
  const IndexedChunk indexed_;
  const Position begin_;
  const std::uint64_t first_;  // ordinal in the data set
  const std::shared_ptr<const Chunk> chunk_;
  std::deque<StreamProblem> inside_;
  std::optional<Slice> whole_;
};

OrderedResult BlockReader::work_on_step(const RequestContext& context, const ScannedStep& step) const {
  auto damage = std::make_shared<RecordBlock>();  // before the chunk
  damage->shard = shard;
  std::deque<StreamProblem> inside;
  const std::uint64_t first = step.indexed ? step.indexed->before.records : UINT64_MAX;
  for (const DamageRow& row : step.damage) {
    if (row.region.damage_class == DamageClass::kStale) continue;
    if (row.first_ordinal <= first) {
      damage->problems.push_back(problem_of(row));
    } else {
      inside.push_back(problem_of(row));
      inside.back().before = static_cast<std::size_t>(row.first_ordinal - first);
    }
  }
  const auto take_damage = [this, damage] { return hand_over(std::move(*damage)); };
  if (!step.indexed) return take_damage;
  const IndexedChunk& indexed = *step.indexed;
  const auto chunk = holds_nothing(indexed.chunk)
                         ? Result<std::shared_ptr<const Chunk>>(nullptr)
                         : part.store.chunks().decode_ahead(context, indexed.chunk, fields.get());
  if (!chunk || *chunk == nullptr) {
    for (StreamProblem& problem : inside) {
      damage->problems.push_back(std::move(problem));
      damage->problems.back().before = 0;
    }
    if (!chunk) damage->problems.push_back(problem_of(chunk.error(), indexed, 0, indexed.chunk.records));
    return take_damage;
  }
  const OrdinalInterval which = part.within(indexed);
  // cppcheck-suppress returnDanglingLifetime
  auto blocks = std::make_shared<ChunkBlocks>(*this, indexed, *chunk, std::move(inside));
  blocks->read_whole();
  std::shared_ptr<RecordBlock> ahead;
  std::uint64_t index = which.begin;
  if (search) {
    Search wanted = *search;
    wanted.indices = which;
    const auto found = search_chunk(RequestContext(cancelled), part.store, indexed.chunk, **chunk, wanted);
    ahead = std::make_shared<RecordBlock>(blocks->take(found, which));
    index = which.end;
  } else if (blocks->is_whole()) {
    ahead = std::make_shared<RecordBlock>(blocks->take(index, which.end));
  }
  return [this, take_damage, blocks, ahead, index, end = which.end]() mutable {
    if (!take_damage() || (ahead && !hand_over(std::move(*ahead)))) return false;
    while (index < end) {
      if (!hand_over(blocks->take(index, end))) return false;
    }
    return hand_over(blocks->take_rest());
  };
}

OrderedResult BlockReader::work_on_batch(const std::shared_ptr<const ScannedBatch>& batch) const {
  std::vector<FoundRecord> found;
  if (search) found = search_batch(batch->content, *search);
  return [this, batch, found = std::move(found)] { return hand_over(block_of(batch, found)); };
}

RecordBlock BlockReader::block_of(const std::shared_ptr<const ScannedBatch>& batch,
                                  const std::vector<FoundRecord>& found) const {
  const RecordBatch& content = batch->content;
  const OrdinalInterval which = part.within(*batch);
  RecordBlock block;
  block.shard = shard;
  block.first_ordinal = base + batch->before.records + which.begin;
  block.owner = batch;
  block.bytes = content.window.bytes.size();
  for (const Buffer& buffer : content.buffers) block.bytes += buffer.size();
  if (search) {
    for (const FoundRecord& one : found) {
      if (one.index < which.begin || one.index >= which.end) continue;
      block.own_records.push_back(content.records[static_cast<std::size_t>(one.index)]);
      block.ordinals.push_back(base + batch->before.records + one.index);
    }
    block.records = block.own_records;
    return block;
  }
  std::uint64_t first = 0;  // of the chunk, in the batch
  for (const BatchChunk& chunk : content.chunks) {
    const std::uint64_t begin = std::clamp(which.begin, first, first + chunk.records);
    const std::uint64_t end = std::clamp(which.end, begin, first + chunk.records);
    if (begin < end) block.chunks.push_back({chunk.begin, begin - first, end - begin});
    first += chunk.records;
  }
  block.records =
      std::span(content.records)
          .subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin));
  return block;
}

bool BlockReader::hand_over(RecordBlock block) const {
  if (part.split) {
    for (StreamProblem& problem : block.problems) problem.first_ordinal.reset();
  }
  return take(std::move(block));
}

Result<std::uint64_t> BlockReader::read(unsigned threads, std::uint64_t memory) const {
  ProcessBatch on_batch;
  // Batches have no chunks, which decoded records need.
  if (!search || (!search->texts_of && !search->selects)) {
    on_batch = [this](const std::shared_ptr<const ScannedBatch>& batch) { return work_on_batch(batch); };
  }
  ASSIGN_OR_RETURN(const auto end, read_part(
                                       part, {.threads = threads, .memory = memory, .cancelled = &cancelled},
                                       [this](const RequestContext& context, const ScannedStep& step) {
                                         return work_on_step(context, step);
                                       },
                                       on_batch));
  return end.records;
}

}  // namespace recordfs
