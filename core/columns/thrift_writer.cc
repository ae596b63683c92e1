#include "core/columns/thrift_writer.h"

#include "core/base/protobuf.h"

namespace recordfs {

void ThriftWriter::varint(std::uint64_t value) { protobuf::append_varint(out_, value); }

void ThriftWriter::zigzag(std::int64_t value) {
  const std::uint64_t doubled = static_cast<std::uint64_t>(value) << 1;
  varint(value < 0 ? ~doubled : doubled);
}

void ThriftWriter::begin_field(int field, ThriftType type) {
  const int step = field - last_.back();
  const auto number = static_cast<unsigned>(type);
  if (step >= 1 && step <= 15) {
    out_.push_back(static_cast<char>(static_cast<unsigned>(step) << 4 | number));
  } else {
    out_.push_back(static_cast<char>(number));
    zigzag(field);
  }
  last_.back() = field;
}

void ThriftWriter::byte(int field, std::int8_t value) {
  begin_field(field, ThriftType::kByte);
  out_.push_back(static_cast<char>(value));
}

void ThriftWriter::i32(int field, std::int32_t value) {
  begin_field(field, ThriftType::kI32);
  zigzag(value);
}

void ThriftWriter::i64(int field, std::int64_t value) {
  begin_field(field, ThriftType::kI64);
  zigzag(value);
}

void ThriftWriter::binary(int field, std::string_view value) {
  begin_field(field, ThriftType::kBinary);
  element(value);
}

void ThriftWriter::begin_struct(int field) {
  begin_field(field, ThriftType::kStruct);
  begin_element();
}

void ThriftWriter::end_struct() {
  out_.push_back('\0');
  last_.pop_back();
}

void ThriftWriter::begin_list(int field, ThriftType type, std::size_t size) {
  begin_field(field, ThriftType::kList);
  const auto number = static_cast<unsigned>(type);
  if (size < 15) {
    out_.push_back(static_cast<char>(static_cast<unsigned>(size) << 4 | number));
  } else {
    out_.push_back(static_cast<char>(0xF0 | number));
    varint(size);
  }
}

void ThriftWriter::element(std::int32_t value) { zigzag(value); }

void ThriftWriter::element(std::string_view value) {
  varint(value.size());
  out_ += value;
}

void ThriftWriter::begin_element() { last_.push_back(0); }

}  // namespace recordfs
