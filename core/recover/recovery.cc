#include "core/recover/recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/formats/registry.h"
#include "core/hash/xxhash.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kHashedPiece = 4u << 20;  // bytes

// A hash of records in their order.
class RecordDigest {
 public:
  void add(const std::vector<std::uint64_t>& hashes) {
    hasher_.append(std::as_bytes(std::span(hashes)));
    records_ += hashes.size();
  }
  std::uint64_t value() const { return hasher_.value(); }
  std::uint64_t records() const { return records_; }

 private:
  XxHasher hasher_{XxHashKind::k3};
  std::uint64_t records_ = 0;
};

// Returns the hash of a record. Fails like Chunk::read().
Result<std::uint64_t> hash_of(const RequestContext& context, const Chunk& chunk, Extent extent) {
  if (extent.size <= kHashedPiece) {
    ASSIGN_OR_RETURN(const auto record, chunk.read(context, extent.begin, extent.size));
    return xxh3(record.bytes);
  }
  XxHasher hasher(XxHashKind::k3);
  for (std::uint64_t at = 0; at < extent.size;) {
    const std::uint64_t size = std::min(kHashedPiece, extent.size - at);
    ASSIGN_OR_RETURN(const auto piece, chunk.read(context, extent.begin + at, size));
    hasher.append(piece.bytes);
    at += size;
  }
  return hasher.value();
}

// The records of a chunk that can be read.
struct ReadableRecords {
  std::vector<std::uint64_t> indices{};
  std::vector<std::uint64_t> hashes{};
};

// Fails only with failures that may pass.
Result<ReadableRecords> readable_records(const RequestContext& context, const Chunk& chunk) {
  ReadableRecords readable;
  const Layout& layout = chunk.layout();
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    if (layout.failure(i) != nullptr) continue;
    const auto hash = hash_of(context, chunk, layout.extent(i));
    if (!hash && !is_permanent(hash.error().code)) return hash.error();
    if (!hash) continue;
    readable.indices.push_back(i);
    readable.hashes.push_back(*hash);
  }
  return readable;
}

// Encodes some records of a chunk. Fails like Chunk::read() and RecordWriter::encode().
Result<EncodedRecords> encoded_records(const RequestContext& context, const RecordWriter& writer, const Chunk& chunk,
                                       const std::vector<std::uint64_t>& indices) {
  std::vector<Slice> slices;
  std::vector<Bytes> records;
  slices.reserve(indices.size());
  records.reserve(indices.size());
  for (const std::uint64_t index : indices) {
    const Extent extent = chunk.layout().extent(index);
    ASSIGN_OR_RETURN(auto slice, chunk.read(context, extent.begin, extent.size));
    records.push_back(slice.bytes);
    slices.push_back(std::move(slice));
  }
  return writer.encode(context, records);
}

// Returns why a finding is no loss: something could not be read this time, or is intact and exceeds the limits, or
// needs a codec that the build lacks. nullopt: it is one, or is taken for one.
std::optional<Error> error_of(const Finding& finding, bool skips_unsupported) {
  if (finding.word == kUnchecked || finding.word == kUnreadable) {
    return Error{.code = Code::kIo, .position = finding.begin, .detail = finding.reason};
  }
  if (finding.impact != Impact::kIncomplete || skips_unsupported) return std::nullopt;
  const std::string_view limits = finding.exceeds_limit ? "--max-chunk, " : "";
  return Error{
      .code = Code::kUnsupported,
      .position = finding.begin,
      .detail = fmt::format("byte {}: {}, which may not be lost, so nothing is written (try: {}--skip-unsupported)",
                            finding.begin, finding.reason, limits)};
}

// Returns a function that takes the bytes that a pass over `size` bytes has read since its last call, and calls
// `goes_on` with their share of `work`.
std::function<bool(std::uint64_t bytes)> share_of(const std::function<bool(std::uint64_t bytes)>& goes_on,
                                                  std::uint64_t size, std::uint64_t work) {
  return [&goes_on, size, work, read = std::uint64_t{0}, told = std::uint64_t{0}](std::uint64_t bytes) mutable {
    if (!goes_on) return true;
    read += std::min(bytes, size - read);
    const double part = size == 0 ? 1 : static_cast<double>(read) / static_cast<double>(size);
    const auto now = static_cast<std::uint64_t>(part * static_cast<double>(work));
    return goes_on(now - std::exchange(told, now));
  };
}

Error not_verified(const std::string& why) {
  return {.code = Code::kDamage, .detail = fmt::format("the recovered file does not verify: {}", why)};
}

const Format& format_named(std::string_view name) { return *std::ranges::find(formats(), name, &Format::name); }

bool are_equal(const std::vector<Attribute>& some, const std::vector<Attribute>& others) {
  return std::ranges::equal(some, others, [](const Attribute& one, const Attribute& other) {
    return one.key == other.key && one.type == other.type && one.value == other.value;
  });
}

// Fails if the written file has other metadata than those that it was written with.
Result<void> compare_metadata(const WriterOptions& wanted, const WriterOptions& found) {
  if (!are_equal(wanted.metadata, found.metadata) || wanted.record_type != found.record_type) {
    return not_verified("its metadata differs");
  }
  if (wanted.trailer != found.trailer) return not_verified("its trailer differs");
  const bool has_descriptors = wanted.descriptors != nullptr;
  if (has_descriptors != (found.descriptors != nullptr) ||
      (has_descriptors && *wanted.descriptors != *found.descriptors)) {
    return not_verified("its descriptors differ");
  }
  if (wanted.stored_metadata != found.stored_metadata) return not_verified("its header differs");
  return {};
}

}  // namespace

