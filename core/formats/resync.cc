#include "core/formats/resync.h"

namespace recordfs {

Result<ResyncResult> resync(const RequestContext& context, WindowedReader& windows, Position from,
                            const ResyncRules& rules) {
  const Position size = windows.source().size();
  for (Position at = from; at < size && size - at >= rules.size;) {
    if (at > from && rules.is_spent(at)) return ResyncResult{ResyncResult::Kind::kLater, at};
    ASSIGN_OR_RETURN(const auto bytes, windows.from(context, at, rules.size));
    const std::size_t offset = rules.find(bytes);
    if (offset > bytes.size() - rules.size) {
      ASSIGN_OR_RETURN(const auto data, data_after_hole(context, windows.source(), at + bytes.size(), bytes));
      at = data - (rules.size - 1);  // a candidate may begin with zeros of the hole
      continue;
    }
    ASSIGN_OR_RETURN(const auto next, rules.test(at + offset, bytes.subspan(offset)));
    if (next == at + offset) return ResyncResult{ResyncResult::Kind::kFound, next};
    at = next;
  }
  return ResyncResult{ResyncResult::Kind::kNothing, size};
}

}  // namespace recordfs
