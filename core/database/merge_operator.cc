#include "core/database/merge_operator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/cursor.h"

namespace recordfs::database {
namespace {

constexpr std::string_view kId = "{id=";
constexpr std::string_view kDelimiter = ";delimiter=";
constexpr std::string_view kOptionsEnd = ";}";
constexpr std::size_t kNumberSize = 8;

bool is_append(std::string_view name) { return name == "StringAppendOperator" || name == "StringAppendTESTOperator"; }

// A value of another size counts as 0.
std::uint64_t number_in(Bytes value) { return value.size() == kNumberSize ? Cursor(value).u64_le() : 0; }

Result<Buffer> sum_of(const RequestContext& context, const Bytes* existing, std::span<const Bytes> operands) {
  std::uint64_t sum = existing == nullptr ? 0 : number_in(*existing);
  for (const Bytes operand : operands) sum += number_in(operand);
  std::array<std::byte, kNumberSize> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(sum >> 8 * i & 0xff);
  return Buffer::copy_of(context, bytes);
}

Bytes largest_of(const Bytes* existing, std::span<const Bytes> operands) {
  Bytes largest = existing == nullptr ? Bytes() : *existing;
  for (const Bytes operand : operands) {
    if (as_text(operand) > as_text(largest)) largest = operand;
  }
  return largest;
}

}  // namespace

std::string_view name_of_merge_operator(std::string_view text) {
  if (!text.starts_with(kId)) return text;
  text.remove_prefix(kId.size());
  return text.substr(0, text.find(';'));
}

std::optional<MergeOperator> MergeOperator::of(std::string_view text, bool writes_delimiters) {
  const std::string_view name = name_of_merge_operator(text);
  if (name == "UInt64AddOperator") return MergeOperator(Kind::kAdd);
  if (name == "MaxOperator") return MergeOperator(Kind::kMax);
  if (name == "PutOperator") return MergeOperator(Kind::kPut);
  if (!is_append(name)) return std::nullopt;
  MergeOperator append(Kind::kAppend);
  const std::size_t delimiter = text.find(kDelimiter);
  if (delimiter == std::string_view::npos) {
    if (name == text && writes_delimiters) append.delimiter_.emplace();
  } else if (text.ends_with(kOptionsEnd)) {
    text.remove_prefix(delimiter + kDelimiter.size());
    if (text.size() >= kOptionsEnd.size()) append.delimiter_ = text.substr(0, text.size() - kOptionsEnd.size());
  }
  return append;
}

Result<Buffer> MergeOperator::merge(const RequestContext& context, const Bytes* existing,
                                    std::span<const Bytes> operands, std::uint64_t limit) const {
  switch (kind_) {
    case Kind::kAppend: return append(context, existing, operands, limit);
    case Kind::kAdd: return sum_of(context, existing, operands);
    case Kind::kMax: return Buffer::copy_of(context, largest_of(existing, operands));
    case Kind::kPut: break;
  }
  return Buffer::copy_of(context, operands.back());
}

Result<Buffer> MergeOperator::append(const RequestContext& context, const Bytes* existing,
                                     std::span<const Bytes> operands, std::uint64_t limit) const {
  if (!delimiter_ && (existing != nullptr || operands.size() > 1)) {
    return Error{.code = Code::kUnsupported,
                 .detail = "a merge operand, and no OPTIONS file names the delimiter of StringAppendOperator"};
  }
  const Bytes delimiter = delimiter_ ? as_bytes(*delimiter_) : Bytes();
  const Error too_large{.code = Code::kLimit, .detail = "the merged value exceeds the limit"};
  std::uint64_t size = existing == nullptr ? 0 : existing->size();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0 || existing != nullptr) size += delimiter.size();
    size += operands[i].size();
    if (size > limit) return too_large;
  }
  ASSIGN_OR_RETURN(auto value, Buffer::allocate(context, static_cast<std::size_t>(size)));
  MutableBytes rest = value.span();
  const auto put = [&](Bytes bytes) {
    copy_bytes(bytes, rest);
    rest = rest.subspan(bytes.size());
  };
  if (existing != nullptr) put(*existing);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0 || existing != nullptr) put(delimiter);
    put(operands[i]);
  }
  return value;
}

}  // namespace recordfs::database
