// Prints the signed requests for objects and directories, for signatures_test.py:
//
//   signed_requests SECONDS   the time of the signatures, since 1970
//
// Each line of standard input is "object URL" or "list URL PAGE", of which URL and PAGE are percent-encoded. For each
// it prints the request's URL and headers, and an empty line. The environment has the credentials and the endpoint.
#include <chrono>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>

#include "core/fetch/credentials.h"
#include "core/fetch/s3_origin.h"
#include "core/fetch/url.h"

namespace recordfs::fetch {
namespace {

Result<HttpRequest> request_for(const std::string& line) {
  std::istringstream words(line);
  std::string kind;
  std::time_t seconds = 0;
  std::string url;
  std::string page;
  words >> kind >> seconds >> url >> page;
  Environment environment = process_environment();
  environment.now = [seconds] { return std::chrono::system_clock::from_time_t(seconds); };
  const auto origin =
      s3_origin(amazon_service(environment, true), std::make_unique<AwsCredentials>(environment, nullptr), environment);
  if (kind == "list") return origin->list(percent_decoded(url), percent_decoded(page));
  return origin->object(percent_decoded(url), {.begin = 3, .end = 10});
}

int run() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto request = request_for(line);
    if (!request) {
      std::cerr << line << ": " << to_string(request.error()) << '\n';
      return 1;
    }
    std::cout << request->url << '\n';
    for (const std::string& header : request->headers) std::cout << header << '\n';
    std::cout << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace recordfs::fetch

int main() { return recordfs::fetch::run(); }
