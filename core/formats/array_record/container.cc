#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/array_record/ending.h"
#include "core/formats/array_record/format.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/framing.h"
#include "core/formats/riegeli/wire.h"
#include "core/formats/tensorflow_example.h"

namespace recordfs::array_record {
namespace {

// Of chunks that are not shown as Riegeli's. No number is one of riegeli::ChunkType.
enum class Kind : std::uint8_t { kFooter = 1, kPostscript, kLost };

bool is_lost(const ChunkInfo& chunk) { return chunk.kind.as<Kind>() == Kind::kLost; }
bool is_ending(const ChunkInfo& chunk) {
  return chunk.kind.as<Kind>() == Kind::kFooter || chunk.kind.as<Kind>() == Kind::kPostscript;
}

Error why_lost(const ChunkInfo& chunk) {
  return {Code::kDamage, chunk.begin, "the footer lists a chunk here, but no valid chunk was found"};
}

std::optional<ChunkKey> key_at(Position at, std::uint64_t size) {
  return at < size ? std::optional<ChunkKey>({at, 0}) : std::nullopt;
}

// The ordinals of the records in the chunks of a footer.
class Ordinals {
 public:
  // Counts nothing if a scan might count other records than the footer does: if it would not keep the place of a chunk
  // that is lost, or if the entries do not add up to the footer's sum, or if chunks might precede the first one. A scan
  // of a small file costs little, and also finds chunks that the footer lacks.
  Ordinals(const Ending& ending, std::uint64_t size, const Limits& limits) : index_(ending.index) {
    constexpr Position kFirst = riegeli::kBlockHeaderSize + riegeli::kChunkHeaderSize;  // after the file's signature
    if (size <= kSmallFile || ending.flaw || index_.empty() || index_.front().begin != kFirst) return;
    std::vector<std::uint64_t> sums;
    sums.reserve(index_.size() / kStride + 1);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < index_.size(); ++i) {
      const Position end = i + 1 < index_.size() ? index_[i + 1].begin : ending.footer;
      const std::uint64_t records = index_[i].records;
      if (!is_kept_if_lost(records, end - index_[i].begin, limits)) return;
      if (i % kStride == 0) sums.push_back(sum);
      sum += records;
    }
    if (sum != ending.head.records) return;
    records_ = sum;
    sums_ = std::move(sums);
  }

  // Returns whether a chunk of so many records and bytes keeps the ordinals of its records if it cannot be read.
  static bool is_kept_if_lost(std::uint64_t records, std::uint64_t bytes, const Limits& limits) {
    return records > 0 && records <= limits.records_per_chunk && records <= bytes;
  }

  struct Place {
    const IndexEntry* entry;
    std::uint64_t first_ordinal;
  };
  // Returns the chunk with a record; nullopt if the footer does not tell.
  std::optional<Place> find(std::uint64_t ordinal) const {
    if (ordinal >= records_) return std::nullopt;
    const auto after = std::ranges::upper_bound(sums_, ordinal);
    const auto group = static_cast<std::size_t>(after - sums_.begin() - 1);
    Place place{&index_[group * kStride], sums_[group]};
    while (ordinal - place.first_ordinal >= place.entry->records) place.first_ordinal += place.entry++->records;
    return place;
  }

 private:
  static constexpr std::uint64_t kSmallFile = 1u << 20;
  static constexpr std::size_t kStride = 64;  // entries for each sum

  const std::vector<IndexEntry>& index_;
  std::vector<std::uint64_t> sums_;  // of the records before every kStride-th entry
  std::uint64_t records_ = 0;
};

constexpr int kBid = kBeyondDoubt + 64;  // bits of evidence: the magic, or the hash of a self-describing footer

Result<int> probe(const RequestContext& context, const Source& source, std::string_view, ProbeDepth) {
  ASSIGN_OR_RETURN(const auto ending, find_ending(context, source, Limits{}, EndingDetail::kPresence));
  return ending ? kBid : 0;
}

// Reads chunks that are where the footer says, each directly followed by the next one.
class ListedBulkReader final : public BulkReader {
 public:
  // All must outlive this.
  ListedBulkReader(const BulkReader& riegeli, const Ending& ending) : riegeli_(riegeli), ending_(ending) {}

