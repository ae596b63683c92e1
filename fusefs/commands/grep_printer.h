// GrepPrinter: what grep prints of the records that it selects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/matched_records.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/grep_options.h"
#include "fusefs/commands/record_options.h"

namespace recordfs {

// Writes to the output of `context`. Not thread-safe.
class GrepPrinter {
 public:
  // The arguments must outlive the object.
  GrepPrinter(const GrepOptions& options, CommandContext& context);

  // Begins a file, or a shard of a data set. `name` precedes its lines. The arguments must outlive its records.
  void begin(const SetMember& member, const std::string& name);
  // Writes the next `selected` records of a chunk, and those around them that are wanted (-A, -B, -C).
  void show(const MatchedChunk& found, std::size_t selected);
  // Returns whether records after those that were shown are wanted.
  bool wants_more() const { return next_ < end_of_context_; }

  // Write the line of a file's name (-l, -L), and of its number of selected records (-c).
  void write_file(const std::string& path);
  void write_count(const std::string& name, std::uint64_t selected);
  // Returns the name of a file with what follows it on its lines; nothing if names are not wanted.
  std::string prefix(const std::string& name, char after = ':') const;
  // Write bytes, so that they are safe for a terminal, and what ends a line after the byte `last`; 0: there is none.
  void write_text(Bytes bytes);
  void write_end(std::byte last);

 private:
  // A chunk that was shown. It is decoded again if its records precede a selected one.
  struct PassedChunk {
    ChunkInfo info;
    OrdinalInterval ordinals;
  };

  void show_selected(const MatchedChunk& found, std::size_t place);
  void show_matches(const MatchedChunk& found, const FoundRecord& record);
  void show_around(const MatchedChunk& found, std::uint64_t ordinal);
  void show_passed(const PassedChunk& passed, std::uint64_t begin, std::uint64_t end);
  void show_context(const MatchedChunk& found, std::uint64_t begin, std::uint64_t end);
  void remember(const MatchedChunk& found);

  // Write the bytes of a record, with the matches highlighted, and what ends it.
  void write_record(const MatchedChunk& found, std::uint64_t index, const std::vector<Match>& matches);
  std::byte write_bytes(const MatchedChunk& found, std::uint64_t index, std::uint64_t at, std::uint64_t size);
  void write_prefix(const MatchedChunk& found, std::uint64_t index, char after);
  // Write in a color, if colors are wanted, which is a number of the escape sequence SGR.
  template <class Write>
  void write_colored(std::string_view color, const Write& write);
  std::string colored(std::string_view color, std::string_view text) const;

  const GrepOptions& options_;
  const Show show_;
  CommandContext& context_;
  Output& output_;
  const bool is_terminal_;
  const bool has_colors_;
  const SetMember* member_ = nullptr;
  const std::string* name_ = nullptr;
  std::deque<PassedChunk> recent_;    // with the records before the next chunk, as far as -B needs them
  bool has_shown_ = false;            // any record of any file
  bool is_adjacent_ = false;          // the record before next_ was shown
  std::uint64_t next_ = 0;            // ordinal in the file after the last record that was shown
  std::uint64_t end_of_context_ = 0;  // ordinals before it are shown after a selected record
};

}  // namespace recordfs
