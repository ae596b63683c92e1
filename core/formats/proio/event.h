// Converts an event to a Value: its tags, and its entries as messages.
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::proio {

// Returns the content of an event. FORMAT.md, "Event".
//
//   {"tags": {TAG: [ID, ...], ...}, "other_tags": [{"tag": TAG, "ids": [ID, ...]}, ...],
//    "entries": [{"id": ID, the message}, ...]}
//
// "other_tags" contains the tags that are not UTF-8, and is present only if there are any. Tags are sorted by bytes and
// have all their stored ids, even those without an entry. Entries are sorted by id.
//
// As parts, all tags are in "tags", and list entries instead of ids, each once. "types.tsv" follows: a header line, and
// for each entry its id, its type's id and its type's name.
//
// `bytes` must outlive the result. Fails with kDamage if `bytes` are not an Event message, and with kLimit if there are
// more values than Limits::parts_per_record, or if types.tsv is too long. Thread-safe.
Result<Value> value_of_event(Bytes bytes, const Limits& limits, ValueForm form);

}  // namespace recordfs::proio
