#include "core/formats/run_names.h"

namespace recordfs {

bool has_run_name(std::string_view file_name) {
  return file_name.find("tfevents") != std::string_view::npos || file_name.ends_with(".wandb") ||
         file_name.ends_with(".swanlab");
}

}  // namespace recordfs
