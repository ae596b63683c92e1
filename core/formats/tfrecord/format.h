// TensorFlow's TFRecord files, with any contents: tensorflow.Example, events, or other data. FORMAT.md.
#pragma once

#include "core/formats/registry.h"

namespace recordfs::tfrecord {

extern const Format kFormat;

}  // namespace recordfs::tfrecord
