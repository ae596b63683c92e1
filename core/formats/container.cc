#include "core/formats/container.h"

namespace recordfs {

std::string_view to_string(DamageClass damage_class) {
  switch (damage_class) {
    case DamageClass::kDamage: return "damage";
    case DamageClass::kUnfinished: return "unfinished";
    case DamageClass::kStale: return "stale";
    case DamageClass::kUnsupported: return "unsupported";
  }
  return "damage";
}

void ShortAttributes::add(const View& attribute) {
  const std::uint64_t size = std::uint64_t{attribute.key.size()} + attribute.value.size();
  if (size > left_) {
    ++omitted_;
    return;
  }
  left_ -= size;
  attributes_.push_back({std::string(attribute.key), std::string(attribute.type), std::string(attribute.value)});
}

Result<ShortAttributes> Metadata::short_attributes_at(const RequestContext& context, const ChunkInfo& chunk,
                                                      std::uint64_t most_bytes) const {
  ASSIGN_OR_RETURN(const auto all, attributes_at(context, chunk));
  ShortAttributes attributes(most_bytes);
  for (const Attribute& attribute : all) attributes.add({attribute.key, attribute.type, attribute.value});
  return attributes;
}

Result<std::optional<ChunkInfo>> Container::locate(const RequestContext&, Position) const {
  return std::optional<ChunkInfo>{};
}

Result<std::optional<LocatedRecord>> Container::locate_record(const RequestContext&, std::uint64_t) const {
  return std::optional<LocatedRecord>{};
}

Result<Layout> Container::layout(const RequestContext& context, const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(const auto decoded, decode(context, chunk));
  return decoded->layout();
}

Result<Verification> Container::verify(const RequestContext& context, const ChunkInfo& chunk) const {
  TRY(decode(context, chunk));
  return Verification::kNoChecksum;
}

Result<std::shared_ptr<const Chunk>> Container::decode_fields(const RequestContext& context, const ChunkInfo& chunk,
                                                              const FieldProjection&) const {
  return decode(context, chunk);
}

Result<std::shared_ptr<const Chunk>> Container::open_in_place(const RequestContext&, const ChunkInfo&) const {
  return std::shared_ptr<const Chunk>{};
}

const RecordSchema& Container::schema() const {
  static const RecordSchema kNothingKnown;
  return kNothingKnown;
}

}  // namespace recordfs
