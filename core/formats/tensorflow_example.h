// Recognizes tensorflow.Example and tensorflow.SequenceExample, TensorFlow's records of named lists, by their
// structure alone, without descriptors. Usable by any format.
//
// An Example has only field 1, the features. A SequenceExample has field 2, lists of features, and optionally field
// 1, its context. Each has at least one key. Keys are UTF-8, and a feature has at most one kind: bytes, floats or
// int64s, packed or not. A message with any other field is rejected; other messages do not match by chance.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::tensorflow {

inline constexpr std::string_view kExampleType = "tensorflow.Example";
inline constexpr std::string_view kSequenceExampleType = "tensorflow.SequenceExample";

// Returns the record with the names of the .proto file:
// {"features":{"feature":{KEY:{"int64_list":{"value":[...]}}}}}, sorted by key. The result points into `record`. As
// parts, an Example has its features alone, a SequenceExample has context/KEY, and feature_lists/KEY/0, 1, 2..., and a
// feature is:
//
//   of one bytes value              the value
//   of several                      a directory with 0, 1, 2... in it
//   int64 or float                  text, one number a line, floats in the fewest digits that reproduce them
//   without values                  an empty file
//
// Fails with kDamage if `record` is neither, and with kLimit if it has more values or parts, or longer texts, than the
// limits allow. Any thread.
Result<Value> value_of_example(Bytes record, const Limits& limits, ValueForm form);

// Returns kExampleType or kSequenceExampleType, for a value that value_of_example() made for JSON. Any thread.
std::string_view type_of_example(const Value& value);

enum class FeatureKind : std::uint8_t { kNone, kBytes, kFloats, kInts };

// A feature of an Example, by name. `list` is a BytesList, FloatList or Int64List, whose field 1 is the values.
struct NamedFeature {
  std::string_view name{};
  FeatureKind kind = FeatureKind::kNone;
  Bytes list{};
};

// Returns the features of an Example, sorted by name. The result points into `record`. Fails with kDamage if `record`
// is no Example, also if it is a SequenceExample, and with kLimit. Does not check the content of the lists. Any thread.
Result<std::vector<NamedFeature>> features_of_example(Bytes record, const Limits& limits);

// Returns whether a record is what an Example without features is: empty, or an empty field 1. Other messages may be
// the same, so this does not tell that the records are Examples. Any thread.
bool is_empty_example(Bytes record);

}  // namespace recordfs::tensorflow
