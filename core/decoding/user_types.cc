#include "core/decoding/user_types.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/descriptor_set.h"

namespace recordfs {
namespace {

Error not_found(std::string why) { return {.code = Code::kNotFound, .detail = std::move(why)}; }

}  // namespace

Result<UserTypes> user_types(std::string descriptors, std::string type) {
  ASSIGN_OR_RETURN(const auto set, read_descriptor_set(as_bytes(descriptors)));
  if (type.starts_with('.')) type.erase(0, 1);
  if (type.empty()) {
    if (set.types_at_top.empty()) return not_found("contains no message type");
    if (set.types_at_top.size() > 1) {
      return not_found(
          fmt::format("contains {} message types (specify the type of the records)", set.types_at_top.size()));
    }
    type = set.types_at_top.front();
  }
  if (!set.has_type(type)) return not_found(fmt::format("contains no message type {}", printable(type)));
  return UserTypes{std::make_shared<const std::string>(std::move(descriptors)), std::move(type)};
}

}  // namespace recordfs
