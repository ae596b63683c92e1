// What an event says: its tags, and its entries as messages.
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::proio {

//   {"tags": {TAG: [ID, ...], ...}, "other_tags": [{"tag": TAG, "ids": [ID, ...]}, ...],
//    "entries": [{"id": ID, the message}, ...]}
//
// "other_tags" are those that are no UTF-8, and there only if there are some.
// Tags stand in the order of their bytes with all their ids as they are stored, also those of no entry; entries in the
// order of their ids. FORMAT.md, "Event". The event has to outlive it. Fails with kDamage when `event` is no Event
// message, and with kLimit when there are more values than the limits allow parts. Any thread.
Result<Value> value_of_event(Bytes bytes, const Limits& limits);

}  // namespace recordfs::proio
