#include "core/formats/proio/header.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/descriptor_elements.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using protobuf::Field;
using protobuf::WireType;

constexpr std::uint64_t kMostFields = 1 << 20;  // of one header
constexpr std::uint64_t kFieldsOfACutMessage = 4096;
constexpr std::uint64_t kBytesOfACutMessage = 64 << 10;
constexpr std::size_t kMostBadItems = 64;         // reported for one header
constexpr std::uint32_t kHighestFieldNumber = 7;  // of BucketHeader, reserved ones included

// Returns whether writers put such a field into a header. Other fields suggest that this is not a header.
bool is_known(const Field& field) {
  switch (field.number) {
    case header_field::kEvents:
    case header_field::kBucketSize:
    case header_field::kCompression: return field.type == WireType::kVarint;
    case header_field::kFileDescriptor:
    case header_field::kMetadata: return field.type == WireType::kLengthDelimited;
    default: return field.number <= kHighestFieldNumber;
  }
}

// The number of stray fields that a header may still have.
struct Allowance {
  std::uint64_t strays = 0;
  bool all_are_strays = false;

  bool take(bool is_stray) {
    if (!is_stray && !all_are_strays) return true;
    if (strays == 0) return false;
    --strays;
    return true;
  }
};

struct PlacedField {
  Field field;
  Position begin = 0;
  Position content = 0;
};

// Iterates over the fields of a message at [begin, end) of the file.
class FieldWalk {
 public:
  FieldWalk(WindowedReader& window, Position begin, Position end, const Limits& limits, Allowance& allowance)
      : window_(window), at_(begin), end_(end), groups_(limits.nesting_depth), allowance_(allowance) {}

  // Returns the next top-level field, or nullopt at the end and if is_broken(). Fails as Source does.
  Result<std::optional<PlacedField>> next(const RequestContext& context);

  bool is_broken() const { return broken_; }
  // Returns whether it is broken because the message ends inside a field that writers put into a header.
  bool is_cut() const { return cut_; }
  // Whether it is broken because it ends inside a field, and where the content of that field begins, or 0.
  bool ends_early() const { return ends_early_; }
  Position cut_content() const { return cut_content_; }
  // Returns the end of the last complete field.
  Position at() const { return at_; }

 private:
  std::optional<PlacedField> stop(bool ends_early, bool cut) {
    broken_ = true;
    ends_early_ = ends_early;
    cut_ = cut;
    return std::nullopt;
  }
  std::optional<PlacedField> stop_inside(const PlacedField& placed) {
    cut_content_ = placed.content;
    return stop(true, is_known(placed.field));
  }

  WindowedReader& window_;
  Position at_;
  const Position end_;
  protobuf::Groups groups_;
  Allowance& allowance_;
  std::uint64_t fields_left_ = kMostFields;
  bool broken_ = false;
  bool ends_early_ = false;
  bool cut_ = false;
  Position cut_content_ = 0;
};

Result<std::optional<PlacedField>> FieldWalk::next(const RequestContext& context) {
  while (!broken_ && at_ < end_) {
    ASSIGN_OR_RETURN(const auto bytes, window_.from(context, at_, protobuf::kLongestField));
    const std::uint64_t left = end_ - at_;
    Cursor cursor(bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left))));
    const Field field = protobuf::read_field(cursor);
    const bool is_at_end = left < protobuf::kLongestField;
    if (!cursor.ok()) return stop(is_at_end, is_at_end);
    const PlacedField placed{field, at_, at_ + cursor.offset()};
    if (field.size > end_ - placed.content) return stop_inside(placed);
    auto at_top = groups_.note(field);
    if (!at_top || !allowance_.take(!*at_top) || fields_left_-- == 0) return stop(false, false);
    at_ = placed.content + field.size;
    if (*at_top) return std::optional(placed);
  }
  if (!broken_ && !groups_.closed()) return stop(true, true);
  return std::optional<PlacedField>{};
}

class HeaderReader {
 public:
  using Verdict = HeaderReading::Verdict;

  HeaderReader(WindowedReader& window, Position at, const Limits& limits, const ItemVisitor& visit,
               std::uint64_t most_strays)
      : window_(window), limits_(limits), visit_(visit), allowance_{.strays = most_strays} {
    reading_.header.begin = at;
    reading_.search_from = at + 1;
  }

  Result<HeaderReading> read(const RequestContext& context) && {
    const Position begin = reading_.header.begin;
    ASSIGN_OR_RETURN(const auto head, window_.from(context, begin, kPreambleSize));
    if (head.size() < kPreambleSize) return refuse_short(head);
    Cursor cursor(head);
    if (!std::ranges::equal(cursor.take(kMagic.size()), kMagic)) {
      return refuse(Verdict::kBroken, "no bucket begins here");
    }
    const std::uint64_t declared = cursor.u32_le();
    const Position first = begin + kPreambleSize;
    const std::uint64_t there = std::min(declared, window_.source().size() - first);
    FieldWalk walk(window_, first, first + there, limits_, allowance_);
    reading_.search_from = begin + kMagic.size();
    TRY(read_fields(context, walk));
    return judge(walk, first + declared);
  }

 private:
  HeaderReading refuse(Verdict verdict, std::string reason) {
    reading_.verdict = verdict;
    reading_.reason = std::move(reason);
    return std::move(reading_);
  }

