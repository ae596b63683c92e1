#include "fusefs/tree/texts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestShownValue = 4096;

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

bool is_text(const std::string& value) {
  if (value.size() > kLongestShownValue) return false;
  try {
    static_cast<void>(Json(value).dump());
    return value.find('\0') == std::string::npos;
  } catch (const Json::type_error&) {
    return false;  // not UTF-8
  }
}

Json metadata_of(const std::vector<Attribute>& attributes) {
  Json list = Json::array();
  for (const Attribute& attribute : attributes) {
    Json item;
    item["key"] = attribute.key;
    if (!attribute.type.empty()) item["type"] = attribute.type;
    item["size"] = attribute.value.size();
    if (is_text(attribute.value)) item["text"] = attribute.value;
    list.push_back(std::move(item));
  }
  return list;
}

Json optional_of(const std::optional<std::uint64_t>& number) { return number ? Json(*number) : Json(nullptr); }

// Metadata in effect at a chunk.
Result<std::vector<Attribute>> attributes_at(const RecordStore& store, const ChunkInfo& chunk) {
  if (store.container().attributes_change()) return store.container().chunk_attributes(chunk);
  Goal never;
  auto known = store.attributes(never);
  if (!known) return std::move(known).error();
  return **known;
}

std::string_view checksum_state(const Result<void>& verified, bool has_checksum) {
  if (verified) return has_checksum ? "good" : "none";
  const Code code = verified.error().code;
  return code == Code::kUnsupported || code == Code::kLimit ? "unchecked" : "bad";
}

}  // namespace

Result<std::string> container_info(const RecordStore& store) {
  const Container& container = store.container();
  Json json;
  json["format"] = container.format();
  for (const Fact& fact : container.facts()) {
    std::visit([&](const auto& value) { json[fact.name] = value; }, fact.value);
  }
  json["size"] = store.source().size();
  auto first = store.first_record_chunk();
  if (!first) {
    if (!lies_in_the_bytes(first.error().code)) return std::move(first).error();
  } else if (*first) {
    json["codec"] = (*first)->codec;
    json["first_chunk"] = {
        {"begin", (*first)->begin}, {"kind", (*first)->kind}, {"records", optional_of((*first)->records)}};
  }
  auto attributes = container.attributes(nullptr);
  if (attributes) {
    json["metadata"] = metadata_of(*attributes);
  } else if (!lies_in_the_bytes(attributes.error().code)) {
    return std::move(attributes).error();
  } else {
    json["metadata_error"] = to_string(attributes.error());
  }
  return text_of(json);
}

Result<std::string> chunk_info(const RecordStore& store, const ChunkInfo& chunk) {
  Json json;
  json["begin"] = chunk.begin;
  json["end"] = chunk.end;
  json["kind"] = chunk.kind;
  json["codec"] = chunk.codec;
  json["stored"] = chunk.stored_size;
  json["decoded"] = optional_of(chunk.payload_size());
  json["records"] = optional_of(chunk.records);
  const auto verified = store.container().verify(chunk);
  if (!verified && !lies_in_the_bytes(verified.error().code)) return verified.error();
  json["checksum"] = checksum_state(verified, store.container().has_checksum(chunk));
  if (!verified) json["reason"] = to_string(verified.error());
  auto attributes = attributes_at(store, chunk);
  if (!attributes) {
    if (!lies_in_the_bytes(attributes.error().code)) return std::move(attributes).error();
    json["metadata_error"] = to_string(attributes.error());
  } else if (!attributes->empty()) {
    json["metadata"] = metadata_of(*attributes);
  }
  return text_of(json);
}

Result<std::string_view> checksum_of(const RecordStore& store, const ChunkInfo& chunk) {
  const auto verified = store.container().verify(chunk);
  if (!verified && !lies_in_the_bytes(verified.error().code)) return verified.error();
  return checksum_state(verified, store.container().has_checksum(chunk));
}

std::string summary(const RecordStore& store, const Totals& totals, const std::vector<DamageRow>& damage) {
  std::uint64_t damaged_bytes = 0;
  for (const DamageRow& row : damage) damaged_bytes += row.region.end - row.region.begin;
  Json json;
  json["format"] = store.container().format();
  json["size"] = store.source().size();
  json["chunks"] = totals.chunks;
  json["records"] = totals.records;
  json["decoded"] = totals.bytes;
  json["damaged_regions"] = damage.size();
  json["damaged_bytes"] = damaged_bytes;
  return text_of(json);
}

std::string damage_table(const std::vector<DamageRow>& damage) {
  std::string table = "begin\tend\tfirst_ordinal\trecords_lost\tclass\treason\n";
  for (const DamageRow& row : damage) {
    const auto& lost = row.region.records_lost;
    table += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", row.region.begin, row.region.end, row.first_ordinal,
                         lost ? fmt::format("{}", *lost) : "-", to_string(row.region.damage_class),
                         printable(row.region.reason));
  }
  return table;
}

std::string names_table(const std::vector<std::string_view>& keys, const std::vector<std::string>& names) {
  std::string table = "name\tkey\n";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == names[i]) continue;
    table += fmt::format("{}\t{}\n", names[i], percent_encoded(keys[i], ""));
  }
  return table;
}

}  // namespace recordfs
