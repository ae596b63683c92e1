#include "fusefs/commands/verify_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/json_object.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

constexpr std::string_view kUnreadable = "unreadable";
constexpr std::string_view kEmpty = "empty";

bool is_unchecked(const Error& error) { return error.code == Code::kOutOfMemory; }

bool has(const Outcome& outcome, std::string_view word) {
  return outcome.verdict &&
         std::ranges::any_of(outcome.verdict->findings, [&](const Finding& finding) { return finding.word == word; });
}

JsonObject json_of(const Finding& finding) {
  JsonObject row;
  row.set("begin", finding.begin);
  row.set("end", finding.end);
  row.set("class", finding.word);
  row.set("reason", finding.reason);
  row.set("records_lost", finding.records_lost);
  if (finding.word == kUnchecked) row.set("chunks_unchecked", finding.chunks_unchecked);
  return row;
}

}  // namespace

int Outcome::status() const {
  if (failure) return is_unchecked(*failure) ? kExitPartlyDone : kExitCannotOpen;
  int status = kExitGood;
  if (verdict) {
    for (const Finding& finding : verdict->findings) status = worse_of(status, finding.status);
  }
  return status;
}

std::string_view Outcome::state() const {
  if (failure) return is_unchecked(*failure) ? kUnchecked : kUnreadable;
  switch (status()) {
    case kExitGood: return size == 0u ? kEmpty : "good";
    case kExitDamage: return "damaged";
    default: return has(*this, kUnreadable) ? kUnreadable : has(*this, kUnchecked) ? kUnchecked : "unsupported";
  }
}

std::string findings_text(const Outcome& outcome) {
  std::string text;
  if (!outcome.verdict) return text;
  if (outcome.state() == kEmpty) text += fmt::format("{}: {}\n", printable(outcome.path), kEmpty);
  for (const Finding& finding : outcome.verdict->findings) {
    if (finding.status != kExitGood)
      text += fmt::format("{}: {}\n", printable(outcome.path), printable(to_string(finding)));
  }
  return text;
}

std::string outcome_json(const Outcome& outcome) {
  JsonObject object;
  object.set("file", outcome.path);
  object.set("format", outcome.format.empty() ? JsonObject::Content() : std::string(outcome.format));
  object.set("size", outcome.size);
  object.set("status", outcome.state());
  object.set("read", outcome.verdict.has_value());
  if (outcome.passed) object.set("passed", static_cast<std::uint64_t>(*outcome.passed));
  if (outcome.failure) object.set("error", outcome.failure->detail);
  if (outcome.verdict) {
    object.set("chunks", outcome.verdict->chunks);
    object.set("records", outcome.verdict->records);
    object.set("bytes", outcome.verdict->bytes);
    JsonObject::List damage;
    for (const Finding& finding : outcome.verdict->findings) damage.push_back(json_of(finding));
    object.set("damage", std::move(damage));
  }
  return to_json(object, JsonLayout::kLine);
}

}  // namespace recordfs
