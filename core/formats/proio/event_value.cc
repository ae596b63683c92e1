#include "core/formats/proio/event_value.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/formats/proio/event.h"

namespace recordfs::proio {
namespace {

constexpr std::uint64_t kFixedValues = 4;
constexpr std::uint64_t kMostOfTag = 3;  // without its ids
constexpr std::uint64_t kOfEntry = 3;

std::uint64_t most_values_of(const Event& event) {
  return kFixedValues + kMostOfTag * event.tags.size() + event.ids.size() + kOfEntry * event.entries.size();
}

// Does not use an initializer list, which would copy. If such a copy runs out of memory, g++ 12 destroys elements that
// were not constructed.
Value object_of(Member first, Member second) {
  Value::Object members;
  members.reserve(2);
  members.push_back(std::move(first));
  members.push_back(std::move(second));
  return {std::move(members)};
}

Value ids_of(const EventTag& tag, const Event& event) {
  Value::List ids;
  ids.reserve(static_cast<std::size_t>(tag.ids.size));
  for (std::uint64_t i = tag.ids.begin; i < tag.ids.begin + tag.ids.size; ++i) {
    ids.emplace_back().is.emplace<std::uint64_t>(event.ids[static_cast<std::size_t>(i)]);
  }
  return {std::move(ids)};
}

// Returns a tag whose name is not UTF-8.
Value value_of(const EventTag& tag, const Event& event) {
  return object_of({"tag", {as_bytes(tag.key)}}, {"ids", ids_of(tag, event)});
}

Value value_of(const EventEntry& entry, const Event& event, Bytes bytes) {
  const Bytes payload =
      bytes.subspan(static_cast<std::size_t>(entry.payload.begin), static_cast<std::size_t>(entry.payload.size));
  return object_of({"id", {entry.key}}, {"", {Message{event.message_type(entry), payload}}});
}

}  // namespace

Result<Value> value_of_event(Bytes bytes, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto event, read_event(bytes, limits));
  if (most_values_of(event) > limits.parts_per_record) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("the event has more than {} values", limits.parts_per_record)};
  }
  Value::Object tags;
  Value::List other_tags;
  tags.reserve(event.tags.size());
  for (const EventTag& tag : event.tags) {
    if (is_utf8(tag.key)) {
      tags.push_back({tag.key, ids_of(tag, event)});
    } else {
      other_tags.push_back(value_of(tag, event));
    }
  }
  Value::List entries;
  entries.reserve(event.entries.size());
  for (const EventEntry& entry : event.entries) entries.push_back(value_of(entry, event, bytes));
  Value::Object members;
  members.push_back({"tags", {std::move(tags)}});
  if (!other_tags.empty()) members.push_back({"other_tags", {std::move(other_tags)}});
  members.push_back({"entries", {std::move(entries)}});
  return Value{std::move(members)};
}

}  // namespace recordfs::proio
