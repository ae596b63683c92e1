// What a data set has lost: damage that a scan of headers finds, and shards that cannot be read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/dataset/missing_shards.h"
#include "core/dataset/opened_set.h"
#include "core/store/selection.h"

namespace recordfs::python {

struct Loss {
  std::string path;
  Error error;
};

// Returns the first `most` places among the records of `span` where others may have been lost, in order. Damage at an
// end of the data set belongs to a span that includes that end. Waits until all shards are counted, and fails as
// DataSet::totals and DataSet::open. REQUIRES: the span is not empty. Thread-safe.
Result<std::vector<Loss>> losses(const RequestContext& context, const OpenedSet& set, OrdinalInterval span,
                                 std::size_t most);

// Returns the ranges of missing shards. Thread-safe.
std::vector<MissingShards> missing_shards(const OpenedSet& set);

}  // namespace recordfs::python
