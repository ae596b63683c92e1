#include "core/decoding/protobuf/well_known.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace recordfs::messages {
namespace {

using pb::FieldDescriptor;

constexpr std::int64_t kFirstSecond = -62135596800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z
constexpr std::int64_t kLongestDuration = 315576000000;
constexpr std::int64_t kNanoseconds = 1000000000;  // per second

struct Time {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};

std::optional<Time> time_of(const pb::Message& message) {
  const auto* const seconds = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_INT64);
  const auto* const nanoseconds = field_of(message.GetDescriptor(), 2, FieldDescriptor::CPPTYPE_INT32);
  if (seconds == nullptr || nanoseconds == nullptr) return std::nullopt;
  const pb::Reflection* const reflection = message.GetReflection();
  return Time{reflection->GetInt64(message, seconds), reflection->GetInt32(message, nanoseconds)};
}

// Returns a fraction of 3, 6 or 9 digits, such as ".500"; nothing for 0.
std::string fraction(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return {};
  int digits = 9;
  for (; nanoseconds % 1000 == 0; nanoseconds /= 1000) digits -= 3;
  return fmt::format(".{:0{}}", nanoseconds, digits);
}

// Converts "a_b.c" to "aB.c". Returns "" if the conversion would not be reversible.
std::string in_camel_case(std::string_view path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c >= 'A' && c <= 'Z') return {};
    if (c != '_') {
      text += c;
      continue;
    }
    ++i;
    if (i == path.size() || path[i] < 'a' || path[i] > 'z') return {};
    text += static_cast<char>(path[i] - 'a' + 'A');
  }
  return text;
}

}  // namespace

const FieldDescriptor* field_of(const pb::Descriptor* type, int number, FieldDescriptor::CppType kind,
                                bool is_repeated) {
  const FieldDescriptor* const field = type->FindFieldByNumber(number);
  if (field == nullptr || field->cpp_type() != kind || field->is_repeated() != is_repeated) return nullptr;
  return field;
}

std::optional<std::string> timestamp_text(const pb::Message& message) {
  const auto time = time_of(message);
  if (!time || time->seconds < kFirstSecond || time->seconds > kLastSecond || time->nanoseconds < 0 ||
      time->nanoseconds >= kNanoseconds) {
    return std::nullopt;
  }
  namespace chrono = std::chrono;
  const chrono::sys_seconds second{chrono::seconds(time->seconds)};
  const auto day = chrono::floor<chrono::days>(second);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(second - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), fraction(time->nanoseconds));
}

std::optional<std::string> duration_text(const pb::Message& message) {
  const auto time = time_of(message);
  if (!time || std::abs(time->seconds) > kLongestDuration || std::abs(time->nanoseconds) >= kNanoseconds)
    return std::nullopt;
  if ((time->seconds < 0 && time->nanoseconds > 0) || (time->seconds > 0 && time->nanoseconds < 0)) return std::nullopt;
  const bool is_negative = time->seconds < 0 || time->nanoseconds < 0;
  return fmt::format("{}{}{}s", is_negative ? "-" : "", std::abs(time->seconds), fraction(std::abs(time->nanoseconds)));
}

std::optional<std::string> field_mask_text(const pb::Message& message) {
  const auto* const paths = field_of(message.GetDescriptor(), 1, FieldDescriptor::CPPTYPE_STRING, true);
  if (paths == nullptr) return std::nullopt;
  const pb::Reflection* const reflection = message.GetReflection();
  std::string text;
  for (int i = 0; i < reflection->FieldSize(message, paths); ++i) {
    const std::string path = in_camel_case(reflection->GetRepeatedString(message, paths, i));
    if (path.empty()) return std::nullopt;
    if (i > 0) text += ',';
    text += path;
  }
  return text;
}

}  // namespace recordfs::messages
