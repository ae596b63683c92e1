#include "core/decoding/chunk_metadata.h"

#include <string_view>
#include <utility>

#include "core/base/impact.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

// Returns whether a key can be the name of a member. The names of values in base64 and hexadecimal have suffixes, which
// must not make two names equal.
bool is_name(std::string_view key) { return is_utf8(key) && !key.ends_with("_base64") && !key.ends_with("_hex"); }

}  // namespace

void add_metadata(const ChunkMetadata& metadata, Value::Object& members) {
  Value::Object named;
  Value::List others;
  for (const Attribute& attribute : metadata.attributes) {
    if (is_name(attribute.key)) {
      add_member(named, attribute.key, as_bytes(attribute.value));
      continue;
    }
    Value::Object& other = others.emplace_back().is.emplace<Value::Object>();
    add_member(other, "key", as_bytes(attribute.key));
    add_member(other, "value", as_bytes(attribute.value));
  }
  if (!named.empty()) add_member(members, "metadata", std::move(named));
  if (!others.empty()) add_member(members, "other_metadata", std::move(others));
  if (metadata.omitted > 0) add_member(members, "metadata_omitted", metadata.omitted);
  if (!metadata.error.empty()) add_member(members, "metadata_error", metadata.error);
}

Result<void> check_metadata(const RequestContext& context, const Metadata* metadata) {
  if (metadata == nullptr || metadata->varies()) return {};
  const auto attributes = metadata->attributes(context, nullptr);
  if (attributes || impact_of(attributes.error()) != Impact::kDamage) return {};
  return attributes.error();
}

Result<std::shared_ptr<const ChunkMetadata>> ChunkMetadataReader::at(const RequestContext& context,
                                                                     const ChunkInfo& chunk) const {
  if (metadata_ == nullptr) return std::shared_ptr<const ChunkMetadata>();
  if (auto known = recent_.find(chunk.begin)) return std::move(*known);
  auto attributes = metadata_->short_attributes_at(context, chunk, ChunkMetadata::kMostBytes);
  if (!attributes && !is_permanent(attributes.error().code)) return std::move(attributes).error();
  auto read = attributes ? ChunkMetadata{.attributes = attributes->attributes(), .omitted = attributes->omitted()}
                         : ChunkMetadata{.error = printable(to_string(attributes.error()))};
  return recent_.add(chunk.begin, std::make_shared<const ChunkMetadata>(std::move(read)));
}

}  // namespace recordfs