  // Handles fewer bytes than a magic and a size, at the end of the file.
  HeaderReading refuse_short(Bytes head) {
    const std::size_t compared = std::min(head.size(), kMagic.size());
    if (std::ranges::equal(head.first(compared), Bytes(kMagic).first(compared))) {
      return refuse(Verdict::kTorn, "the file ends before the size of a bucket's header");
    }
    return refuse(Verdict::kBroken, "no bucket begins here");
  }

  Result<void> read_fields(const RequestContext& context, FieldWalk& walk) {
    while (true) {
      ASSIGN_OR_RETURN(const auto placed, walk.next(context));
      if (!placed) return {};
      const Field& field = placed->field;
      all_known_ = all_known_ && is_known(field);
      allowance_.all_are_strays = !all_known_;
      const bool is_item = field.is(header_field::kFileDescriptor, WireType::kLengthDelimited) ||
                           field.is(header_field::kMetadata, WireType::kLengthDelimited);
      if (is_item) {
        reading_.header.has_attributes = true;
        TRY(read_item(context, *placed));
      } else {
        set_number(field, reading_.header);
      }
      if (all_known_) reading_.search_from = walk.at();
    }
  }

  Result<void> read_item(const RequestContext& context, const PlacedField& placed) {
    const Field& field = placed.field;
    const bool is_metadata = field.number == header_field::kMetadata;
    ASSIGN_OR_RETURN(const auto is_valid, is_metadata ? is_message(context, placed.content, field.size)
                                                      : is_descriptor(context, placed.content, field.size));
    if (is_valid) return visit_ ? visit_({field.number, placed.content, field.size}) : Result<void>();
    const Position end = placed.content + field.size;
    if (reading_.bad.size() == kMostBadItems) {
      reading_.bad.back().end = end;
      return {};
    }
    reading_.bad.push_back({.begin = placed.begin,
                            .end = end,
                            .damage_class = DamageClass::kDamage,
                            .records_lost = 0,
                            .reason = fmt::format("cannot read {}", is_metadata ? "an entry of the metadata"
                                                                                : "a descriptor of protobuf types")});
    return {};
  }

  Result<bool> is_message(const RequestContext& context, Position begin, std::uint64_t size) {
    FieldWalk entry(window_, begin, begin + size, limits_, allowance_);
    while (true) {
      ASSIGN_OR_RETURN(const auto field, entry.next(context));
      if (!field) return !entry.is_broken();
    }
  }

  // Examines no descriptor that is too large to be used, nor those after unknown fields, which a search would examine
  // for each magic.
  Result<bool> is_descriptor(const RequestContext& context, Position begin, std::uint64_t size) {
    if (!all_known_ || size > limits_.metadata_bytes - descriptor_bytes_) return true;
    descriptor_bytes_ += size;
    ASSIGN_OR_RETURN(const auto content, view_exactly(context, window_.source(), begin, size));
    return is_file_descriptor(content.bytes, limits_.nesting_depth);
  }

  HeaderReading judge(const FieldWalk& walk, Position end) {
    const Position size = window_.source().size();
    if (end > size) {
      const std::string reason = fmt::format("a bucket's header of {} extends past the end of the file",
                                             counted(end - reading_.header.begin - kPreambleSize, "byte"));
      reading_.cut_item = walk.cut_content();
      const bool is_header_so_far = all_known_ && (!walk.is_broken() || walk.is_cut());
      return refuse(is_header_so_far ? Verdict::kTorn : Verdict::kBroken, reason);
    }
    if (walk.is_broken()) return refuse(Verdict::kBroken, "a bucket's header is not a valid message");
    reading_.verdict = Verdict::kSound;
    reading_.header.payload = end;
    return std::move(reading_);
  }

  WindowedReader& window_;
  const Limits& limits_;
  const ItemVisitor& visit_;
  HeaderReading reading_;
  Allowance allowance_;
  std::uint64_t descriptor_bytes_ = 0;  // of those that were examined
  bool all_known_ = true;
};

}  // namespace

bool set_number(const Field& field, BucketHeader& header) {
  if (field.type != WireType::kVarint) return false;
  switch (field.number) {
    case header_field::kEvents: header.events = field.value; return true;
    case header_field::kBucketSize: header.stored = field.value; return true;
    case header_field::kCompression: header.compression = static_cast<std::uint32_t>(field.value); return true;
    default: return false;
  }
}

Result<HeaderReading> read_header(const RequestContext& context, WindowedReader& window, Position at,
                                  const Limits& limits, const ItemVisitor& visit, std::uint64_t most_strays) {
  return HeaderReader(window, at, limits, visit, most_strays).read(context);
}

Result<bool> may_be_cut_message(const RequestContext& context, const Source& source, Position begin,
                                const Limits& limits) {
  WindowedReader window(source, kHeaderWindow);
  Allowance allowance{.strays = kFieldsOfACutMessage};
  FieldWalk walk(window, begin, source.size(), limits, allowance);
  for (std::uint64_t i = 0; i < kFieldsOfACutMessage && window.bytes_read() < kBytesOfACutMessage; ++i) {
    ASSIGN_OR_RETURN(const auto placed, walk.next(context));
    if (!placed) return !walk.is_broken() || walk.ends_early();
  }
  return true;
}

}  // namespace recordfs::proio
