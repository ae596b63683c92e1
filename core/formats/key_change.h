// The change that a record makes to a key, for containers that are logs or tables of a key-value store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/bytes.h"
#include "core/formats/chunk.h"

namespace recordfs {

enum class KeyChangeKind : std::uint8_t {
  kSet,          // the key has a value
  kUnknown,      // the key has a value that is not in this container (a merge result, or stored elsewhere)
  kDelete,       // the key is deleted
  kDeleteRange,  // deletes all keys from `key` on that are less than `end`, bytewise

  // Of transactions. Changes between kBegin and kPrepare take effect at the transaction's commit, in the commit's
  // place, and never if it is rolled back or has no end. One transaction may have several such sections.
  kBegin,
  kPrepare,  // ends a section, and names its transaction
  kCommit,
  kRollback,
};

// The last of several changes to one key counts: the one with the highest sequence if they have one, otherwise the
// one that comes last in the container.
struct KeyChange {
  KeyChangeKind kind = KeyChangeKind::kSet;
  std::uint32_t family = 0;                 // equal keys in two families are different keys
  Bytes key{};                              // of kPrepare, kCommit and kRollback: the transaction's name
  Bytes end{};                              // of kDeleteRange
  Extent value{};                           // of kSet: position in the record, which contains it completely
  std::optional<std::uint64_t> sequence{};  // either all changes of a container have one, or none
};

// Receives one change. Key and end are valid during the call. Returns whether to continue.
using TakeKeyChange = std::function<bool(const KeyChange&)>;

}  // namespace recordfs
