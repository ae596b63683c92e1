#include "core/formats/tfrecord/container.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/formats/tensorflow_example.h"
#include "core/formats/tfrecord/format.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;

}  // namespace

File::File(const Limits& limits, std::string_view compression, bool index_fits_in_chunk)
    : limits_(limits),
      traits_{.format = kFormat.name,
              .facts = {{"compression", std::string(compression)}},
              .index_fits_in_chunk = index_fits_in_chunk},
      schema_{
          .value = [this](Bytes record, ValueForm form) { return tensorflow::value_of_example(record, limits_, form); },
          .parts = RecordSchema::Parts::kOptional,
          .largest_record_with_parts = limits.stored_chunk} {}

Error not_as_found(Position at) { return {Code::kDamage, at, "the records are not those that the scan found"}; }

Error wrong_data(Position at) { return {Code::kDamage, at, "a record that does not match its checksum"}; }

Result<std::shared_ptr<const Chunk>> split(const RequestContext& context, Buffer stored, Position begin) {
  Layout layout;
  const MutableBytes out = stored.span();
  std::size_t first = 0;  // where the first record's data remain
  for (Bytes rest = stored.view(); !rest.empty();) {
    const auto length = sound_length(rest);
    if (!length || rest.size() < kFrameSize || *length > rest.size() - kFrameSize) return not_as_found(begin);
    const auto size = static_cast<std::size_t>(*length);
    const Bytes data = rest.subspan(kHeaderSize, size);
    if (layout.records() == 0) first = kHeaderSize;
    const auto at = first + static_cast<std::size_t>(layout.end());
    if (footer_matches(rest.subspan(kHeaderSize + size, kFooterSize), crc32c(data))) {
      layout.add(context, size);
    } else {
      layout.add_failed(context, size, wrong_data(begin));
    }
    // Moves the data to the front, over bytes that were already moved.
    if (layout.records() > 1 && !data.empty()) std::memmove(&out[at], data.data(), data.size());
    rest = rest.subspan(size + kFrameSize);
    begin += size + kFrameSize;
  }
  stored.truncate(first + static_cast<std::size_t>(layout.end()));
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(stored), std::move(layout), first));
}

void RecordFollower::take_header() {
  const auto length = sound_length(header_);
  held_ = 0;
  is_lost_ = !length || *length > kLongest;
  if (is_lost_) return;
  length_ = *length;
  left_ = length_ + kFooterSize;
}

std::vector<RecordFollower::Record> RecordFollower::follow(Bytes piece) {
  std::vector<Record> records;
  while (!piece.empty() && !is_lost_) {
    const std::uint64_t wanted = left_ > 0 ? left_ : kHeaderSize - held_;
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, piece.size()));
    if (left_ > 0) {
      left_ -= taken;
      if (left_ == 0) records.push_back({followed_ + taken, length_});
    } else {
      copy_bytes(piece.first(taken), MutableBytes(header_).subspan(held_));
      held_ += taken;
      if (held_ == kHeaderSize) take_header();
    }
    followed_ += taken;
    piece = piece.subspan(taken);
  }
  return records;
}

}  // namespace recordfs::tfrecord
