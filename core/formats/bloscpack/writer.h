// Writes Bloscpack files of version 3 and of the proposal for items of variable length. FORMAT.md, "What is written".
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::bloscpack {

extern const FileWriter kWriter;

}  // namespace recordfs::bloscpack
