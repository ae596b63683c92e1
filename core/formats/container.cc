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

Result<std::optional<ChunkInfo>> Container::locate(Position) const { return std::optional<ChunkInfo>{}; }

Result<Layout> Container::layout(const ChunkInfo& chunk) const {
  ASSIGN_OR_RETURN(const auto decoded, decode(chunk));
  return decoded->layout();
}

Result<void> Container::verify(const ChunkInfo& chunk) const {
  TRY(decode(chunk));
  return {};
}

Result<std::shared_ptr<const Chunk>> Container::decode_by_parts(const ChunkInfo&) const {
  return std::shared_ptr<const Chunk>{};
}

Result<std::vector<Attribute>> Container::attributes(const ChunkInfo*) const { return std::vector<Attribute>{}; }

Result<std::vector<Attribute>> Container::chunk_attributes(const ChunkInfo&) const { return std::vector<Attribute>{}; }

Result<Parts> Container::parts(Bytes) const {
  return Error{.code = Code::kNotFound, .detail = "the records of this container have no parts"};
}

Result<Value> Container::value(Bytes) const {
  return Error{.code = Code::kNotFound, .detail = "the records of this container have no decoded values"};
}

Result<void> Container::key_changes(Bytes, const TakeKeyChange&) const {
  return Error{.code = Code::kNotFound, .detail = "the records of this container change no keys"};
}

Result<std::shared_ptr<const std::string>> Container::descriptors(const ChunkInfo&) const {
  return std::shared_ptr<const std::string>();
}

Result<Buffer> Container::trailer() const {
  return Error{.code = Code::kNotFound, .detail = "the container has no trailer"};
}

}  // namespace recordfs
