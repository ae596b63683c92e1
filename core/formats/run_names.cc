#include "core/formats/run_names.h"

namespace recordfs {

std::optional<RunKind> run_kind(std::string_view file_name) {
  if (file_name.ends_with(".wandb")) return RunKind::kWandb;
  if (file_name.ends_with(".swanlab")) return RunKind::kSwanLab;
  return file_name.find("tfevents") != std::string_view::npos ? std::optional(RunKind::kEvents) : std::nullopt;
}

}  // namespace recordfs
