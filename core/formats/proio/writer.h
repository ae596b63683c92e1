// Writes proio streams. FORMAT.md, "What is written".
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::proio {

extern const FileWriter kWriter;

}  // namespace recordfs::proio
