// Writes Bloscpack files of version 3. FORMAT.md, "What is written".
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::bloscpack {

extern const FileWriter kWriter;

}  // namespace recordfs::bloscpack
