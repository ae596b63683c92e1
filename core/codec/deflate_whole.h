// Whole units of deflate, which libdeflate decompresses in half of zlib's time. deflate.cc alone includes it.
#pragma once

#include "core/codec/backend.h"

namespace recordfs {

extern const WholeUnit kWholeDeflate;
extern const WholeUnit kWholeZlib;
extern const WholeUnit kWholeGzip;

}  // namespace recordfs
