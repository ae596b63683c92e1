// The benchmarks, by what they measure. Each registers itself for a subject under the name "what/subject".
#pragma once

#include "tests/bench/inprocess/subject.h"

namespace recordfs::bench {

// scan: scans all headers; read: reads the file in pieces of 1 MiB, the lower bound for a scan.
void register_scan(Subject& subject);
// decode: decodes chunks in order; plain: verifies and decompresses such chunks in memory; half: decompresses half of
// one.
void register_decode(Subject& subject);
// ordinal: reads a random record, nothing cached; cached: the same with all chunks decoded.
void register_ordinal(Subject& subject);
// stream: reads all records consecutively, 128 KiB at a time.
void register_stream(Subject& subject);

}  // namespace recordfs::bench
