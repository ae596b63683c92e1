// RecordCopier: copies records of a container to an output, in any form (cat, head, tail).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/found_damage.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/record_form.h"
#include "fusefs/commands/scan.h"
#include "fusefs/commands/selection.h"
#include "fusefs/commands/split.h"

namespace recordfs {

// For one container. Not thread-safe. Prints and notes errors as they occur. Each copy() returns false if copying has
// to stop, after an unreadable record that must not be skipped, or a write error.
class RecordCopier {
 public:
  // The arguments must outlive the object.
  RecordCopier(const std::string& path, const RecordStore& store, const FormOptions& options, CommandContext& context,
               Output& output);

  bool copy(const Selection& selection);
  // Copies one record, and reads no more than that needs.
  bool copy(const RecordRef& record, const RecordName& name);
  // Copies the records of the chunks that begin in the split, in file order.
  bool copy(const Split& split);

 private:
  // The wanted records of a chunk.
  struct Share {
    Span which;
    NameOf name;
  };
  // The wanted parts of a scan.
  struct Choice {
    std::function<bool(const DamageRow&)> takes;
    std::function<std::optional<Share>(const IndexedChunk&)> share_of;
  };
  // A chunk's result, made ahead by a worker.
  struct Made {
    ChunkInfo info;
    Share share;
    Result<std::shared_ptr<const Chunk>> chunk;
    Rendered rendered{};
    bool is_made = false;
    bool has_bytes = true;  // as declared by its header
  };

  static Share share_of_all(const IndexedChunk& indexed);
  bool scan_and_copy(const ScanOptions& options, const Choice& choice);
  bool copy_in_file_order(const Split& split);
  Made make(const IndexedChunk& indexed, Share share) const;
  bool write(const Made& made);
  bool write_all(const Made& made);
  bool write_through(const Made& made, Span which);
  bool settle(const Rendered& rendered);
  bool give_up_on(const Error& why);

  const std::string& path_;
  const RecordStore& store_;
  const FormOptions& options_;
  CommandContext& context_;
  Output& output_;
  const RecordText text_;
  FoundDamage damage_;
  bool has_written_ = false;
};

}  // namespace recordfs
