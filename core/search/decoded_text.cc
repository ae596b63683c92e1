#include "core/search/decoded_text.h"

#include <utility>

#include "core/decoding/json_writer.h"
#include "core/decoding/picked_json.h"

namespace recordfs {

Result<std::optional<std::string>> decoded_text(const RequestContext& context, const RecordDecoder& decoder,
                                                const ChunkInfo& chunk, Bytes record, std::string_view field) {
  auto document = decoder.document(context, chunk, record, JsonLayout::kLine);
  if (!document) {
    const Code code = document.error().code;
    if (code == Code::kNotFound || code == Code::kDamage || code == Code::kUnsupported) {
      return std::optional<std::string>();
    }
    return std::move(document).error();
  }
  document->pop_back();
  if (!field.empty()) return json_text_at(*document, field);
  return std::optional(std::move(*document));
}

}  // namespace recordfs