  ChunkRun plan(ChunkKey at, Bytes window) const override { return riegeli_.plan(at, before_footer(at, window)); }
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override {
    return if_listed(riegeli_.read(context, planned, std::move(window)));
  }
  RecordBatch read_at(const RequestContext& context, ChunkKey at, Slice window) const override {
    window.bytes = before_footer(at, window.bytes);
    return if_listed(riegeli_.read_at(context, at, std::move(window)));
  }

 private:
  Bytes before_footer(ChunkKey at, Bytes window) const {
    const Position end = std::max(ending_.footer, at.position);
    return window.first(static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), end - at.position)));
  }

  // A batch with another chunk than the footer lists is dropped as a whole.
  RecordBatch if_listed(RecordBatch batch) const {
    const ChunkKey from = batch.run.from;
    auto listed = std::ranges::lower_bound(ending_.index, from.position, {}, &IndexEntry::begin);
    for (const BatchChunk& chunk : batch.chunks) {
      const bool is_listed = listed != ending_.index.end() && listed->begin == chunk.begin;
      const Position end = is_listed && ++listed != ending_.index.end() ? listed->begin : ending_.footer;
      if (!is_listed || chunk.end != end) return {.run = {.from = from, .next = from}};
    }
    return batch;
  }

  const BulkReader& riegeli_;
  const Ending& ending_;
};

// The Container of an open ArrayRecord file: the chunks and records of a Riegeli file, without the records of the
// footer and the postscript.
class ArrayRecordContainer final : public ForwardingContainer {
 public:
  // REQUIRES: `riegeli` reads the same source.
  ArrayRecordContainer(std::unique_ptr<Container> riegeli, std::shared_ptr<const Source> source, const Limits& limits,
                       Ending ending)
      : ForwardingContainer(std::move(riegeli)),
        source_(std::move(source)),
        size_(source_->size()),
        limits_(limits),
        ending_(std::move(ending)),
        ordinals_(ending_, size_, limits_),
        bulk_(*below().bulk(), ending_),
        traits_(below().traits()),
        schema_{.value = [this](Bytes record,
                                ValueForm form) { return tensorflow::value_of_example(record, limits_, form); },
                .type = tensorflow::type_of_example,
                .parts = RecordSchema::Parts::kRequired,
                .largest_record_with_parts = limits.stored_chunk} {
    traits_.format = kFormat.name;
    traits_.grows_by_appending = false;  // only the end of the file tells which chunks hold no records
    add_facts();
  }

  const ContainerTraits& traits() const override { return traits_; }
  const BulkReader* bulk() const override { return ending_.flaw ? nullptr : &bulk_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (at.position >= size_) return Step{};
    if (ending_.flaw) return scan_without_index(context, at);
    return scan_section(context, at, section_at(at.position));
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    if (at >= size_) return std::optional<ChunkInfo>{};
    if (ending_.flaw) {
      auto found = below().locate(context, at);
      ASSIGN_OR_RETURN(const auto part, (found && *found ? part_shown(context, **found) : EndingPart::kNone));
      if (part != EndingPart::kNone) show_as_ending(**found, part);
      return found;
    }
    const Section section = section_at(at);
    std::optional<ChunkKey> key = ChunkKey{section.begin, 0};
    while (key && key->position <= at && !riegeli::Framing::has_searched_long(*key)) {
      ASSIGN_OR_RETURN(const auto step, scan_section(context, *key, section));
      if (step.chunk && step.chunk->end > at) return step.chunk;
      key = step.next;
    }
    return std::optional<ChunkInfo>{};
  }

  // The chunk must be all that the footer says of it. Otherwise a scan has to find out what the file has there.
  Result<std::optional<LocatedRecord>> locate_record(const RequestContext& context,
                                                     std::uint64_t ordinal) const override {
    const auto place = ordinals_.find(ordinal);
    if (!place) return std::optional<LocatedRecord>{};
    const Section section = section_at(place->entry->begin);
    constexpr std::uint64_t kMostAtOnce = 8u << 20;
    if (section.end - section.begin <= kMostAtOnce) fetch(context, *source_, section.begin, section.end);
    ASSIGN_OR_RETURN(const auto step, scan_section(context, {section.begin, 0}, section));
    // Only padding may follow the last chunk; other chunks may follow others.
    const bool is_last = section.end == ending_.footer;
    const bool is_as_listed = step.chunk && step.damage.empty() && (is_last || step.chunk->end == section.end) &&
                              !is_lost(*step.chunk) && !is_ending(*step.chunk) && step.chunk->begin == section.begin &&
                              step.chunk->records == section.records;
    if (!is_as_listed) return std::optional<LocatedRecord>{};
    return std::optional(LocatedRecord{*step.chunk, place->first_ordinal});
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(chunk);
    return is_ending(chunk) ? Layout() : below().layout(context, chunk);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(chunk);
    ASSIGN_OR_RETURN(const auto inner, in_riegeli(context, chunk));
    return below().verify(context, inner);
  }

