// Decompresses complete deflate units with libdeflate, in half of zlib's time. Internal to deflate.cc.
#pragma once

#include "core/codec/backend.h"

namespace recordfs {

extern const WholeUnit kWholeDeflate;
extern const WholeUnit kWholeZlib;
extern const WholeUnit kWholeGzip;

}  // namespace recordfs
