#include "core/export/record_listing.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/ordered_pass.h"
#include "core/dataset/selected_records.h"
#include "core/decoding/json_writer.h"
#include "core/store/scanner.h"

namespace recordfs {
namespace {

std::string number_or(const std::optional<std::uint64_t>& number, std::string_view otherwise) {
  return number ? fmt::format("{}", *number) : std::string(otherwise);
}

std::string json_of(const IndexedChunk& indexed, std::string_view shard) {
  const ChunkInfo& chunk = indexed.chunk;
  std::string line;
  JsonWriter json(line);
  json.begin_object();
  if (!shard.empty()) json.path("shard", shard);
  json.member("begin", chunk.begin);
  json.member("end", chunk.end);
  json.member("kind", printable(chunk.kind.word()));
  json.member("codec", printable(chunk.codec));
  json.member("first_ordinal", indexed.before.records);
  json.member("records", chunk.records);
  json.member("stored", chunk.stored_size);
  json.member("decoded", chunk.payload_size());
  json.end_object();
  return line += '\n';
}

// A record to list.
struct ListedRecord {
  const ChunkInfo& chunk;
  std::uint64_t index;
  std::optional<std::uint64_t> ordinal;
  std::optional<std::uint64_t> size;
  const Error* failure;  // why it cannot be read; null: it can
  const SetMember& member;
};

void append_json(std::string& text, const ListedRecord& entry, bool with_codec) {
  const ChunkInfo& chunk = entry.chunk;
  JsonWriter json(text);
  json.begin_object();
  if (entry.ordinal) json.member("ordinal", *entry.ordinal);
  if (!entry.member.name.empty()) json.path("shard", entry.member.name);
  json.member("size", entry.size);
  if (entry.failure != nullptr) json.member("error", printable(to_string(*entry.failure)));
  json.member("chunk", chunk.begin);
  json.member("index", entry.index);
  if (with_codec) {
    json.member("codec", printable(chunk.codec));
    json.member("kind", printable(chunk.kind.word()));
    json.member("end", chunk.end);
  }
  json.end_object();
  text += '\n';
}

// `is_aligned`: in columns for people; otherwise with tabs.
std::string row_of(const ListedRecord& entry, bool with_codec, bool is_aligned) {
  const ChunkInfo& chunk = entry.chunk;
  const std::string ordinal = number_or(entry.ordinal, "-");
  const std::string size = number_or(entry.size, "-");
  const std::string address = entry.member.name.empty()
                                  ? fmt::format("{}/{}", chunk.begin, entry.index)
                                  : fmt::format("{}:@{}/{}", printable(entry.member.name), chunk.begin, entry.index);
  std::string row = is_aligned ? fmt::format("{:>9} {:>11}  {:<{}}", ordinal, size, address, with_codec ? 20 : 0)
                               : fmt::format("{}\t{}\t{}", ordinal, size, address);
  if (with_codec) {
    row += is_aligned ? fmt::format(" {:<8} {:<12} ", chunk.codec, chunk.kind.word())
                      : fmt::format("\t{}\t{}\t", chunk.codec, chunk.kind.word());
    row += fmt::format("{}-{}", chunk.begin, chunk.end);
  }
  return row + "\n";
}

void append_number(std::string& text, std::uint64_t number, char after) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
  text += after;
}

// Appends row_of() of a readable record of a single file, with tabs. A small file may have millions of rows.
void append_plain_row(std::string& text, std::uint64_t ordinal, std::uint64_t size, Position chunk,
                      std::uint64_t index) {
  append_number(text, ordinal, '\t');
  append_number(text, size, '\t');
  append_number(text, chunk, '/');
  append_number(text, index, '\n');
}

// Returns a row of index/chunks.tsv for people. A shard's name, which may precede it, is at the end.
std::string in_columns(std::string_view row, bool has_shard) {
  constexpr std::array kWidths = {10, 10, 9, 6, 13, 7, 9, 7};
  std::string shard;
  if (has_shard) {
    shard = row.substr(0, row.find('\t'));
    row.remove_prefix(shard.size() + 1);
  }
  std::string columns;
  for (const int width : kWidths) {
    const std::size_t end = std::min(row.find_first_of("\t\n"), row.size());
    columns += fmt::format("{:<{}} ", row.substr(0, end), width);
    row.remove_prefix(std::min(end + 1, row.size()));
  }
  columns += shard;
  columns.erase(columns.find_last_not_of(' ') + 1);
  return columns += '\n';
}

class Listing {
 public:
  Listing(const ListingOptions& options, const SetMember& member, Reporter& reporter, TextOutput& output)
      : options_(options),
        member_(member),
        store_(*member.store),
        reporter_(reporter),
        output_(output),
        decoder_(store_.schema(), store_.metadata(), options.types),
        damage_(member.path, store_, reporter) {}

  // Returns as SetReader::Take does.
  std::optional<std::uint64_t> list(const Selection& selection) {
    if (options_.condition) return list_selected(selection);
    return damage_.read({.store = store_, .selection = selection}, {.threads = reporter_.threads(), .decodes = false},
                        [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
                          const OrdinalInterval which = selection.within(indexed);
                          if (options_.chunks || which.end - which.begin <= kRowsAtOnce) {
                            return [this, text = text_of(context, indexed, selection)] { return write(text); };
                          }
                          return [this, indexed, which, layout = layout_of(context, store_, indexed.chunk)] {
                            return write_in_pieces(layout, indexed, which);
                          };
                        });
  }

  void list(const RecordRef& record) {
    const IndexedChunk indexed{.chunk = record.chunk, .before = {}};
    if (options_.condition) {
      write_selected(selected_in({}, indexed, {.begin = record.index, .end = record.index + 1}), indexed, false);
      return;
    }
    write(records_of({}, indexed, {.begin = record.index, .end = record.index + 1}, false));
  }

