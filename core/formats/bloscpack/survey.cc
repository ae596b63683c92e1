#include "core/formats/bloscpack/survey.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/bloscpack/chunk_finder.h"

namespace recordfs::bloscpack {
namespace {

// How far after damaged metadata to search for offsets.
constexpr std::uint64_t kSearched = 4 << 20;

DamageClass class_of(Code code) {
  if (code == Code::kUnfinished) return DamageClass::kUnfinished;
  return code == Code::kUnsupported || code == Code::kLimit ? DamageClass::kUnsupported : DamageClass::kDamage;
}

// Reads the headers. Makes one survey, in one thread.
class Surveyor {
 public:
  explicit Surveyor(const Source& source) : source_(source) { found_.file_size = source.size(); }
  // Fails only as Source does. Call once.
  Result<Survey> run();

 private:
  void report_refusal();

  Result<void> read_headers();
  // Reports sizes that no writer produces, although readers do not need them.
  void report_nonsense();
  Result<void> plain_metadata();
  Result<void> read_metadata_header();
  // Continues after metadata of unknown length, at the offsets, the first of which points directly after them.
  // Without such offsets the rest cannot be interpreted.
  Result<void> pass_metadata(Code code, const std::string& why);
  // Returns the begin of the offsets after the metadata; 0 if they are not found.
  Result<Position> search_offsets() const;

  const Source& source_;
  Survey found_;
  Position at_ = 0;  // end of the headers
};

Result<Survey> Surveyor::run() {
  auto done = read_headers();
  if (done && !found_.refusal) done = ChunkFinder(source_, at_, found_).run();
  if (!done) return std::move(done).error();
  if (found_.refusal) report_refusal();
  std::ranges::sort(found_.damage, {}, &DamagedRegion::begin);
  return std::move(found_);
}

void Surveyor::report_refusal() {
  const Error& why = *found_.refusal;
  found_.order = Order::kNone;
  found_.damage.clear();
  if (source_.size() == 0) return;
  found_.damage.push_back({0, source_.size(), class_of(why.code), 0, std::nullopt, why.detail});
}

Result<void> Surveyor::read_headers() {
  ASSIGN_OR_RETURN(const auto head, read_up_to(source_, 0, kLargestHeader + kBloscHeaderSize));
  auto header = parse_file_header(head.view(), source_.size());
  if (!header) {
    found_.refusal = std::move(header).error();
    return {};
  }
  found_.header = *header;
  at_ = header->size;
  report_nonsense();
  if (!header->has_metadata) return {};
  return header->dialect == Dialect::kVariable ? plain_metadata() : read_metadata_header();
}

void Surveyor::report_nonsense() {
  const FileHeader& header = found_.header;
  if (header.chunk_size < kUnknown) {
    found_.report(kChunkSizeField, kChunkSizeField + 4, DamageClass::kDamage, 0,
                  fmt::format("invalid chunk size {}", header.chunk_size));
  }
  const bool too_large =
      header.dialect == Dialect::kVersion3 && header.chunk_size >= 0 && header.last_chunk > header.chunk_size;
  if (header.last_chunk < kUnknown || too_large) {
    found_.report(
        kChunkSizeField + 4, kChunkSizeField + 8, DamageClass::kDamage, 0,
        fmt::format("a last chunk of {} bytes, but a chunk size of {}", header.last_chunk, header.chunk_size));
  }
  if (header.spare_offsets < 0) {
    found_.report(kSpareField, kSpareField + 8, DamageClass::kDamage, 0,
                  fmt::format("invalid number of spare offsets: {}", header.spare_offsets));
  }
}

Result<void> Surveyor::plain_metadata() {
  const std::int32_t size = found_.header.metadata_size;
  if (size < 0) {
    found_.refuse(Code::kDamage, kSpareField, fmt::format("invalid metadata size {}", size));
  } else if (static_cast<std::uint64_t>(size) > source_.size() - at_) {
    found_.refuse(Code::kUnfinished, kSpareField, "the file ends inside its metadata");
  } else {
    found_.metadata_begin = at_;
    const auto bytes = static_cast<std::uint32_t>(size);
    found_.metadata = MetadataHeader{true, std::nullopt, 0, bytes, bytes, bytes};
    at_ += bytes;
  }
  return {};
}

Result<void> Surveyor::read_metadata_header() {
  ASSIGN_OR_RETURN(const auto head, read_up_to(source_, at_, kMetadataHeaderSize));
  auto header = parse_metadata_header(head.view());
  if (!header) return pass_metadata(header.error().code, header.error().detail);
  const std::uint64_t section = std::uint64_t{header->room} + (header->digest ? digest_size(*header->digest) : 0);
  if (section > source_.size() - at_ - kMetadataHeaderSize) {
    return pass_metadata(Code::kUnfinished, "the file ends inside its metadata");
  }
  found_.metadata_begin = at_ + kMetadataHeaderSize;
  found_.metadata = *header;
  at_ = found_.metadata_begin + section;
  return {};
}

Result<void> Surveyor::pass_metadata(Code code, const std::string& why) {
  ASSIGN_OR_RETURN(const auto offsets, search_offsets());
  if (offsets == 0) {
    found_.refuse(code, at_, why);
    return {};
  }
  found_.report(at_, offsets, DamageClass::kDamage, 0, "metadata: " + why);
  at_ = offsets;
  return {};
}

Result<Position> Surveyor::search_offsets() const {
  const auto declared = found_.header.declared_offsets();
  if (!found_.header.has_offsets || !declared || *declared == 0 || *declared > kMostOffsets) return Position{0};
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(source_, at_, kSearched));
  for (Position at = at_; at + kOffsetSize <= at_ + bytes.size(); ++at) {
    const Bytes here = bytes.view().subspan(static_cast<std::size_t>(at - at_));
    const std::uint64_t first = Cursor(here).u64_le();
    if (first != at + *declared * kOffsetSize) continue;
    ASSIGN_OR_RETURN(const auto chunk, is_chunk(source_, first, found_.header.digest_bytes()));
    if (chunk) return at;
  }
  return Position{0};
}

}  // namespace

void Survey::report(Position begin, Position end, DamageClass damage_class, std::optional<std::uint64_t> lost,
                    std::string why) {
  end = std::min(end, file_size);
  if (begin < end) damage.push_back({begin, end, damage_class, 0, lost, std::move(why)});
}

Result<bool> is_chunk(const Source& source, Position at, std::size_t digest_bytes) {
  ASSIGN_OR_RETURN(const auto seen, look_at(source, at, digest_bytes));
  return seen.header.has_value();
}

Result<Look> look_at(const Source& source, Position at, std::size_t digest_bytes) {
  Look look;
  if (at >= source.size()) {
    look.why = {Code::kUnfinished, at, "no chunk within the file"};
    return look;
  }
  ASSIGN_OR_RETURN(const auto head, read_up_to(source, at, kBloscHeaderSize));
  auto header = parse_blosc_header(head.view());
  if (!header) {
    look.why = {header.error().code, at, header.error().detail};
    return look;
  }
  const std::uint64_t size = std::uint64_t{header->stored_size} + digest_bytes;
  if (size > source.size() - at) {
    look.why = {Code::kUnfinished, at, "the file ends inside a chunk"};
    return look;
  }
  look.end = at + size;
  look.header = *header;
  return look;
}

Result<Survey> survey(const Source& source) { return Surveyor(source).run(); }

}  // namespace recordfs::bloscpack
