// Splits an event into parts: its tags, entries and types.
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/part.h"

namespace recordfs::proio {

// Returns the parts of an event. FORMAT.md, "Event".
//
//   tags/TAG/ID    an entry under each tag that lists it
//   entries/ID     each entry: the stored bytes of its message
//   types.tsv      a header line, and for each entry its id, its type's id and its type's name
//
// Tags are sorted by bytes and entries by id; entries under a tag have the order of the tag's list. Fails with kDamage
// if `bytes` are not an Event message, and with kLimit if there are too many parts or types.tsv is too long.
// Thread-safe.
Result<Parts> parts_of_event(Bytes bytes, const Limits& limits);

}  // namespace recordfs::proio
