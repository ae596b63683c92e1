// Lists the records or the chunks of a container in rows (ls).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/dataset/reporter.h"
#include "core/dataset/set_member.h"
#include "core/decoding/record_decoder.h"
#include "core/output/text_output.h"
#include "core/search/record_condition.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"

namespace recordfs {

// What a row is about, and what it has.
struct ListingOptions {
  bool chunks = false;           // rows of chunks, as in index/chunks.tsv of a mount; otherwise of records
  bool json = false;             // each is an object
  bool with_codec = false;       // also codec, kind and bytes of the record's chunk
  bool is_aligned = false;       // in columns for people; otherwise with tabs
  ConditionPointer condition{};  // on which records are listed; null: all
  UserTypes types{};             // for it
};

// Returns the names of the columns of chunks. `has_shards`: the rows name the shard.
std::string chunk_listing_header(const ListingOptions& options, bool has_shards);

// Writes rows about some records of a container, and reports what cannot be read. Returns as SetReader::Take does.
std::optional<std::uint64_t> list_records(const ListingOptions& options, const SetMember& member,
                                          const Selection& selection, Reporter& reporter, TextOutput& output);
// The same for one record, whose ordinal is not counted.
void list_record(const ListingOptions& options, const SetMember& member, const RecordRef& record, Reporter& reporter,
                 TextOutput& output);

}  // namespace recordfs
