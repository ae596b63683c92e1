// One write of a key in a table or a log, and the types of writes as they are stored.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/database/database.h"

namespace recordfs::database {

inline constexpr std::uint8_t kTypeDelete = 0x00;
inline constexpr std::uint8_t kTypePut = 0x01;
inline constexpr std::uint8_t kTypeMerge = 0x02;
inline constexpr std::uint8_t kTypeSingleDelete = 0x07;
inline constexpr std::uint8_t kTypeDeleteRange = 0x0f;
inline constexpr std::uint8_t kTypeBlob = 0x11;
inline constexpr std::uint8_t kTypeDeleteWithTimestamp = 0x14;
inline constexpr std::uint8_t kTypeEntity = 0x16;
inline constexpr std::uint8_t kTypeTimedPut = 0x18;

inline constexpr std::uint64_t kTimeSize = 8;  // after the value of a timed put

constexpr Operation operation_of(std::uint8_t type) {
  switch (type) {
    case kTypePut:
    case kTypeBlob:
    case kTypeTimedPut: return Operation::kPut;
    case kTypeEntity: return Operation::kPutEntity;
    case kTypeMerge: return Operation::kMerge;
    case kTypeDelete:
    case kTypeDeleteWithTimestamp: return Operation::kDelete;
    case kTypeSingleDelete: return Operation::kSingleDelete;
    case kTypeDeleteRange: return Operation::kDeleteRange;
    default: return Operation::kUnknown;
  }
}

}  // namespace recordfs::database
