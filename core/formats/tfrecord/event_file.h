// Event files of TensorBoard. FORMAT.md, "Event files".
#pragma once

#include <memory>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/container.h"

namespace recordfs::tfrecord {

// Returns whether a record is the first one of an event file: a tensorflow.Event that has nothing but a time, a step, a
// source and the file's version, "brain.Event:" and a number. Any thread.
bool begins_event_file(Bytes record);

// Returns the container with the type tensorflow.Event for its records, and its descriptors.
std::unique_ptr<Container> with_event_type(std::unique_ptr<Container> file);

}  // namespace recordfs::tfrecord
