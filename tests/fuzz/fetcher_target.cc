// The fuzz target of the fetcher: takes any bytes as a message between it and its client, and as the responses of a
// server to requests for one object. Whatever the server sends, no byte is written outside of the memory for it, a
// redirect leads to a web server, and versions do not mix.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/fetch/addresses.h"
#include "core/fetch/http_headers.h"
#include "core/fetch/object.h"
#include "core/fetch/redirect.h"
#include "core/fetch/retry.h"
#include "core/remote/protocol.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/target.h"

namespace recordfs::fuzz {
namespace {

using fetch::HttpRequest;
using fetch::HttpResponse;
using fetch::ObjectTask;
using fetch::Verdict;

// --- messages

void check_messages(Bytes input) {
  if (const auto request = remote::parse_request(input)) {
    const std::string packet = remote::packet(*request);
    expect(std::ranges::equal(as_bytes(packet), input), "a request has two forms");
  }
  if (const auto reply = remote::parse_reply(input)) {
    const std::string packet = remote::packet(*reply);
    const auto again = remote::parse_reply(as_bytes(packet));
    expect(again && remote::packet(*again) == packet, "a reply changes when it is sent");
  }
  if (const auto entries = remote::parse_page(input)) {
    std::string page;
    for (const remote::Entry& entry : *entries) expect(remote::append(entry, page), "a page that is too long");
    const auto again = remote::parse_page(as_bytes(page));
    expect(again && again->size() == entries->size(), "a page changes when it is sent");
  }
}

// --- responses

class FixedOrigin final : public fetch::Origin {
 public:
  Result<HttpRequest> object(const std::string& url, const fetch::ObjectRange& range) override {
    expect(range.begin < range.end, "a request for no bytes");
    HttpRequest request;
    request.url = url;
    request.headers = {"Authorization: secret"};
    return request;
  }
  Result<HttpRequest> list(const std::string& url, const std::string&) override {
    HttpRequest request;
    request.url = url;
    return request;
  }
  Result<Page> parse_list(const std::string&, const HttpResponse&) const override { return Page{}; }
  fetch::Failure explain(const std::string&, const HttpResponse&) override { return {}; }
};

// A response of the input: lines of headers, an empty line, and a body that ends where the next response begins.
struct Answer {
  HttpResponse response{};
  std::string_view body{};
  bool is_complete = false;
};

Answer take_answer(std::string_view& input) {
  constexpr std::string_view kNext = "\n%%\n";
  std::string_view text = input.substr(0, input.find(kNext));
  input.remove_prefix(std::min(input.size(), text.size() + kNext.size()));
  fetch::HeaderCollector collector;
  Answer answer;
  while (!text.empty() && !answer.is_complete) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const auto state = collector.add(text.substr(0, end));
    text.remove_prefix(end);
    if (state == fetch::HeaderCollector::State::kTooLong) return {};
    answer.is_complete = state == fetch::HeaderCollector::State::kComplete;
  }
  answer.response = collector.response();
  answer.body = text;
  return answer;
}

void check_redirect(const HttpRequest& request, const HttpResponse& response) {
  const auto next = fetch::follow(request, response);
  if (!next) return;
  const auto from = fetch::parts_of(request.url), to = fetch::parts_of(next->url);
  expect(to.has_value(), "a redirect to what is no URL");
  expect(to->scheme == "https" || from->scheme == "http", "a redirect from https to http");
  expect(next->url.find_first_of("\r\n") == std::string::npos, "a URL of several lines");
  const bool has_secret = !next->headers.empty();
  expect(!has_secret || to->authority() == from->authority(), "credentials for another host");
}

void check_header_values(const HttpResponse& response) {
  for (const auto& [name, value] : response.headers) {
    expect((name + value).find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
           "a header of several lines");
    if (const auto range = fetch::parse_content_range(value)) {
      expect(range->begin <= range->end && (!range->total || range->end <= *range->total), "a range that ends first");
    }
    static_cast<void>(fetch::retry_after(value, response.header("date")));
    static_cast<void>(fetch::kind_of_host(value));
    expect(fetch::message_text(value, 40).size() <= 40, "a text that is too long");
  }
}

// Returns whether the exchange goes on with another response.
bool run_response(ObjectTask& task, const Answer& answer) {
  const auto request = task.request();
  if (!request || !answer.is_complete) return false;
  check_redirect(request->request, answer.response);
  const long status = answer.response.status;
  if (status != 200 && status != 206 && status != 412 && status != 416) return true;
  Verdict verdict = task.take_head(answer.response, {});
  if (verdict.kind == Verdict::Kind::kGoOn) {
    Bytes body = as_bytes(answer.body);
    while (!body.empty()) {
      const Bytes piece = body.first(std::min<std::size_t>(body.size(), 7));
      if (!task.take_body(piece)) break;
      body = body.subspan(piece.size());
    }
    verdict = task.end_body(status % 2 == 0 ? "" : "reset");
  }
  return verdict.kind != Verdict::Kind::kDone && verdict.kind != Verdict::Kind::kFail;
}

void check_object(std::string_view input) {
  constexpr std::size_t kWanted = 64;
  constexpr std::byte kUntouched{0xA5};
  FixedOrigin origin;
  fetch::Object object;
  object.url = "https://host/x";
  object.origin = &origin;
  for (int reads = 0; reads < 3 && !input.empty(); ++reads) {
    const std::uint64_t begin = object.snapshot ? object.snapshot->size / 2 : 0;
    const std::uint64_t end = object.snapshot ? std::min(object.snapshot->size, begin + kWanted) : kWanted;
    if (begin >= end) return;
    std::array<std::byte, kWanted + 8> memory{};
    memory.fill(kUntouched);
    const auto before = object.snapshot;
    ObjectTask task(object, begin, end, MutableBytes(memory).first(static_cast<std::size_t>(end - begin)), -1);
    while (!input.empty()) {
      const Answer answer = take_answer(input);
      check_header_values(answer.response);
      if (!run_response(task, answer)) break;
    }
    expect(task.received() <= end - begin, "more bytes than were asked for");
    expect(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(end - begin), memory.end(),
                       [](std::byte byte) { return byte == kUntouched; }),
           "bytes after the memory for them");
    if (before) expect(before->version() == object.snapshot->version(), "a version that changes");
    if (!object.snapshot) return;
    expect(object.snapshot->size <= INT64_MAX, "an impossible size");
    expect(object.snapshot->version().find_first_of(" \r\n") == std::string::npos, "a version with spaces");
    expect(object.snapshot->version().size() <= 256, "a version that is too long");
  }
}

void take_bytes(Bytes input) {
  check_messages(input);
  check_object(as_text(input));
}

}  // namespace

Target fetcher_target() {
  return {.run_input = take_bytes, .mutator_for = [](Bytes) { return nullptr; }};
}

}  // namespace recordfs::fuzz
