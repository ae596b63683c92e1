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
    if (set.types_at_top.empty()) return not_found("no message type is in it");
    if (set.types_at_top.size() > 1) {
      return not_found(fmt::format("{} message types are in it: which one the records have has to be said",
                                   set.types_at_top.size()));
    }
    type = set.types_at_top.front();
  }
  if (!set.has_type(type)) return not_found(fmt::format("no message type {} is in it", printable(type)));
  return UserTypes{std::make_shared<const std::string>(std::move(descriptors)), std::move(type)};
}

}  // namespace recordfs
