#include "core/search/decoded_text.h"

#include <utility>

#include "core/decoding/json_writer.h"

namespace recordfs {

Result<void> each_decoded_text(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                               Bytes record, const FieldPaths* fields,
                               const std::function<void(std::string_view)>& take) {
  auto document = decoder.document(context, chunk, record, JsonLayout::kLine);
  if (!document) {
    const Code code = document.error().code;
    const bool is_of_record = code == Code::kNotFound || code == Code::kDamage || code == Code::kUnsupported;
    if (!is_of_record) return std::move(document).error();
    if (fields != nullptr) fields->look_at_nothing();
    return {};
  }
  document->pop_back();
  if (fields != nullptr) {
    fields->each_value(*document, take);
  } else {
    take(*document);
  }
  return {};
}

}  // namespace recordfs
