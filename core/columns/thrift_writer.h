// Writes structures of Thrift's compact protocol:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

// The types of fields and of the elements of lists.
enum class ThriftType : std::uint8_t {
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI32 = 5,
  kI64 = 6,
  kBinary = 8,
  kList = 9,
  kStruct = 12
};

// Appends one structure. Fields are written in the order of calls. Functions throw std::bad_alloc. Not thread-safe.
class ThriftWriter {
 public:
  // `out` must outlive the writer.
  explicit ThriftWriter(std::string& out) : out_(out) {}

  void boolean(int field, bool value) { begin_field(field, value ? ThriftType::kTrue : ThriftType::kFalse); }
  void byte(int field, std::int8_t value);
  void i32(int field, std::int32_t value);
  void i64(int field, std::int64_t value);
  void binary(int field, std::string_view value);

  void begin_struct(int field);
  // Ends a field or an element that is a structure, or the whole structure. Must be called once for each.
  void end_struct();

  // Begins a list of `size` elements, which the following calls write.
  void begin_list(int field, ThriftType type, std::size_t size);
  void element(std::int32_t value);
  void element(std::string_view value);
  void begin_element();  // a structure

 private:
  void begin_field(int field, ThriftType type);
  void varint(std::uint64_t value);
  void zigzag(std::int64_t value);

  std::string& out_;
  std::vector<int> last_{0};  // the last field of each open structure
};

}  // namespace recordfs
