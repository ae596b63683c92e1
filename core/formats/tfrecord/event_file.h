// Event files of TensorBoard. FORMAT.md, "Event files".
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/container.h"

namespace recordfs::tfrecord {

// What a record says of its file.
enum class EventEvidence : std::uint8_t {
  kNone,      // it is no event
  kFields,    // it has only fields of an event, and neither a version nor a plausible time
  kPossible,  // it may be an event, or a message of another type
  kCertain,   // it is an event
};

// Returns kNone unless the record has nothing but fields of tensorflow.Event (MessageShapes), and kFields unless it has
// the version of an event file, "brain.Event:" and a number, or a time that is plausible. Such a record is certainly an
// event if it has that version, or a value of a summary with a tag. Throws std::bad_alloc. Any thread.
EventEvidence evidence_of_event(Bytes record);
// Returns whether the first bytes of a record are those of an event with a plausible time. Any thread.
bool may_begin_event(Bytes record);

// Returns the container with the type tensorflow.Event for its records, and its descriptors.
std::unique_ptr<Container> with_event_type(std::unique_ptr<Container> file);

}  // namespace recordfs::tfrecord
