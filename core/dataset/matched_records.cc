#include "core/dataset/matched_records.h"

#include <utility>

#include "core/dataset/damage_reporter.h"
#include "core/dataset/selected_records.h"
#include "core/search/decoded_text.h"
#include "core/search/wanted_fields.h"

namespace recordfs {

void write_match(JsonWriter& json, const Match& match, std::string_view text, bool has_place, std::string_view where) {
  json.begin_object();
  if (!where.empty()) json.member("in", where);
  if (has_place) {
    json.member("begin", match.begin);
    json.member("end", match.begin + match.size);
  }
  json.bytes("text", "base64", as_bytes(text.substr(match.begin, match.size)));
  json.end_object();
}

ContainerGrep::ContainerGrep(const MatchOptions& options, const SetMember& member, const std::string& name,
                             UndecodedRecords& undecoded)
    : options_(options),
      member_(member),
      name_(name),
      undecoded_(undecoded),
      decoder_(member.store->schema(), member.store->metadata(), options.types),
      fields_(searched_fields()) {}

// Returns the fields that the search and the condition need; nullopt if all may be needed, or will be for the lines.
std::optional<FieldProjection> ContainerGrep::searched_fields() const {
  if (options_.field == nullptr || (options_.is_inverted && options_.wants_lines)) return std::nullopt;
  std::vector<std::string> names = options_.field_names;
  if (options_.condition) {
    const auto& others = options_.condition->condition().names();
    names.insert(names.end(), others.begin(), others.end());
  }
  return wanted_fields({}, *member_.store, options_.types, names);
}

std::optional<std::uint64_t> ContainerGrep::read(Reporter& reporter,
                                                 const std::function<bool(const MatchedChunk& found)>& take) const {
  DamageReporter damage(member_.path, *member_.store, reporter);
  const auto search_step = [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
    if (indexed.chunk.records == 0u) return {};
    // cppcheck-suppress returnDanglingLifetime
    return [&take, found = search_ahead(context, indexed)] { return take(*found); };
  };
  const ProcessBatch search_records = [&](const std::shared_ptr<const ScannedBatch>& batch) -> OrderedResult {
    // cppcheck-suppress returnDanglingLifetime
    return [&take, batch, found = search_in_batch(batch)] {
      found->first_ordinal = batch->before.records;
      return take(*found);
    };
  };
  const bool needs_chunks =
      options_.is_decoded || options_.is_json || options_.wants_context || options_.condition != nullptr;
  // The search for a text is as fast as to copy the records.
  const bool is_light = !needs_chunks && !options_.is_inverted && !options_.matcher.literal().empty();
  return damage.read({.store = *member_.store, .is_light = is_light}, {.threads = reporter.threads()}, search_step,
                     needs_chunks ? ProcessBatch() : search_records);
}

// Thread-safe.
ContainerGrep::Found ContainerGrep::search_ahead(const RequestContext& context, const IndexedChunk& indexed) const {
  auto found = std::make_shared<MatchedChunk>();
  found->first_ordinal = indexed.before.records;
  const RecordStore& store = *member_.store;
  auto chunk = store.chunks().decode_ahead(context, indexed.chunk, fields_ ? &*fields_ : nullptr);
  if (!chunk) {
    found->failures.push_back(std::move(chunk).error());
    return found;
  }
  Search wanted = this->wanted();
  if (options_.condition) wanted.selects = selector(*options_.condition, decoder_, member_);
  if (options_.is_decoded) {
    wanted.texts_of = [this](const ChunkInfo& info, Bytes record, const std::function<void(std::string_view)>& take) {
      const SearchedFields fields{.paths = options_.field.get(),
                                  .undecoded = &undecoded_,
                                  .path = member_.path,
                                  .path_in_set = member_.path_in_set()};
      return each_decoded_text({}, decoder_, info, record, fields, take);
    };
  }
  auto result = search_chunk({}, store, indexed.chunk, **chunk, wanted);
  found->records = std::move(result.records);
  found->failures = result.take_errors();
  if (options_.wants_lines) {
    if (fields_ && !found->records.empty() && may_lack_fields(indexed.chunk, **chunk)) {
      chunk = store.chunks().decode_ahead(context, indexed.chunk);
    }
    if (!chunk) {
      found->records.clear();
      found->failures.push_back(std::move(chunk).error());
      return found;
    }
    make_lines(indexed, **chunk, *found);
    return found;
  }
  const bool is_shown = options_.wants_context || (!found->records.empty() && options_.wants_records);
  if (is_shown) found->chunk = std::move(*chunk);
  if (options_.wants_context) found->info = indexed.chunk;
  return found;
}

// Makes the lines of the selected records. A record that cannot be read any more becomes a failure.
void ContainerGrep::make_lines(const IndexedChunk& indexed, const Chunk& chunk, MatchedChunk& found) const {
  std::erase_if(found.records, [&](const FoundRecord& record) {
    auto line = line_of(indexed, chunk, record);
    if (!line) {
      found.failures.push_back(std::move(line).error());
      return true;
    }
    found.lines.push_back(std::move(*line));
    return false;
  });
}

Result<std::string> ContainerGrep::line_of(const IndexedChunk& indexed, const Chunk& chunk,
                                           const FoundRecord& found) const {
  ASSIGN_OR_RETURN(const auto record, member_.store->records().read({}, chunk, found.index, 0, UINT64_MAX));
  if (!options_.is_json) return decoder_.document({}, indexed.chunk, record.bytes, JsonLayout::kLine);
  const std::uint64_t ordinal = member_.first_ordinal + indexed.before.records + found.index;
  std::string line = json_line_head(ordinal, record.bytes.size(), member_.name, name_);
  if (!options_.is_inverted) write_matches(found, as_text(record.bytes), line);
  if (options_.json.has_record) {
    JsonWriter::in_object(line, JsonWriter::kNoLimit, options_.json.bytes).bytes("text", "base64", record.bytes);
  }
  TRY(append_decoded(line, decoder_, indexed.chunk, record.bytes, options_.json));
  return line += "}\n";
}

// Appends the member with the matches; offsets are in the record's bytes, so those of decoded text have none.
void ContainerGrep::write_matches(const FoundRecord& found, std::string_view record, std::string& line) const {
  auto json = JsonWriter::in_object(line);
  json.name("matches");
  json.begin_list();
  for (const Match& match : found.matches) {
    write_match(json, match, options_.is_decoded ? std::string_view(found.text) : record, !options_.is_decoded);
  }
  json.end_list();
}

// Thread-safe.
ContainerGrep::Found ContainerGrep::search_in_batch(const std::shared_ptr<const ScannedBatch>& batch) const {
  auto found = std::make_shared<MatchedChunk>();
  found->records = search_batch(batch->content, wanted());
  if (!found->records.empty() && options_.wants_records) found->batch = batch;
  return found;
}

Search ContainerGrep::wanted() const {
  return {.matcher = &options_.matcher,
          .is_inverted = options_.is_inverted,
          .wants_matches = options_.wants_matches,
          .most = options_.most,
          .largest_record = options_.largest_record};
}

}  // namespace recordfs
