#include "fusefs/commands/ls.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/command_context.h"
#include "fusefs/commands/found_damage.h"
#include "fusefs/commands/listing_rows.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/range_option.h"
#include "fusefs/commands/scan.h"
#include "fusefs/commands/selection.h"

namespace recordfs {
namespace {

struct LsOptions {
  ReadingOptions reading;
  std::string file;
  std::optional<NamedRange> range;
  bool chunks = false;
  bool json = false;
  bool with_codec = false;
};

// Returns the record sizes of a chunk, and avoids decoding it if the format can.
Result<std::shared_ptr<const Layout>> layout_of(const RecordStore& store, const ChunkInfo& chunk) {
  if (chunk.layout_cost == LayoutCost::kSmall) return store.chunks().layout(chunk);
  ASSIGN_OR_RETURN(auto decoded, store.chunks().decode_uncached(chunk));
  return std::shared_ptr<const Layout>(decoded, &decoded->layout());
}

class Listing {
 public:
  Listing(const LsOptions& options, const RecordStore& store, CommandContext& context, Output& output)
      : options_(options),
        store_(store),
        context_(context),
        output_(output),
        rows_({.is_json = options.json, .is_aligned = ::isatty(STDOUT_FILENO) == 1, .with_codec = options.with_codec}),
        damage_(options.file, store, context) {}

  void list(const Selection& selection) {
    if (options_.chunks && !options_.json) output_.write(chunk_rows_header());
    if (selection.is_empty()) return;
    ScanOptions options;
    options.from = selection.from;
    options.threads = context_.threads();
    options.end_record = selection.records.end;
    const auto scanned = scan(store_, options, [&](const ScannedStep& step) -> Finish {
      std::string text = step.indexed ? text_of(*step.indexed, selection) : "";
      return [this, &selection, damage = step.damage, text = std::move(text)] {
        for (const DamageRow& row : damage) {
          if (selection.lies_inside(row.first_ordinal)) damage_.add(row.region);
        }
        return write(text);
      };
    });
    damage_.finish();
    if (!scanned) context_.print_failure(options_.file, scanned.error());
  }

  void list(const RecordRef& record) {
    const IndexedChunk indexed{.chunk = record.chunk, .before = {}};
    write(records_of(indexed, {.begin = record.index, .end = record.index + 1}, false));
  }

 private:
  std::string text_of(const IndexedChunk& indexed, const Selection& selection) {
    const Span which = selection.within(indexed);
    if (options_.chunks) {
      const bool is_selected = which.begin < which.end || selection.lies_inside(indexed.before.records);
      return is_selected ? rows_.of_chunk(indexed) : "";
    }
    return which.begin < which.end ? records_of(indexed, which, true) : "";
  }

  // Returns the rows of some records. Thread-safe.
  std::string records_of(const IndexedChunk& indexed, Span which, bool is_counted) {
    const auto layout = layout_of(store_, indexed.chunk);
    if (!layout) context_.note(layout.error());
    std::string text;
    for (std::uint64_t i = which.begin; i < which.end; ++i) {
      const Error* failure = layout ? (*layout)->failure(i) : &layout.error();
      if (layout && failure != nullptr) {
        context_.note(*failure);
        store_.log().report(*failure);
      }
      const std::uint64_t size = failure == nullptr ? (*layout)->extent(i).size : 0;
      text += rows_.of_record(indexed, i, is_counted, failure == nullptr ? Result<std::uint64_t>(size) : *failure);
    }
    return text;
  }

  bool write(const std::string& text) {
    output_.write(text);
    // Shows the first lines without delay.
    if (!text.empty() && !std::exchange(has_written_, true)) output_.flush();
    return output_.good();
  }

  const LsOptions& options_;
  const RecordStore& store_;
  CommandContext& context_;
  Output& output_;
  const ListingRows rows_;
  FoundDamage damage_;
  bool has_written_ = false;
};

// Fails if the range cannot be found.
Result<void> list_range(const NamedRange& named, const LsOptions& options, const RecordStore& store, Listing& listing) {
  if (const auto* address = std::get_if<RecordAddress>(&named.range)) {
    if (options.chunks) return Error{.code = Code::kNotFound, .detail = "--chunks takes no @OFFSET/INDEX"};
    ASSIGN_OR_RETURN(const auto record, find(*address, store));
    listing.list(record);
    return {};
  }
  const auto& range = std::get<OrdinalRange>(named.range);
  ASSIGN_OR_RETURN(const auto selection, named.is_one ? select_one(range, store) : select(range, store));
  listing.list(selection);
  return {};
}

int ls(const LsOptions& options) {
  CommandContext context(options.reading);
  const auto store = context.open(options.file);
  if (!store) return context.status();
  Output output(STDOUT_FILENO);
  Listing listing(options, *store, context, output);
  if (!options.range) {
    listing.list(everything());
  } else if (auto listed = list_range(*options.range, options, *store, listing); !listed) {
    context.print_failure(options.file, listed.error());
  }
  context.note(output.finish());
  return context.status();
}

}  // namespace

std::function<int()> declare_ls(CLI::App& app) {
  const auto options = std::make_shared<LsOptions>();
  app.add_option("FILE", options->file, "a container")->required()->type_name("");
  declare_range(app, options->range);
  app.add_flag("-l", options->with_codec,
               "also print the codec and kind of the chunk, and its range of bytes in the file");
  app.add_flag("--chunks", options->chunks, "print one line per chunk, as in index/chunks.tsv of a mount");
  app.add_flag("--json", options->json, "print one JSON object per record or chunk");
  options->reading.declare(app);
  app.footer(std::string(kRangeHelp) +
             "\nPrints ordinal, size in bytes, and chunk/index: the start of the record's chunk, and its index in it.\n"
             "Fields are separated by tabs if the output is not a terminal. An unreadable record has the size - (exit\n"
             "status 4).");
  return [options] { return ls(*options); };
}

}  // namespace recordfs
