// Writes TFRecord files, plain or as a single gzip or zlib stream. FORMAT.md.
#pragma once

#include "core/formats/record_writer.h"

namespace recordfs::tfrecord {

extern const FileWriter kWriter;

}  // namespace recordfs::tfrecord
