// The fuzz target of the origins: takes any bytes as a server's listing, error and keys, as a file of settings, and as
// a URL. Names in listings are those of files, headers have one line, and messages too.
#include <algorithm>
#include <string>
#include <string_view>

#include "core/fetch/autoindex.h"
#include "core/fetch/credential_services.h"
#include "core/fetch/hugging_face.h"
#include "core/fetch/ini_file.h"
#include "core/fetch/s3_listing.h"
#include "core/fetch/s3_origin.h"
#include "core/fetch/url.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/target.h"

namespace recordfs::fuzz {
namespace {

using fetch::HttpRequest;
using fetch::HttpResponse;

fetch::Environment empty_environment() {
  return {.variable = [](const char*) { return std::string(); },
          .now = [] { return std::chrono::system_clock::time_point(); }};
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void expect_request(const HttpRequest& request) {
  expect(is_one_line(request.url), "a URL of several lines");
  expect(std::ranges::all_of(request.headers, is_one_line), "a header of several lines");
}

// The first line of the input is a header, and all of it is the body.
HttpResponse response_of(std::string_view input, long status) {
  HttpResponse response;
  response.status = status;
  response.body = input;
  const std::string line(input.substr(0, input.find_first_of("\r\n")));
  for (const char* const name :
       {"link", "date", "x-amz-bucket-region", "x-error-message", "x-repo-commit", "x-linked-etag"}) {
    response.headers.emplace_back(name, line);
  }
  return response;
}

void check(const Result<fetch::Origin::Page>& page) {
  if (!page) return expect(is_one_line(page.error().detail), "an error of several lines");
  for (const remote::Entry& entry : page->entries) expect(fetch::is_entry_name(entry.name), "a name that no file has");
}

void ask(fetch::Origin& origin, const std::string& url, std::string_view input) {
  const auto page = origin.parse_list(url, response_of(input, 200));
  check(page);
  if (page && !page->next.empty()) expect_request(origin.list(url, page->next).value());
  const auto linked = origin.linked(response_of(input, 302));
  for (const long status : {301, 400, 403, 404, 500}) {
    const fetch::Failure failure = origin.explain(url, response_of(input, status));
    expect(is_one_line(failure.error.detail), "a message of several lines");
    const auto request = origin.object(url + "x", {.end = 1, .if_match = linked.etag, .version = linked.version});
    expect_request(request.value());
  }
}

void ask_for_keys(std::string_view input) {
  const auto send = [&](const HttpRequest& request, std::chrono::milliseconds) -> Result<HttpResponse> {
    expect_request(request);
    return response_of(input, 200);
  };
  const auto found = fetch::machine_credentials(empty_environment(), send);
  if (!found || !*found) return;
  HttpRequest request;
  request.url = "https://h/";
  sign(**found, {.region = "r", .service = "s3", .time = {}}, request);
  expect_request(request);
}

void check_url(std::string_view input) {
  const std::string text(input);
  const std::string printable = fetch::printable(text);
  expect(fetch::printable(printable) == printable, "a printed URL is printed otherwise");
  expect(is_one_line(printable), "a printed URL of several lines");
  const auto url = fetch::parse_url(text);
  if (!url || !url->is_http()) return;
  const auto again = fetch::parse_url(url->text());
  expect(again && again->text() == url->text(), "a URL changes when it is sent");
  expect(is_one_line(url->text()), "a URL of several lines");
  expect_request(fetch::origin_for(text, {}, nullptr)->object(text, {.end = 1}).value());
}

void take_answers(Bytes input) {
  const std::string_view text = as_text(input);
  for (const std::string_view prefix : {"", "d/"}) check(fetch::parse_s3_listing(text, prefix));
  check(fetch::parse_autoindex(text));
  const auto settings = fetch::parse_ini(text);
  if (!settings) expect(is_one_line(settings.error().detail), "an error of several lines");
  const auto bucket = fetch::s3_origin(fetch::S3Service{.endpoint = {}, .region = "us-east-1"},
                                       std::make_unique<fetch::FixedCredentials>(std::nullopt), empty_environment());
  ask(*bucket, "s3://bucket/", text);
  ask(*fetch::hugging_face(empty_environment(), false), "hf://user/repo/", text);
  ask_for_keys(text);
  check_url(text);
  check_url("https://" + std::string(text));
}

}  // namespace

Target origins_target() {
  return {.run_input = take_answers, .mutator_for = [](Bytes) { return nullptr; }};
}

}  // namespace recordfs::fuzz
