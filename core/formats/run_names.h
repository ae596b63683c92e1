// Names of files that hold the scalars of a training run.
#pragma once

#include <string_view>

namespace recordfs {

// Returns whether a file has the name of an event file, as TensorBoard decides it, or of a run of wandb or SwanLab.
// Thread-safe.
bool has_run_name(std::string_view file_name);

}  // namespace recordfs