const FileWriter* writer_for(const RecordStore& source) {
  const std::string_view own = source.traits().format;
  const auto built = std::ranges::find_if(formats(), [&](const Format& format) {
    return format.built_on == own && has_name_of(format, source.source().name()) && find_writer(format.name) != nullptr;
  });
  return find_writer(built == formats().end() ? own : built->name);
}

bool has_other_name(const std::string& path, const FileWriter& writer) {
  const auto has_name = [&](const Format& format) { return has_name_of(format, path); };
  return !has_name(format_named(writer.format)) && std::ranges::any_of(formats(), has_name);
}

LossCount Recovered::losses() const {
  LossCount losses;
  for (const Finding& finding : lost) losses.add(finding.records_lost, finding.least_lost);
  return losses;
}

Recovered Recovery::run(OutputFile& output) const {
  Recovered recovered;
  WriterOptions wanted;
  std::uint64_t digest = 0;
  auto outcome = write(output, recovered, wanted, digest);
  if (outcome && !recovered.was_stopped) outcome = check(output, recovered, wanted, digest);
  if (!outcome) recovered.error = std::move(outcome).error();
  return recovered;
}

Result<void> Recovery::write(OutputFile& output, Recovered& recovered, WriterOptions& wanted,
                             std::uint64_t& digest) const {
  ASSIGN_OR_RETURN(const auto container,
                   format_named(source_.traits().format).open({}, source_.shared_source(), services_.limits));
  ASSIGN_OR_RETURN(wanted, format_.like({}, *container, source_.source()));
  ASSIGN_OR_RETURN(const auto writer, format_.open({}, output, wanted));
  RecordDigest written;
  Result<void> outcome;
  const std::uint64_t size = source_.source().size();
  const auto goes_on = [&outcome, share = share_of(options_.goes_on, size, size / 2)](std::uint64_t bytes) mutable {
    return outcome && share(bytes);
  };
  const auto append = [&](const RequestContext& context, const IndexedChunk& indexed,
                          const Chunk* chunk) -> std::function<void()> {
    // cppcheck-suppress returnDanglingLifetime
    const auto append_attributes = [&, info = indexed.chunk] {
      if (outcome) outcome = writer->append_attributes({}, source_.source(), info);
    };
    if (chunk == nullptr) return append_attributes;
    auto read = readable_records(context, *chunk);
    if (!read)
      return [&outcome, error = std::move(read).error()] {
        if (outcome) outcome = error;
      };
    ReadableRecords& readable = *read;
    if (readable.indices.empty()) return append_attributes;
    const ChunkInfo& info = indexed.chunk;
    const bool is_whole = readable.indices.size() == chunk->layout().records();
    if (is_whole && options_.copies_chunks && writer->can_append_stored(info)) {
      return [&, info, hashes = std::move(readable.hashes)] {
        if (!outcome) return;
        outcome = writer->append_stored({}, source_.source(), info);
        written.add(hashes);
      };
    }
    auto encoded =
        std::make_shared<Result<EncodedRecords>>(encoded_records(context, *writer, *chunk, readable.indices));
    // cppcheck-suppress returnDanglingLifetime
    return [&, append_attributes, encoded = std::move(encoded), hashes = std::move(readable.hashes)] {
      append_attributes();
      if (!outcome) return;
      outcome = *encoded ? writer->append({}, **encoded) : encoded->error();
      written.add(hashes);
    };
  };
  auto verdict = verify(source_, options_.threads, options_.memory, goes_on, append);
  TRY(outcome);
  recovered.was_stopped = verdict.was_stopped;
  if (verdict.was_stopped) return {};
  for (Finding& finding : verdict.findings) {
    if (auto error = error_of(finding, options_.skips_unsupported)) return std::move(*error);
    if (finding.impact != Impact::kNone) recovered.lost.push_back(std::move(finding));
  }
  if (written.records() != verdict.records) {
    return not_verified(fmt::format("it has {} of {} records", written.records(), verdict.records));
  }
  TRY(writer->finish({}));
  recovered.records = written.records();
  digest = written.value();
  return output.flush();
}

Result<void> Recovery::check(const OutputFile& output, const Recovered& recovered, const WriterOptions& wanted,
                             std::uint64_t digest) const {
  ASSIGN_OR_RETURN(auto descriptor, output.reopened());
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> file, FileSource::of(std::move(descriptor), source_.name()));
  auto container = format_named(format_.format).open({}, file, services_.limits);
  if (!container) return not_verified(container.error().detail);
  ASSIGN_OR_RETURN(const auto options, format_.like({}, **container, *file));
  TRY(compare_metadata(wanted, options));
  const RecordStore store(source_.name(), file, std::move(*container), services_);
  RecordDigest found;
  Result<void> outcome;
  const std::uint64_t size = source_.source().size();
  const auto verdict =
      verify(store, options_.threads, options_.memory, share_of(options_.goes_on, file->size(), size - size / 2),
             [&](const RequestContext& context, const IndexedChunk&, const Chunk* chunk) -> std::function<void()> {
               if (chunk == nullptr) return {};
               return [&, readable = readable_records(context, *chunk)] {
                 if (readable) found.add(readable->hashes);
                 if (!readable && outcome) outcome = readable.error();
               };
             });
  TRY(outcome);
  if (verdict.was_stopped) return Error{.code = Code::kInterrupted, .detail = "interrupted"};
  for (const Finding& finding : verdict.findings) {
    if (finding.impact != Impact::kNone) return not_verified(to_string(finding));
  }
  if (found.records() != recovered.records || found.value() != digest) {
    return not_verified(fmt::format("it has {} records instead of {}, or others", found.records(), recovered.records));
  }
  return {};
}

}  // namespace recordfs
