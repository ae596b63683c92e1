#include "fusefs/commands/verify_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kUnreadable = "unreadable";
constexpr std::string_view kEmpty = "empty";

bool is_unchecked(const Error& error) { return error.code == Code::kOutOfMemory; }

bool has(const Outcome& outcome, std::string_view word) {
  return outcome.verdict &&
         std::ranges::any_of(outcome.verdict->findings, [&](const Finding& finding) { return finding.word == word; });
}

Json json_of(const Finding& finding) {
  Json row;
  row["begin"] = finding.begin;
  row["end"] = finding.end ? Json(*finding.end) : Json();
  row["class"] = finding.word;
  row["reason"] = finding.reason;
  row["records_lost"] = finding.records_lost ? Json(*finding.records_lost) : Json();
  if (finding.word == kUnchecked) row["chunks_unchecked"] = finding.chunks_unchecked;
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
  Json object;
  object["file"] = outcome.path;
  object["format"] = outcome.format.empty() ? Json() : Json(outcome.format);
  object["size"] = outcome.size ? Json(*outcome.size) : Json();
  object["status"] = outcome.state();
  object["read"] = outcome.verdict.has_value();
  if (outcome.passed) object["passed"] = *outcome.passed;
  if (outcome.failure) object["error"] = outcome.failure->detail;
  if (outcome.verdict) {
    object["chunks"] = outcome.verdict->chunks;
    object["records"] = outcome.verdict->records;
    object["bytes"] = outcome.verdict->bytes;
    object["damage"] = Json::array();
    for (const Finding& finding : outcome.verdict->findings) object["damage"].push_back(json_of(finding));
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace recordfs
