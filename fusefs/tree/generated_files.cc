#include "fusefs/tree/generated_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/file_names.h"

namespace recordfs {
namespace {

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

Result<std::string> chunk_info(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk) {
  JsonObject info;
  info.set("begin", chunk.begin);
  info.set("end", chunk.end);
  info.set("kind", chunk.kind.word());
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
    info.set("metadata", list_of(*attributes));
  }
  return to_json(info, JsonLayout::kIndented);
}

Result<std::string_view> checksum_of(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk) {
  const auto verified = store.verify(context, chunk);
  if (!verified && !is_permanent(verified.error().code)) return verified.error();
  return checksum_state(verified);
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
