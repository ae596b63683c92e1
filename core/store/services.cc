#include "core/store/services.h"

#include <tuple>

namespace recordfs {

DecodeBudgets& Services::budgets_of(std::uint64_t filesystem) {
  const std::lock_guard lock(budgets_mutex);
  const auto found = budgets.find(filesystem);
  if (found != budgets.end()) return found->second;
  const auto forget_excess = [this] {
    chunks.forget_excess();
    layouts.forget_excess();
  };
  return budgets
      .emplace(std::piecewise_construct, std::forward_as_tuple(filesystem),
               std::forward_as_tuple(chunks.capacity() + layouts.capacity(), forget_excess))
      .first->second;
}

}  // namespace recordfs
