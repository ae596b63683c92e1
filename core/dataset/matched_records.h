// Searches the records of a container, and makes what is wanted of those that are selected.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dataset/reporter.h"
#include "core/dataset/set_member.h"
#include "core/decoding/json_filter.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/record_decoder.h"
#include "core/formats/field_projection.h"
#include "core/search/record_condition.h"
#include "core/search/record_matcher.h"
#include "core/search/record_search.h"
#include "core/search/undecoded_records.h"
#include "core/store/json_line.h"
#include "core/store/parallel_scan.h"
#include "core/store/record_store.h"

namespace recordfs {

// What is searched, and what is wanted of the selected records.
struct MatchOptions {
  const RecordMatcher& matcher;
  bool is_inverted = false;
  bool wants_matches = false;  // where they are
  bool wants_records = false;  // the chunks or batches that have them
  bool wants_context = false;  // all chunks
  bool wants_lines = false;    // JSON: the decoded content, or as of `cat --json`
  bool is_json = false;        // the latter, with matches
  bool is_decoded = false;     // searches the decoded content
  std::vector<std::string> field_names{};
  std::shared_ptr<const FieldPaths> field{};  // in the decoded content; null: all of it
  JsonLineOptions json{};
  ConditionPointer condition{};  // null: all records are searched
  UserTypes types{};
  std::uint64_t most = UINT64_MAX;            // records of a chunk
  std::uint64_t largest_record = UINT64_MAX;  // bytes
};

// The selected records of a chunk, or of a batch.
struct MatchedChunk {
  std::shared_ptr<const Chunk> chunk{};         // null if nothing of it is shown
  std::shared_ptr<const ScannedBatch> batch{};  // the same
  std::optional<ChunkInfo> info{};              // of the chunk, if records around the selected ones are shown
  std::uint64_t first_ordinal = 0;              // in its file
  std::vector<FoundRecord> records{};
  std::vector<std::string> lines{};  // that are shown for the records, if they are made from JSON
  std::vector<Error> failures{};     // of the chunk, or of its records

  std::uint64_t size_of(std::uint64_t index) const {
    return batch ? batch->content.records[index].size() : chunk->layout().extent(index).size;
  }
};

// Writes a match in a text as JSON. `has_place`: with its offsets in the text. `where`: what the text is; may be empty.
void write_match(JsonWriter& json, const Match& match, std::string_view text, bool has_place,
                 std::string_view where = {});

// The search in one container.
class ContainerGrep {
 public:
  // `name` is that of the file or data set in lines of JSON. Notes in `undecoded` what `options.field` cannot search.
  // The arguments must outlive the object.
  ContainerGrep(const MatchOptions& options, const SetMember& member, const std::string& name,
                UndecodedRecords& undecoded);

  // Passes on the selected records of each chunk, in order, until `take` returns false. Reports damage. Returns as
  // DamageReporter::read().
  std::optional<std::uint64_t> read(Reporter& reporter,
                                    const std::function<bool(const MatchedChunk& found)>& take) const;

 private:
  using Found = std::shared_ptr<MatchedChunk>;
  std::optional<FieldProjection> searched_fields() const;
  Found search_ahead(const RequestContext& context, const IndexedChunk& indexed) const;
  Found search_in_batch(const std::shared_ptr<const ScannedBatch>& batch) const;
  void make_lines(const IndexedChunk& indexed, const Chunk& chunk, MatchedChunk& found) const;
  Result<std::string> line_of(const IndexedChunk& indexed, const Chunk& chunk, const FoundRecord& found) const;
  void write_matches(const FoundRecord& found, std::string_view record, std::string& line) const;
  Search wanted() const;

  const MatchOptions& options_;
  const SetMember& member_;
  const std::string& name_;
  UndecodedRecords& undecoded_;
  const RecordDecoder decoder_;
  const std::optional<FieldProjection> fields_;  // that the search needs; nullopt: all
};

}  // namespace recordfs
