// How records are written: what stands around each of them, or what it becomes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"
#include "fusefs/commands/json_lines.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/range.h"

namespace CLI {
class App;
}

namespace recordfs {

enum class RecordForm : std::uint8_t {
  kBytes,      // one directly behind the other
  kLines,      // a newline behind each
  kNull,       // a NUL behind each
  kDelimited,  // its length before each, as a varint: protobuf's delimited messages
  kJson,       // json_lines.h
  kShown,  // for a terminal: a line each, in which all that does not print is escaped; one newline at the end is not
};

struct FormOptions {
  RecordForm form = RecordForm::kBytes;
  bool skips_damage = false;  // leaves out what can't be read
  UserTypes types{};          // of the records, for kJson

  // Declares them on `app`; the object has to outlive its parsing.
  void declare(CLI::App& app);

 private:
  void declare_types(CLI::App& app);

  std::string descriptors_;  // a file
  std::string type_;
};

// The name of the chunk's record at an index.
using NameOf = std::function<RecordName(std::uint64_t index)>;

// What is left to do of a run of records in the order of the container: text to write, and then what was wrong.
struct Rendered {
  std::string text;
  std::vector<Error> failures;      // without a log line so far
  bool is_over = false;             // a failure ends it all
  Span rest{.begin = 0, .end = 0};  // records that are left, by their index: there was no room for their text
};

// The records of one chunk in a form. Its functions may be called from any thread.
class RecordText {
 public:
  RecordText(const RecordStore& store, const FormOptions& options)
      : store_(store), options_(options), decoder_(store.container(), options.types) {}

  // Whether the text is to be made in memory, by whoever has the time; otherwise it is written as it is made, because
  // it is large, or because it is nothing but the bytes.
  bool is_made_ahead(const Chunk& chunk) const;

  // The text of the records with indices [which.begin, which.end); the rest of them is over with the first that can't
  // be read, unless these are left out. REQUIRES: the chunk has these records.
  Rendered render(const ChunkInfo& info, const Chunk& chunk, Span which, const NameOf& name) const;
  // The same, written to `output` and not kept, up to when nothing more can be written.
  Rendered write(const ChunkInfo& info, const Chunk& chunk, Span which, const NameOf& name, Output& output) const;

 private:
  class RecordPrinter;

  const RecordStore& store_;
  const FormOptions options_;
  const RecordDecoder decoder_;
};

}  // namespace recordfs
