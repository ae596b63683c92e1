#include "fusefs/tree/generated_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

constexpr std::size_t kLongestShownValue = 4096;
constexpr std::string_view kMetadataMember = "metadata";

bool is_text(std::string_view value) {
  return value.size() <= kLongestShownValue && value.find('\0') == std::string_view::npos && is_utf8(value);
}

JsonObject::List list_of(const std::vector<Attribute>& attributes) {
  JsonObject::List list;
  for (const Attribute& attribute : attributes) {
    JsonObject& item = list.emplace_back();
    item.set("key", attribute.key);
    if (!attribute.type.empty()) item.set("type", attribute.type);
    item.set("size", std::uint64_t{attribute.value.size()});
    if (is_text(attribute.value)) item.set("text", attribute.value);
  }
  return list;
}

// Returns the metadata in effect at a chunk.
Result<std::vector<Attribute>> attributes_at(const RequestContext& context, const RecordStore& store,
                                             const ChunkInfo& chunk) {
  if (store.metadata() == nullptr) return std::vector<Attribute>{};
  if (store.metadata()->varies()) return store.metadata()->attributes_at(context, chunk);
  ASSIGN_OR_RETURN(auto known, store.attributes(context));
  return *known;
}

std::string_view checksum_state(const Result<Verification>& verified) {
  if (verified) return *verified == Verification::kVerified ? "good" : "none";
  const Code code = verified.error().code;
  return code == Code::kUnsupported || code == Code::kLimit ? "unchecked" : "bad";
}

using std::string_view_literals::operator""sv;

struct Magic {
  std::string_view bytes;
  std::string_view type;
};

constexpr std::array kMagics = {
    Magic{"\x89PNG\r\n\x1a\n"sv, "image/png"},
    Magic{"\xFF\xD8\xFF"sv, "image/jpeg"},
    Magic{"\x1F\x8B\x08"sv, "application/gzip"},
    Magic{"\x28\xB5\x2F\xFD"sv, "application/zstd"},
    Magic{"SQLite format 3\0"sv, "application/x-sqlite3"},
};

constexpr std::string_view kWhiteSpace = " \t\r\n";

// Returns whether the bytes can be the start of a character.
bool is_cut_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (lead < 0xC2 || lead > 0xF4) return false;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; };
  return bytes.size() < length && std::ranges::all_of(bytes.substr(1), continues);
}

bool is_plain_text(std::string_view text, bool is_all) {
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0) return !is_all && is_cut_character(text);
    if (is_control(text) && kWhiteSpace.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

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
  const bool knows_metadata = info.find(kMetadataMember) != nullptr && attributes;
  // Values that are known better than from the file's header replace the fact.
  if (knows_metadata) info.set(kMetadataMember, list_of(*attributes));
  info.set("size", store.source().size());
  if (first && *first) {
    info.set("codec", (*first)->codec);
    JsonObject chunk;
    chunk.set("begin", (*first)->begin);
    chunk.set("kind", (*first)->kind);
    chunk.set("records", (*first)->records);
    info.set("first_chunk", std::move(chunk));
  }
  if (!attributes) {
    info.set("metadata_error", to_string(attributes.error()));
  } else if (!knows_metadata) {
    info.set(kMetadataMember, list_of(*attributes));
  }
  if (metadata != nullptr && metadata->varies()) {
    info.set("metadata_scope", "first chunk");
    info.set("metadata_directory_scope", "last chunk");
  }
  return info;
}

Result<std::string> chunk_info(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk) {
  JsonObject info;
  info.set("begin", chunk.begin);
  info.set("end", chunk.end);
  info.set("kind", chunk.kind);
  info.set("codec", chunk.codec);
  info.set("stored", chunk.stored_size);
  info.set("decoded", chunk.payload_size());
  info.set("records", chunk.records);
  const auto verified = store.verify(context, chunk);
  if (!verified && !is_permanent(verified.error().code)) return verified.error();
  info.set("checksum", checksum_state(verified));
  if (!verified) info.set("reason", to_string(verified.error()));
  auto attributes = attributes_at(context, store, chunk);
  if (!attributes) {
    if (!is_permanent(attributes.error().code)) return std::move(attributes).error();
    info.set("metadata_error", to_string(attributes.error()));
  } else if (!attributes->empty()) {
    info.set(kMetadataMember, list_of(*attributes));
  }
  return to_json(info, JsonLayout::kIndented);
}

Result<std::string_view> checksum_of(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk) {
  const auto verified = store.verify(context, chunk);
  if (!verified && !is_permanent(verified.error().code)) return verified.error();
  return checksum_state(verified);
}

void add_totals(JsonObject& info, const RecordStore& store, const PrefixSums& totals,
                const std::vector<DamageRow>& damage) {
  std::uint64_t damaged_bytes = 0;
  for (const DamageRow& row : damage) damaged_bytes += row.region.end - row.region.begin;
  info.set("format", store.traits().format);
  info.set("size", store.source().size());
  info.set("chunks", totals.chunks);
  info.set("records", totals.records);
  info.set("decoded", totals.bytes);
  // What a scan always checks. Damage of payloads is only found by decoding a chunk.
  info.set("damage_scope", "headers");
  info.set("damaged_regions", std::uint64_t{damage.size()});
  info.set("damaged_bytes", damaged_bytes);
}

std::string damage_row(const DamageRow& row, std::uint64_t before) {
  const auto& lost = row.region.records_lost;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", row.region.begin, row.region.end, before + row.first_ordinal,
                     lost ? fmt::format("{}", *lost) : "-", to_string(row.region.damage_class),
                     printable(row.region.reason));
}

std::string damage_table(const std::vector<DamageRow>& damage) {
  std::string table(kDamageColumns);
  for (const DamageRow& row : damage) table += damage_row(row);
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

std::string_view media_type(Bytes first, bool is_all) {
  const std::string_view text = as_text(first);
  const auto magic = std::ranges::find_if(kMagics, [&](const Magic& one) { return text.starts_with(one.bytes); });
  if (magic != kMagics.end()) return magic->type;
  if (!is_plain_text(text, is_all)) return "application/octet-stream";
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  const bool is_json = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
  return is_json ? "application/json" : "text/plain; charset=utf-8";
}

}  // namespace recordfs
