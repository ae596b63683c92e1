// The numbers in tensors of TensorBoard's event files.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/protobuf.h"
#include "core/base/result.h"
#include "core/decoding/exact_number.h"

namespace recordfs {

constexpr std::uint32_t kGroupsInScalars = 16;  // unknown ones, inside each other

// Calls `take` for each field of a message. Fails as `take` does, and if the message is invalid.
template <class Take>
Result<void> each_field(Bytes message, const Take& take) {
  protobuf::MessageReader reader(message, kGroupsInScalars);
  while (reader.next()) {
    if (Result<void> taken = take(reader.field(), reader.content()); !taken) return taken;
  }
  return reader.finish();
}

// The number that a scalar is.
struct ScalarNumber {
  double value = 0;
  bool is_float = false;
  std::optional<ExactNumber> exact{};  // if no double equals it
};

template <class Integer>
ScalarNumber number_of_integer(Integer integer) {
  ScalarNumber number{.value = static_cast<double>(integer)};
  const bool is_exact = compare_exactly(integer, number.value) == std::partial_ordering::equivalent;
  if (!is_exact) number.exact = integer;
  return number;
}

// What a TensorProto is among scalars.
struct ScalarTensor {
  enum class Kind : std::uint8_t {
    kOther,     // has no numbers, or another plugin shows it
    kScalar,    // a number
    kNoScalar,  // several numbers, or none
  };
  Kind kind = Kind::kOther;
  ScalarNumber number{};  // of kScalar
};

// Returns the number of a tensor without dimensions, or with one element if the plugin "scalars", or none, shows it.
// Fails with kDamage; `tag` names the tensor then. Thread-safe.
Result<ScalarTensor> scalar_tensor(Bytes message, std::string_view plugin, std::string_view tag);

}  // namespace recordfs
