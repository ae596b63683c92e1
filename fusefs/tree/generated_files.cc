#include "fusefs/tree/generated_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

constexpr std::size_t kLongestShownValue = 4096;
constexpr std::string_view kCodecFact = "codec";
constexpr std::string_view kMetadataFact = "metadata";
// The chunks whose values are shown, if values change along the file.
constexpr std::string_view kFirstChunk = "first chunk";
constexpr std::string_view kLastChunk = "last chunk";
// What a scan always checks. Damage of payloads is only found by decoding a chunk.
constexpr std::string_view kHeaders = "headers";

// Builds JSON text that is a single object.
class Members {
 public:
  Members() { json_.begin_object(); }

  void add(std::string_view name, std::string_view value) { named(name).string(shown(value)); }
  void add(std::string_view name, std::uint64_t value) { named(name).number(value); }
  void add(std::string_view name, bool value) { named(name).literal(value ? "true" : "false"); }
  void add(std::string_view name, std::optional<std::uint64_t> value) {
    if (value) return add(name, *value);
    named(name).literal("null");
  }
  void add(std::string_view name, const std::vector<Attribute>& attributes) {
    named(name).begin_list();
    for (const Attribute& attribute : attributes) add(attribute);
    json_.end_list();
  }
  void begin(std::string_view name) { named(name).begin_object(); }
  void end() { json_.end_object(); }

  std::string finish() {
    end();
    return std::move(text_ += '\n');
  }

 private:
  JsonWriter& named(std::string_view name) {
    json_.name(shown(name));
    return json_;
  }
  void add(const Attribute& attribute) {
    json_.begin_object();
    add("key", attribute.key);
    if (!attribute.type.empty()) add("type", attribute.type);
    add("size", std::uint64_t{attribute.value.size()});
    if (is_text(attribute.value)) add("text", attribute.value);
    end();
  }
  static bool is_text(std::string_view value) {
    return value.size() <= kLongestShownValue && value.find('\0') == std::string_view::npos && is_utf8(value);
  }
  // Replaces each byte that is not UTF-8 by U+FFFD.
  static std::string shown(std::string_view value) {
    std::string text;
    while (!value.empty()) {
      const std::size_t size = utf8_character(value);
      text.append(size > 0 ? value.substr(0, size) : std::string_view("\xEF\xBF\xBD"));
      value.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return text;
  }

  std::string text_;
  JsonWriter json_{text_, JsonLayout::kIndented, UINT64_MAX / 2};
};

// Returns the metadata in effect at a chunk.
Result<std::vector<Attribute>> attributes_at(const RecordStore& store, const ChunkInfo& chunk) {
  if (store.metadata() == nullptr) return std::vector<Attribute>{};
  if (store.metadata()->varies()) return store.metadata()->attributes_at(chunk);
  ASSIGN_OR_RETURN(auto known, store.attributes());
  return *known;
}

std::string_view checksum_state(const Result<Verification>& verified) {
  if (verified) return *verified == Verification::kVerified ? "good" : "none";
  const Code code = verified.error().code;
  return code == Code::kUnsupported || code == Code::kLimit ? "unchecked" : "bad";
}

}  // namespace

Result<std::string> container_info(const RecordStore& store) {
  const Metadata* const metadata = store.metadata();
  auto first = store.index().first_with_records();
  if (!first && !is_permanent(first.error().code)) return std::move(first).error();
  auto attributes = metadata == nullptr ? std::vector<Attribute>{} : metadata->attributes(nullptr);
  if (!attributes && !is_permanent(attributes.error().code)) return std::move(attributes).error();
  Members json;
  json.add("format", store.traits().format);
  bool has_codec = false;
  bool has_metadata = false;
  // Values that are known better than from the file's header replace the fact.
  for (const Fact& fact : store.traits().facts) {
    if (fact.name == kCodecFact && first && *first) {
      json.add(kCodecFact, (*first)->codec);
      has_codec = true;
    } else if (fact.name == kMetadataFact && attributes) {
      json.add(kMetadataFact, *attributes);
      has_metadata = true;
    } else {
      std::visit([&](const auto& value) { json.add(fact.name, value); }, fact.value);
    }
  }
  json.add("size", store.source().size());
  if (first && *first) {
    if (!has_codec) json.add(kCodecFact, (*first)->codec);
    json.begin("first_chunk");
    json.add("begin", (*first)->begin);
    json.add("kind", (*first)->kind);
    json.add("records", (*first)->records);
    json.end();
  }
  if (!attributes) {
    json.add("metadata_error", to_string(attributes.error()));
  } else if (!has_metadata) {
    json.add(kMetadataFact, *attributes);
  }
  if (metadata != nullptr && metadata->varies()) {
    json.add("metadata_scope", kFirstChunk);
    json.add("metadata_directory_scope", kLastChunk);
  }
  return json.finish();
}

Result<std::string> chunk_info(const RecordStore& store, const ChunkInfo& chunk) {
  Members json;
  json.add("begin", chunk.begin);
  json.add("end", chunk.end);
  json.add("kind", chunk.kind);
  json.add("codec", chunk.codec);
  json.add("stored", chunk.stored_size);
  json.add("decoded", chunk.payload_size());
  json.add("records", chunk.records);
  const auto verified = store.verify(chunk);
  if (!verified && !is_permanent(verified.error().code)) return verified.error();
  json.add("checksum", checksum_state(verified));
  if (!verified) json.add("reason", to_string(verified.error()));
  auto attributes = attributes_at(store, chunk);
  if (!attributes) {
    if (!is_permanent(attributes.error().code)) return std::move(attributes).error();
    json.add("metadata_error", to_string(attributes.error()));
  } else if (!attributes->empty()) {
    json.add("metadata", *attributes);
  }
  return json.finish();
}

Result<std::string_view> checksum_of(const RecordStore& store, const ChunkInfo& chunk) {
  const auto verified = store.verify(chunk);
  if (!verified && !is_permanent(verified.error().code)) return verified.error();
  return checksum_state(verified);
}

std::string summary(const RecordStore& store, const PrefixSums& totals, const std::vector<DamageRow>& damage) {
  std::uint64_t damaged_bytes = 0;
  for (const DamageRow& row : damage) damaged_bytes += row.region.end - row.region.begin;
  Members json;
  json.add("format", store.traits().format);
  json.add("size", store.source().size());
  json.add("chunks", totals.chunks);
  json.add("records", totals.records);
  json.add("decoded", totals.bytes);
  json.add("damage_scope", kHeaders);
  json.add("damaged_regions", std::uint64_t{damage.size()});
  json.add("damaged_bytes", damaged_bytes);
  return json.finish();
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
