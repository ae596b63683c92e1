// Writes ArrayRecord files. FORMAT.md, "What is written".
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::array_record {

extern const FileWriter kWriter;

}  // namespace recordfs::array_record
