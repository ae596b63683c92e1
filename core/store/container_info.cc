#include "core/store/container_info.h"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::size_t kLongestShownValue = 4096;

bool is_shown_as_text(std::string_view value) {
  return value.size() <= kLongestShownValue && value.find('\0') == std::string_view::npos && is_utf8(value);
}

}  // namespace

JsonObject::List list_of(const std::vector<Attribute>& attributes) {
  JsonObject::List list;
  for (const Attribute& attribute : attributes) {
    JsonObject& item = list.emplace_back();
    item.set("key", attribute.key);
    if (!attribute.type.empty()) item.set("type", attribute.type);
    item.set("size", std::uint64_t{attribute.value.size()});
    if (attribute.number) {
      item.set("value", *attribute.number);
    } else if (is_shown_as_text(attribute.value)) {
      item.set("text", attribute.value);
    }
  }
  return list;
}

Result<JsonObject> container_info(const RequestContext& context, const RecordStore& store) {
  const Metadata* const metadata = store.metadata();
  auto first = store.index().first_with_records(context);
  if (!first && !is_permanent(first.error().code)) return std::move(first).error();
  auto attributes = metadata == nullptr ? std::vector<Attribute>{} : metadata->attributes(context, nullptr);
  if (!attributes && !is_permanent(attributes.error().code)) return std::move(attributes).error();
  JsonObject info;
  info.set("format", store.traits().format);
  for (const Fact& fact : store.traits().facts) {
    std::visit([&](const auto& value) { info.set(fact.name, JsonObject::Content(value)); }, fact.value);
  }
  const bool knows_metadata = info.find("metadata") != nullptr && attributes;
  // Values that are known better than from the file's header replace the fact.
  if (knows_metadata) info.set("metadata", list_of(*attributes));
  info.set("size", store.source().size());
  if (first && *first) {
    info.set("codec", (*first)->codec);
    JsonObject chunk;
    chunk.set("begin", (*first)->begin);
    chunk.set("kind", (*first)->kind.word());
    chunk.set("records", (*first)->records);
    info.set("first_chunk", std::move(chunk));
  }
  if (!attributes) {
    info.set("metadata_error", to_string(attributes.error()));
  } else if (!knows_metadata) {
    info.set("metadata", list_of(*attributes));
  }
  if (metadata != nullptr && metadata->varies()) {
    info.set("metadata_scope", "first chunk");
    info.set("metadata_directory_scope", "last chunk");
  }
  return info;
}

void add_totals(JsonObject& info, const RecordStore& store, const PrefixSums& totals,
                const std::vector<DamageRow>& damage) {
  std::uint64_t damaged_regions = 0;
  std::uint64_t damaged_bytes = 0;
  for (const DamageRow& row : damage) {
    if (row.region.damage_class == DamageClass::kStale) continue;
    ++damaged_regions;
    damaged_bytes += row.region.end - row.region.begin;
  }
  info.set("format", store.traits().format);
  info.set("size", store.source().size());
  info.set("chunks", totals.chunks);
  info.set("records", totals.records);
  info.set("decoded", totals.bytes);
  // What a scan always checks. Damage of payloads is only found by decoding a chunk.
  info.set("damage_scope", "headers");
  info.set("damaged_regions", damaged_regions);
  info.set("damaged_bytes", damaged_bytes);
}

}  // namespace recordfs
