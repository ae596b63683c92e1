// A chunk's content from its fragments, without a transformer or with unknown ones. FORMAT.md, "Table".
#pragma once

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/formats/recordio/current/transform.h"

namespace recordfs::recordio {

// Returns the stored bytes as content. Their table must describe them to the last byte. Fails with kDamage and
// kLimit, at position 0. Any thread.
Result<Transform::Content> as_stored(Buffer stored, const Limits& limits);

// Guesses the encoding in a file whose header is lost. A guess is right if the table describes its result to the last
// byte. Fails with kUnsupported if none fits: even a number over the limits may come from a wrong guess. Any thread.
Result<Transform::Content> by_trial(Buffer stored, const Limits& limits);

}  // namespace recordfs::recordio
