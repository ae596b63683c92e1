#include "core/search/decoded_text.h"

#include <optional>
#include <utility>

#include "core/decoding/field_names.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

Result<void> each_decoded_text(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                               Bytes record, const FieldPaths* fields,
                               const std::function<void(std::string_view)>& take) {
  std::optional<JsonFilter> filter;
  if (fields != nullptr) filter.emplace(*fields, JsonFilter::Form::kValues);
  auto document = decoder.document(context, chunk, record, JsonLayout::kLine, filter ? &*filter : nullptr);
  if (!document) {
    const Code code = document.error().code;
    const bool is_of_record = code == Code::kNotFound || code == Code::kDamage || code == Code::kUnsupported;
    if (!is_of_record) return std::move(document).error();
    if (fields != nullptr) fields->note({});
    return {};
  }
  document->pop_back();
  if (filter) {
    filter->finish();
    note_field_names(context, decoder, chunk, record, *fields);
    filter->each_value(*document, take);
  } else {
    take(*document);
  }
  return {};
}

}  // namespace recordfs
