// Writes recordio files, of the current format and of the legacy one. FORMAT.md.
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::recordio {

extern const FileWriter kWriter;

}  // namespace recordfs::recordio
