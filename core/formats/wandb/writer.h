// Writes run files of wandb and SwanLab. FORMAT.md.
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::wandb {

extern const FileWriter kWriter;

}  // namespace recordfs::wandb
