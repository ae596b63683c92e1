#include "core/search/decoded_text.h"

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/decoding/field_names.h"
#include "core/decoding/json_writer.h"
#include "core/search/scalar_fields.h"

namespace recordfs {

namespace {

class NoSink final : public ScalarSink {
 public:
  void take(std::size_t /*field*/, const Scalar& /*value*/) override {}
};

// Passes on values as JSON has them, without quotes.
class TextSink final : public ScalarSink {
 public:
  explicit TextSink(const std::function<void(std::string_view)>& take) : take_(take) {}

  void take(std::size_t /*field*/, const Scalar& value) override {
    std::visit([this](const auto& scalar) { pass_on(scalar); }, value);
  }

 private:
  void pass_on(std::string_view text) { take_(text); }
  template <class Other>
  void pass_on(const Other& value) {
    if constexpr (std::is_arithmetic_v<Other> && !std::is_same_v<Other, bool>) {
      std::string text;
      JsonWriter(text).number(value);
      take_(text.starts_with('"') ? std::string_view(text).substr(1, text.size() - 2) : text);  // NaN or an infinity
    }
  }

  const std::function<void(std::string_view)>& take_;
};

// Returns whether a record without values of the fields can be decoded, and notes it otherwise: a document may have the
// reason instead.
Result<bool> is_decoded(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                        Bytes record, const SearchedFields& fields) {
  static const FieldPaths none({});
  NoSink sink;
  JsonFilter filter(fields.paths != nullptr ? *fields.paths : none, sink);
  const auto visited = decoder.visit(context, chunk, record, filter);
  if (visited) return true;
  if (!UndecodedRecords::is_of_record(visited.error().code)) return visited.error();
  fields.undecoded->note(chunk, fields.path, visited.error());
  return false;
}

}  // namespace

Result<bool> each_decoded_text(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                               Bytes record, const SearchedFields& fields,
                               const std::function<void(std::string_view)>& take) {
  if (fields.paths != nullptr && ScalarFields(fields.paths->fields()).source(context, decoder, fields.path_in_set)) {
    TextSink sink(take);
    const auto visited = visit_fields(context, decoder, chunk, record, fields.path_in_set, *fields.paths, sink);
    if (visited) return true;
    if (!UndecodedRecords::is_of_record(visited.error().code)) return visited.error();
    fields.undecoded->note(chunk, fields.path, visited.error());
    return false;
  }
  std::optional<JsonFilter> filter;
  if (fields.paths != nullptr) filter.emplace(*fields.paths, JsonFilter::Form::kValues);
  auto document = decoder.document(context, chunk, record, JsonLayout::kLine, filter ? &*filter : nullptr);
  if (!document && !UndecodedRecords::is_of_record(document.error().code)) return std::move(document).error();
  if (!filter) {
    if (!document && document.error().code == Code::kNotFound) return true;
    if (!document) return fields.undecoded->note(chunk, fields.path, document.error()), false;
    // A document with this name may have the reason instead of the content.
    if (document->find("\"error\":") != std::string::npos) {
      ASSIGN_OR_RETURN(const bool has_content, is_decoded(context, decoder, chunk, record, fields));
      if (!has_content) return false;
    }
    document->pop_back();
    take(*document);
    return true;
  }
  bool has_values = false;
  if (document) {
    document->pop_back();
    filter->finish();
    note_field_names(context, decoder, chunk, record, *fields.paths);
    filter->each_value(*document, [&](std::string_view value) {
      has_values = true;
      take(value);
    });
  }
  if (has_values) return true;
  return is_decoded(context, decoder, chunk, record, fields);
}

}  // namespace recordfs
