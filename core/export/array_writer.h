// Writes the numpy array that a container holds, or rows of it, as an .npy file.
#pragma once

#include <functional>
#include <optional>

#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/output/text_output.h"
#include "core/store/selection.h"

namespace recordfs {

struct ArrayOptions {
  bool is_wanted = false;
  bool is_flat = false;  // the elements of all records as one dimension, whatever the shape
};

// Writes the array of the only shard, or a range of its rows: of the first dimension. `copy_records` writes all
// records, for a flat array. Reports what fails, among others that there is no array, or no such row. REQUIRES: the set
// has one shard.
void write_array(const ArrayOptions& options, const std::optional<OrdinalRange>& rows, SetReader& reader,
                 const std::function<void()>& copy_records, Reporter& reporter, TextOutput& output);

}  // namespace recordfs
