// The parts of an event: its tags, its entries, its types.
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/part.h"

namespace recordfs::proio {

//   tags/TAG/ID    an entry under each tag that lists it
//   entries/ID     each entry: the stored bytes of its message
//   types.tsv      a header line, and for each entry its id, its type's id and its type's name
//
// Tags stand in the order of their bytes, entries in the order of their ids, and under a tag in the tag's own order.
// FORMAT.md, "Event". Fails with kDamage when `event` is no Event message, and with kLimit when it has more parts, or a
// longer types.tsv, than the limits allow. Any thread.
Result<Parts> parts_of_event(Bytes bytes, const Limits& limits);

}  // namespace recordfs::proio
