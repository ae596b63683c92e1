// Names of files that hold the scalars of a training run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace recordfs {

enum class RunKind : std::uint8_t { kEvents, kWandb, kSwanLab };

// Returns whether a file has the name of an event file, as TensorBoard decides it, or of a run of wandb or SwanLab;
// nullopt for other names. Thread-safe.
std::optional<RunKind> run_kind(std::string_view file_name);
inline bool has_run_name(std::string_view file_name) { return run_kind(file_name).has_value(); }

}  // namespace recordfs
