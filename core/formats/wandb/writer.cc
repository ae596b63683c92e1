#include "core/formats/wandb/writer.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/codec/codec.h"
#include "core/formats/leveldb_log/writer.h"
#include "core/formats/wandb/format.h"

namespace recordfs::wandb {
namespace {

using leveldb_log::LogForm;

// WriterOptions::stored_metadata is the ident, and WriterOptions::stored_layout tells where frames begin.
constexpr std::string_view kFramesBeginAfter = "after the ident";

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer || !options.metadata.empty() || !options.record_type.empty() || options.descriptors) {
    return Error{.code = Code::kUnsupported, .detail = "a run file has no metadata"};
  }
  if (!options.codec.empty() && options.codec != to_string(CodecId::kNone)) {
    return Error{.code = Code::kUnsupported, .detail = "run files are not compressed"};
  }
  std::string ident = options.stored_metadata.empty() ? default_ident() : options.stored_metadata;
  const bool begin_after = options.stored_layout == kFramesBeginAfter;
  LogForm form{.wire = {leveldb_log::Wire::Checksum::kCrc32, false, begin_after ? kIdentSize : 0, kIdentSize},
               .ident = std::move(ident)};
  return leveldb_log::log_writer(sink, std::move(form));
}

// A damaged ident is replaced by that of wandb, whose records are most likely.
Result<WriterOptions> like(const RequestContext& context, const Container& /*container*/, const Source& source) {
  WriterOptions options;
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kIdentSize));
  options.stored_metadata = parse_ident(head.view()) ? std::string(as_text(head.view())) : default_ident();
  ASSIGN_OR_RETURN(const auto wire, find_wire(context, source, Limits().scan_bytes));
  if (wire.origin != 0) options.stored_layout = kFramesBeginAfter;
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "wandb", .open = open_writer, .like = like};

}  // namespace recordfs::wandb
