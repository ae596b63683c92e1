#include "core/formats/descriptor_elements.h"

#include <algorithm>
#include <array>

namespace recordfs {
namespace {

using Element = DescriptorElement;
using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

struct Child {
  Element parent;
  std::uint32_t number;
  Element child;
};

constexpr std::array kChildren = {
    Child{Element::kFile, 4, Element::kMessage},    Child{Element::kFile, 5, Element::kEnum},
    Child{Element::kFile, 6, Element::kService},    Child{Element::kFile, 7, Element::kField},
    Child{Element::kFile, 8, Element::kOptions},    Child{Element::kMessage, 2, Element::kField},
    Child{Element::kMessage, 3, Element::kMessage}, Child{Element::kMessage, 4, Element::kEnum},
    Child{Element::kMessage, 5, Element::kRange},   Child{Element::kMessage, 6, Element::kField},
    Child{Element::kMessage, 7, Element::kOptions}, Child{Element::kMessage, 8, Element::kOneof},
    Child{Element::kMessage, 9, Element::kRange},   Child{Element::kField, 8, Element::kOptions},
    Child{Element::kEnum, 2, Element::kEnumValue},  Child{Element::kEnum, 3, Element::kOptions},
    Child{Element::kEnum, 4, Element::kRange},      Child{Element::kEnumValue, 3, Element::kOptions},
    Child{Element::kOneof, 2, Element::kOptions},   Child{Element::kRange, 3, Element::kOptions},
    Child{Element::kService, 2, Element::kMethod},  Child{Element::kService, 3, Element::kOptions},
    Child{Element::kMethod, 4, Element::kOptions},
};

bool is_element(Element element, Bytes bytes, std::uint32_t depth_limit) {
  bool has_name = false;
  MessageReader reader(bytes, depth_limit);
  while (reader.next()) {
    const Field& field = reader.field();
    if (field.is(kDescriptorName, WireType::kLengthDelimited)) has_name = !reader.content().empty();
    const Element child = child_of(element, field);
    if (child == Element::kNone || depth_limit == 0) continue;
    if (!is_element(child, reader.content(), depth_limit - 1)) return false;
  }
  return reader.finish() && (has_name || element != Element::kFile);
}

}  // namespace

DescriptorElement child_of(DescriptorElement parent, const Field& field) {
  if (field.type != WireType::kLengthDelimited) return Element::kNone;
  const auto* const found = std::ranges::find_if(
      kChildren, [&](const Child& child) { return child.parent == parent && child.number == field.number; });
  return found == kChildren.end() ? Element::kNone : found->child;
}

bool is_file_descriptor(Bytes bytes, std::uint32_t depth_limit) {
  return is_element(Element::kFile, bytes, depth_limit);
}

}  // namespace recordfs
