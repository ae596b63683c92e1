// Groups of records as chunks of a container.
#pragma once

#include <memory>

#include "core/export/grouped_file.h"
#include "core/formats/record_writer.h"

namespace recordfs {

// `writer` must write to a sink that outlives the result.
std::unique_ptr<GroupEncoder> record_groups(std::unique_ptr<RecordWriter> writer);

}  // namespace recordfs
