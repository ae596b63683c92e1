// Estimates the memory and work of a parsed message before parsing it. A few bytes may represent a message of a type
// with thousands of fields.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/decoding/protobuf/types.h"

namespace recordfs::messages {

// Returns an upper bound in bytes, from the message size alone. Thread-safe.
std::uint64_t most_memory(const MessageType& type, Bytes message);

// Returns an upper bound of Cost::fields, from the message size alone. Thread-safe.
std::uint64_t most_fields(const MessageType& type, Bytes message);

// Returns upper bounds of both by scanning the fields. Stops when `limit` is exceeded; the result is then more than
// `limit`. Thread-safe.
Cost counted_cost(const MessageType& type, Bytes message, const Cost& limit);

}  // namespace recordfs::messages