 private:
  using KnownLayout = Result<std::shared_ptr<const Layout>>;
  static constexpr std::uint64_t kRowsAtOnce = 64u << 10;

  // The records that the condition selects in a chunk.
  struct Selected {
    KnownLayout layout;
    SelectedRecords records;
  };

  std::optional<std::uint64_t> list_selected(const Selection& selection) {
    return damage_.read({.store = store_, .selection = selection}, {.threads = reporter_.threads()},
                        [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
                          const OrdinalInterval which = selection.within(indexed);
                          if (which.is_empty()) return {};
                          return [this, indexed, selected = selected_in(context, indexed, which)] {
                            return write_selected(selected, indexed, true);
                          };
                        });
  }

  // Thread-safe.
  Selected selected_in(const RequestContext& context, const IndexedChunk& indexed, OrdinalInterval which) {
    const auto chunk = store_.chunks().decode_ahead(context, indexed.chunk);
    if (!chunk) return {.layout = chunk.error(), .records = {.failures = {chunk.error()}}};
    return {.layout = std::shared_ptr<const Layout>(*chunk, &(*chunk)->layout()),
            .records = select_records(*options_.condition, decoder_, member_, indexed.chunk, **chunk, which, false)};
  }

  // Writes the rows, and reports what cannot be read.
  bool write_selected(const Selected& selected, const IndexedChunk& indexed, bool is_counted) {
    for (const Error& failure : selected.records.failures) reporter_.report(store_, failure);
    return std::ranges::all_of(selected.records.runs, [&](const OrdinalInterval& run) {
      return write_in_pieces(selected.layout, indexed, run, is_counted);
    });
  }

  std::string text_of(const RequestContext& context, const IndexedChunk& indexed, const Selection& selection) {
    const OrdinalInterval which = selection.within(indexed);
    if (!options_.chunks) return which.is_empty() ? "" : records_of(context, indexed, which, true);
    if (which.is_empty() && !selection.lies_inside(indexed.before.records)) return "";
    IndexedChunk in_set = indexed;
    in_set.before.records += member_.first_ordinal;
    if (options_.json) return json_of(in_set, member_.name);
    const std::string row =
        member_.name.empty() ? chunk_row(in_set) : printable(member_.name) + '\t' + chunk_row(in_set);
    return options_.is_aligned ? in_columns(row, !member_.name.empty()) : row;
  }

  // Returns the rows of some records. `is_counted`: indexed.before is valid. Thread-safe.
  std::string records_of(const RequestContext& context, const IndexedChunk& indexed, OrdinalInterval which,
                         bool is_counted) {
    return records_of(layout_of(context, store_, indexed.chunk), indexed, which, is_counted);
  }
  std::string records_of(const KnownLayout& layout, const IndexedChunk& indexed, OrdinalInterval which,
                         bool is_counted) {
    if (!layout) reporter_.note(layout.error());
    const bool is_plain = is_counted && layout && !(*layout)->has_failures() && !options_.json &&
                          !options_.with_codec && !options_.is_aligned && member_.name.empty();
    const std::uint64_t first = member_.first_ordinal + indexed.before.records;
    std::string text;
    for (std::uint64_t i = which.begin; i < which.end; ++i) {
      if (is_plain) {
        append_plain_row(text, first + i, (*layout)->extent(i).size, indexed.chunk.begin, i);
        continue;
      }
      const Error* failure = layout ? (*layout)->failure(i) : &layout.error();
      if (layout && failure != nullptr) reporter_.report(store_, *failure);
      ListedRecord entry{
          .chunk = indexed.chunk, .index = i, .ordinal = {}, .size = {}, .failure = failure, .member = member_};
      if (is_counted) entry.ordinal = first + i;
      if (failure == nullptr) entry.size = (*layout)->extent(i).size;
      if (options_.json) {
        append_json(text, entry, options_.with_codec);
      } else {
        text += row_of(entry, options_.with_codec, options_.is_aligned);
      }
    }
    return text;
  }

  // Writes the rows of a chunk with many records, whose text would need much memory.
  bool write_in_pieces(const KnownLayout& layout, const IndexedChunk& indexed, OrdinalInterval which,
                       bool is_counted = true) {
    for (OrdinalInterval piece = which; piece.begin < which.end; piece.begin = piece.end) {
      piece.end = std::min(which.end, piece.begin + kRowsAtOnce);
      if (!write(records_of(layout, indexed, piece, is_counted))) return false;
    }
    return true;
  }

  bool write(const std::string& text) {
    output_.write(text);
    // Shows the first lines without delay.
    if (!text.empty() && !std::exchange(has_written_, true)) output_.flush();
    return output_.good();
  }

  const ListingOptions& options_;
  const SetMember& member_;
  const RecordStore& store_;
  Reporter& reporter_;
  TextOutput& output_;
  const RecordDecoder decoder_;
  DamageReporter damage_;
  bool has_written_ = false;
};

}  // namespace

std::string chunk_listing_header(const ListingOptions& options, bool has_shards) {
  const std::string header = has_shards ? "shard\t" + chunk_rows_header() : chunk_rows_header();
  return options.is_aligned ? in_columns(header, has_shards) : header;
}

std::optional<std::uint64_t> list_records(const ListingOptions& options, const SetMember& member,
                                          const Selection& selection, Reporter& reporter, TextOutput& output) {
  return Listing(options, member, reporter, output).list(selection);
}

void list_record(const ListingOptions& options, const SetMember& member, const RecordRef& record, Reporter& reporter,
                 TextOutput& output) {
  Listing(options, member, reporter, output).list(record);
}

}  // namespace recordfs
