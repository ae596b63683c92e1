#include "core/columns/scalar_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::WireType;

// ScalarNumbers of tensorflow.DataType, and of the fields of a TensorProto that have single values.
enum class Element : std::uint8_t { kNone, kSigned, kUnsigned, kFloat, kDouble, kHalf, kBfloat16 };
struct ElementType {
  std::uint64_t number = 0;  // of DataType
  Element element = Element::kNone;
  std::size_t size = 0;     // bytes in tensor_content
  std::uint32_t field = 0;  // of TensorProto
};
constexpr ElementType kElements[] = {
    {1, Element::kFloat, 4, 5},     {2, Element::kDouble, 8, 6},     {3, Element::kSigned, 4, 7},
    {4, Element::kUnsigned, 1, 7},  {5, Element::kSigned, 2, 7},     {6, Element::kSigned, 1, 7},
    {9, Element::kSigned, 8, 10},   {10, Element::kUnsigned, 1, 11}, {14, Element::kBfloat16, 2, 13},
    {17, Element::kUnsigned, 2, 7}, {19, Element::kHalf, 2, 13},     {22, Element::kUnsigned, 4, 16},
    {23, Element::kUnsigned, 8, 17}};
constexpr std::uint32_t kLastElementField = 17;

double half_of(std::uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  if (exponent == 31) return sign * (fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan(""));
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

// Returns the number that `size` bytes are, least significant byte first.
ScalarNumber number_of(const ElementType& type, std::uint64_t bits) {
  switch (type.element) {
    case Element::kFloat: return {.value = std::bit_cast<float>(static_cast<std::uint32_t>(bits)), .is_float = true};
    case Element::kDouble: return {.value = std::bit_cast<double>(bits)};
    case Element::kHalf: return {.value = half_of(bits)};
    case Element::kBfloat16: return {.value = std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16))};
    case Element::kUnsigned: return number_of_integer(bits);
    case Element::kSigned: {
      const unsigned unused = 64 - 8 * static_cast<unsigned>(type.size);
      return number_of_integer(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    case Element::kNone: break;
  }
  return {};
}

// A TensorProto, as far as a scalar needs it.
struct Tensor {
  std::uint64_t type = 0;
  bool has_dimensions = false;
  bool has_one_element = true;
  Bytes content{};
  struct First {
    std::uint32_t field = 0;
    std::uint64_t bits = 0;
  };
  std::vector<First> values{};  // of each field the first one
};

std::uint64_t bits_of(const Field& field, Bytes content) {
  std::uint64_t bits = field.value;
  if (field.type == WireType::kVarint) return bits;
  // Packed values, of which the first counts.
  Cursor cursor(content);
  const bool is_varint = field.type == WireType::kLengthDelimited && field.number != 5 && field.number != 6;
  if (is_varint) return cursor.varint64();
  return field.number == 6 ? cursor.u64_le() : cursor.u32_le();
}

Result<Tensor> tensor_of(Bytes message) {
  Tensor tensor;
  const auto take_shape = [&](const Field& field, Bytes content) -> Result<void> {
    const bool is_dimension = field.is(2, WireType::kLengthDelimited);
    const bool has_unknown_rank = field.number == 3 && field.value != 0;
    std::uint64_t size = 0;
    if (is_dimension) {
      TRY(each_field(content, [&size](const Field& inner, Bytes) {
        if (inner.is(1, WireType::kVarint)) size = inner.value;
        return Result<void>();
      }));
    }
    tensor.has_dimensions = tensor.has_dimensions || is_dimension || has_unknown_rank;
    tensor.has_one_element = tensor.has_one_element && !has_unknown_rank && (!is_dimension || size == 1);
    return {};
  };
  TRY(each_field(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (field.is(1, WireType::kVarint)) tensor.type = field.value;
    if (field.is(2, WireType::kLengthDelimited)) return each_field(content, take_shape);
    if (field.is(4, WireType::kLengthDelimited)) tensor.content = content;
    if (field.number > 4 && field.type != WireType::kGroupStart &&
        !(content.empty() && field.type != WireType::kVarint)) {
      const bool is_known =
          std::ranges::find(tensor.values, field.number, &Tensor::First::field) != tensor.values.end();
      if (!is_known && field.number <= kLastElementField)
        tensor.values.push_back({field.number, bits_of(field, content)});
    }
    return {};
  }));
  return tensor;
}

// Returns the number in a tensor that is a scalar. Fails with kDamage.
Result<ScalarNumber> number_in(const ElementType& type, const Tensor& tensor, std::string_view tag) {
  std::uint64_t bits = 0;  // a tensor without values has zeros
  const auto value = std::ranges::find(tensor.values, type.field, &Tensor::First::field);
  if (tensor.content.size() == type.size) {
    for (std::size_t i = type.size; i-- > 0;) bits = bits << 8 | std::to_integer<std::uint64_t>(tensor.content[i]);
  } else if (!tensor.content.empty()) {
    return Error{.code = Code::kDamage, .detail = fmt::format("the tensor of {} has a wrong size", printable(tag))};
  } else if (value != tensor.values.end()) {
    bits = value->bits;
  }
  return number_of(type, bits);
}

}  // namespace

Result<ScalarTensor> scalar_tensor(Bytes message, std::string_view plugin, std::string_view tag) {
  ASSIGN_OR_RETURN(const auto tensor, tensor_of(message));
  const auto* const type = std::ranges::find(kElements, tensor.type, &ElementType::number);
  if (type == std::end(kElements)) return ScalarTensor{};
  const bool is_shown = plugin.empty() || plugin == "scalars";
  if (!tensor.has_one_element || (tensor.has_dimensions && !is_shown)) {
    return ScalarTensor{.kind = is_shown ? ScalarTensor::Kind::kNoScalar : ScalarTensor::Kind::kOther};
  }
  ASSIGN_OR_RETURN(auto number, number_in(*type, tensor, tag));
  return ScalarTensor{.kind = ScalarTensor::Kind::kScalar, .number = number};
}

}  // namespace recordfs
