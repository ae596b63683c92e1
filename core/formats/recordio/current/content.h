// A chunk's content from its fragments, where no transformer was applied or nobody knows which. FORMAT.md, "Table".
#pragma once

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/formats/recordio/current/transform.h"

namespace recordfs::recordio {

// The content as it stands, which its table has to describe to the last byte. Fails with kDamage and kLimit, at
// position 0. Any thread.
Result<Transform::Content> as_stored(Buffer stored, const Limits& limits);

// For a file whose header is lost: the table tells what the content is, since it has to describe it to the last byte.
// Fails with kUnsupported when nothing known fits: too large a number may as well be a wrong guess. Any thread.
Result<Transform::Content> by_trial(Buffer stored, const Limits& limits);

}  // namespace recordfs::recordio