  // Returns the messages of the footer and the postscript as data without records.
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(chunk);
    if (!is_ending(chunk)) return below().decode(context, chunk);
    ASSIGN_OR_RETURN(const auto inner, in_riegeli(context, chunk));
    ASSIGN_OR_RETURN(const auto decoded, below().decode(context, inner));
    ASSIGN_OR_RETURN(const auto content, decoded->read(context, 0, decoded->payload_size()));
    ASSIGN_OR_RETURN(auto copy, Buffer::copy_of(context, content.bytes));
    return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(copy), Layout()));
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(chunk);
    return is_ending(chunk) ? std::shared_ptr<const Chunk>{} : below().open_in_place(context, chunk);
  }

  const RecordSchema& schema() const override { return schema_; }

 private:
  // An interval of the file: one chunk of interest, followed by padding.
  struct Section {
    enum class Kind : std::uint8_t { kHead, kRecords, kFooter, kPostscript };
    Kind kind = Kind::kHead;
    Position begin = 0;
    Position end = 0;
    std::uint64_t records = 0;  // as stated by the footer
  };

  Section section_at(Position at) const {
    if (at >= ending_.postscript) return {Section::Kind::kPostscript, ending_.postscript, size_, 0};
    if (at >= ending_.footer) return {Section::Kind::kFooter, ending_.footer, ending_.postscript, 0};
    const auto after = std::ranges::upper_bound(ending_.index, at, {}, &IndexEntry::begin);
    const Position end = after == ending_.index.end() ? ending_.footer : after->begin;
    if (after == ending_.index.begin()) return {Section::Kind::kHead, 0, end, 0};
    return {Section::Kind::kRecords, (after - 1)->begin, end, (after - 1)->records};
  }

  void add_facts() {
    std::vector<Fact> facts;
    if (ending_.flaw) {
      facts.push_back({"damage", to_string(*ending_.flaw)});
    } else {
      facts.push_back({"version", std::to_string(ending_.head.version)});
      facts.push_back({"num_chunks", ending_.head.chunks});
      facts.push_back({"num_records", ending_.head.records});
      if (!ending_.head.writer_options.empty()) facts.push_back({"writer_options", ending_.head.writer_options});
    }
    traits_.facts.insert(traits_.facts.begin(), facts.begin(), facts.end());
  }

  Result<Step> scan_section(const RequestContext& context, ChunkKey key, const Section& section) const {
    const Position at = key.position;
    ASSIGN_OR_RETURN(auto step, below().scan(context, key));
    using riegeli::Framing;
    if (step.next && Framing::is_searching(*step.next) && Framing::searched(*step.next) < section.end) return step;
    const bool is_there = step.chunk && step.chunk->begin == at && step.chunk->end <= section.end;
    const bool begins = at == section.begin && section.kind != Section::Kind::kHead;
    // Chunks elsewhere in the section are read by the next step.
    if (!step.chunk && step.next && step.next->position > at && step.next->position < section.end) return step;
    if (!is_there) {
      return lost(key, section,
                  begins ? "the footer lists a chunk here, but no valid chunk was found" : "no valid chunk", step);
    }
    ChunkInfo& chunk = *step.chunk;
    ASSIGN_OR_RETURN(const auto part, begins || chunk.records == 0 ? EndingPart::kNone
                                                                   : part_of_ending(context, *source_, below(), chunk));
    if (part != EndingPart::kNone) {
      show_as_ending(chunk, part);
    } else if (!begins && chunk.records.value_or(0) > 0 && step.damage.empty()) {
      step.damage.push_back(damaged_region(chunk.begin, chunk.end, "chunk not listed in the footer"));
      step.damage.back().records_lost = 0;
    }
    if (begins && section.kind != Section::Kind::kRecords) {
      show_as_ending(chunk, section.kind == Section::Kind::kFooter ? EndingPart::kFooter : EndingPart::kPostscript);
    }
    if (chunk.end == section.end || !step.next) step.next = key_at(chunk.end, size_);
    if (!step.next && !ending_.has_postscript) {
      // The missing bytes have no position, so the region is the last byte of the file.
      step.damage.push_back(damaged_region(size_ - 1, size_, "the file ends without a postscript"));
      step.damage.back().damage_class = DamageClass::kUnfinished;
      step.damage.back().records_lost = 0;
    }
    return step;
  }

  // Scans without a usable footer: finds chunks as in any Riegeli file, and reports damage at the footer.
  Result<Step> scan_without_index(const RequestContext& context, ChunkKey at) const {
    auto step = below().scan(context, at);
    if (!step || !step->chunk) return step;
    ChunkInfo& chunk = *step->chunk;
    ASSIGN_OR_RETURN(const auto part, part_shown(context, chunk));
    if (part == EndingPart::kNone) return step;
    show_as_ending(chunk, part);
    if (part == EndingPart::kFooter && step->damage.empty()) {
      step->damage.push_back(damaged_region(chunk.begin, chunk.end, to_string(*ending_.flaw)));
      step->damage.back().records_lost = 0;
    }
    return step;
  }

  // Returns the step for the unreadable rest of a section. Its records, if any, keep their ordinals.
  Step lost(ChunkKey key, const Section& section, std::string_view reason, const Step& found) const {
    const Position at = key.position;
    Step step;
    step.damage.push_back(damaged_region(at, section.end, reason));
    if (!found.damage.empty()) step.damage[0].damage_class = found.damage[0].damage_class;
    step.next = key_at(section.end, size_);
    if (section.kind == Section::Kind::kPostscript || section.kind == Section::Kind::kFooter) {
      step.damage[0].records_lost = 0;
      return step;
    }
    if (section.kind != Section::Kind::kRecords || at != section.begin) return step;
    if (!Ordinals::is_kept_if_lost(section.records, section.end - at, limits_)) return step;
    step.damage[0].records_lost = section.records;
    ChunkInfo chunk;
    chunk.key = key;
    chunk.begin = at;
    chunk.end = section.end;
    chunk.kind = {Kind::kLost, "lost"};
    chunk.codec = "-";
    chunk.records = section.records;
    step.chunk = chunk;
    return step;
  }

  static void show_as_ending(ChunkInfo& chunk, EndingPart part) {
    chunk.kind =
        part == EndingPart::kFooter ? ChunkKind(Kind::kFooter, "footer") : ChunkKind(Kind::kPostscript, "postscript");
    chunk.decoded_beside = chunk.decoded_size.value_or(0);
    chunk.records = chunk.decoded_size = 0;
  }

  Result<EndingPart> part_shown(const RequestContext& context, const ChunkInfo& chunk) const {
    if (chunk.begin == ending_.footer) return EndingPart::kFooter;
    if (chunk.begin == ending_.postscript) return EndingPart::kPostscript;
    return part_of_ending(context, *source_, below(), chunk);
  }

  Result<ChunkInfo> in_riegeli(const RequestContext& context, const ChunkInfo& chunk) const {
    if (!is_ending(chunk)) return chunk;
    ASSIGN_OR_RETURN(const auto step, below().scan(context, chunk.key));
    if (step.chunk && step.chunk->begin == chunk.begin) return *step.chunk;
    return Error{Code::kChanged, chunk.begin, "the chunk is no longer there"};
  }

  const std::shared_ptr<const Source> source_;
  const std::uint64_t size_;
  const Limits limits_;
  const Ending ending_;
  const Ordinals ordinals_;
  const ListedBulkReader bulk_;
  ContainerTraits traits_;
  const RecordSchema schema_;
};

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  ASSIGN_OR_RETURN(auto ending, find_ending(context, *source, limits, EndingDetail::kIndex));
  if (!ending)
    return Error{Code::kNoContainer, 0, "neither the postscript nor the footer of an ArrayRecord file was found"};
  auto riegeli = riegeli::open(context, source, limits);
  if (!riegeli) return riegeli;
  return std::unique_ptr<Container>(
      std::make_unique<ArrayRecordContainer>(std::move(*riegeli), std::move(source), limits, std::move(*ending)));
}

}  // namespace

const Format kFormat = {.name = "array-record",
                        .probe = probe,
                        .open = open,
                        .built_on = "riegeli",
                        .suffixes = ".array_record .arrayrecord",
                        .opens_from_end = true};

}  // namespace recordfs::array_record
