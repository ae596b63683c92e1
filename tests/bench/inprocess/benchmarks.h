// The benchmarks, by what they measure. Each registers itself for a subject, named "what/subject".
#pragma once

#include "tests/bench/inprocess/subject.h"

namespace recordfs::bench {

// scan: a walk over all headers; read: the file in pieces of 1 MiB, what a walk cannot be faster than.
void register_scan(Subject& subject);
// decode: chunks, one after the other; plain: checksum and decompression of such chunks in memory; half: of half of
// one.
void register_decode(Subject& subject);
// ordinal: a record anywhere, nothing cached; cached: the same with all chunks decoded.
void register_ordinal(Subject& subject);
// stream: all records one behind the other, 128 KiB at a time.
void register_stream(Subject& subject);

}  // namespace recordfs::bench
