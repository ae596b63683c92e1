// Avro object container files: blocks of records, all of one schema. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::avro {

extern const Format kFormat;

}  // namespace recordfs::avro
