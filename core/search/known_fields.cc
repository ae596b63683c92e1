#include "core/search/known_fields.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/decoding/message_schema.h"
#include "core/decoding/record_decoder.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint32_t kMostGroups = 100;       // inside each other
constexpr std::uint64_t kMostJudged = 1024;      // records
constexpr std::uint64_t kMostBytes = 16u << 20;  // of a record

enum class Fields : std::uint8_t { kNone, kInvalid, kUnknown, kKnown };

bool is_known(const std::vector<MessageField>& type, const protobuf::Field& field) {
  return std::ranges::any_of(type, [&field](const MessageField& known) {
    const bool may_be_packed = known.is_repeated && field.type == WireType::kLengthDelimited;
    return known.number == field.number && (wire_type_of(known) == field.type || may_be_packed);
  });
}

// Returns which fields a record has. kInvalid: it is not a message.
Fields fields_of(const std::vector<MessageField>& type, Bytes record) {
  MessageReader reader(record, kMostGroups);
  Fields found = Fields::kNone;
  while (reader.next() && found != Fields::kKnown) {
    found = is_known(type, reader.field()) ? Fields::kKnown : Fields::kUnknown;
  }
  return found == Fields::kKnown || reader.finish() ? found : Fields::kInvalid;
}

}  // namespace

Result<void> check_known_fields(const RequestContext& context, const RecordStore& store, const UserTypes& types) {
  const std::string_view name = type_of_records(types, store.schema(), store.metadata());
  if (name.empty() || types.descriptors == nullptr) return {};
  const auto type = message_schema(as_bytes(*types.descriptors), name);
  const auto first = wait_for(context, [&] { return store.index().first_with_records(context); });
  if (!type || type->empty() || !first || !*first) return {};
  const auto chunk = store.chunks().decode_ahead(context, **first);  // others may need only some fields of it
  if (!chunk) return {};
  bool has_unknown = false;
  const Layout& layout = (*chunk)->layout();
  for (std::uint64_t i = 0; i < std::min(layout.records(), kMostJudged); ++i) {
    const Extent extent = layout.extent(i);
    if (layout.failure(i) != nullptr || extent.size == 0 || extent.size > kMostBytes) continue;
    const auto record = store.chunks().read(context, **chunk, extent.begin, extent.size);
    const Fields fields = record ? fields_of(*type, record->bytes) : Fields::kNone;
    if (fields == Fields::kKnown || fields == Fields::kInvalid) return {};
    has_unknown = has_unknown || fields == Fields::kUnknown;
  }
  if (!has_unknown) return {};
  return Error{.code = Code::kUnsupported,
               .detail = fmt::format("no field of the first records is one of {}", printable(name))};
}

}  // namespace recordfs
