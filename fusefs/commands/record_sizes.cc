#include "fusefs/commands/record_sizes.h"

#include <cstdint>

#include "core/dataset/ordered_pass.h"

namespace recordfs {

Result<std::shared_ptr<const Layout>> layout_of(const RequestContext& context, const RecordStore& store,
                                                const ChunkInfo& chunk) {
  if (chunk.layout_cost == LayoutCost::kSmall) return store.chunks().layout(context, chunk);
  ASSIGN_OR_RETURN(auto decoded, store.chunks().decode_uncached(context, chunk));
  return std::shared_ptr<const Layout>(decoded, &decoded->layout());
}

Result<SizeHistogram> sizes_of(const RecordStore& store, unsigned threads) {
  SizeHistogram sizes;
  TRY(read_part({.store = store}, {.threads = threads},
                [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
                  if (!step.indexed) return {};
                  const auto layout = layout_of(context, store, step.indexed->chunk);
                  if (!layout) return {};
                  const auto of_chunk = std::make_shared<SizeHistogram>();
                  for (std::uint64_t i = 0; i < (*layout)->records(); ++i) {
                    if ((*layout)->failure(i) == nullptr) of_chunk->add((*layout)->extent(i).size);
                  }
                  return [&sizes, of_chunk] {
                    sizes.add(*of_chunk);
                    return true;
                  };
                }));
  return sizes;
}

}  // namespace recordfs
