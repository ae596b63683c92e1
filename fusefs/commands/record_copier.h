// RecordCopier records of a container to an output, in whatever form: what cat, head and tail do.
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

// For one container, one thread. What is wrong is said and noted as it is met. Each function returns false when nothing
// more is to be copied: a record could not be read and is not to be left out, or nothing more can be written.
class RecordCopier {
 public:
  // What is given has to outlive the object.
  RecordCopier(const std::string& path, const RecordStore& store, const FormOptions& options, CommandContext& context,
               Output& output);

  bool copy(const Selection& selection);
  // One record, of which nothing is read that can be left aside.
  bool copy(const RecordRef& record, const RecordName& name);
  // The records of the chunks that begin in the split, in the order of the file.
  bool copy(const Split& split);

 private:
  // What is wanted of a chunk.
  struct Share {
    Span which;
    NameOf name;
  };
  // What is wanted of a scan.
  struct Choice {
    std::function<bool(const DamageRow&)> takes;
    std::function<std::optional<Share>(const IndexedChunk&)> share_of;
  };
  // What was made of a chunk by who worked ahead.
  struct Made {
    ChunkInfo info;
    Share share;
    Result<std::shared_ptr<const Chunk>> chunk;
    Rendered rendered{};
    bool is_made = false;
    bool has_bytes = true;  // by what its header declares
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
