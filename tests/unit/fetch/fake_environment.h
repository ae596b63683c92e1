// An environment that a test controls: variables, a home directory, the time, and servers that give out credentials.
#pragma once

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/fetch/environment.h"
#include "core/fetch/origin.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::fetch::testing {

inline HttpResponse response_with(long status, std::string body = {}) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

// Returns the value of a header; empty: there is none.
inline std::string header(const HttpRequest& request, const std::string& name) {
  for (const std::string& one : request.headers) {
    if (one.starts_with(name + ": ")) return one.substr(name.size() + 2);
  }
  return {};
}

class FakeEnvironment {
 public:
  FakeEnvironment() { variables["HOME"] = home.path(); }

  // Refers to this object.
  Environment get() {
    return {.variable = [this](const char* name) { return variables[name]; }, .now = [this] { return now; }};
  }
  // Answers each request by the next response for its method and URL, and the last one again. Others cannot connect.
  SendOnce send() {
    return [this](const HttpRequest& request, std::chrono::milliseconds timeout) -> Result<HttpResponse> {
      requests.push_back(request);
      timeouts.push_back(timeout);
      auto& answers = responses[request.method + " " + request.url];
      if (answers.empty()) return system_error(ECONNREFUSED);
      HttpResponse answer = answers.front();
      if (answers.size() > 1) answers.erase(answers.begin());
      return answer;
    };
  }

  const recordfs::testing::TempFolder home{};
  std::map<std::string, std::string> variables{};
  std::chrono::system_clock::time_point now = std::chrono::system_clock::from_time_t(1'796'000'000);  // November 2026
  std::map<std::string, std::vector<HttpResponse>> responses{};                                       // by "METHOD URL"
  std::vector<HttpRequest> requests{};
  std::vector<std::chrono::milliseconds> timeouts{};
};

}  // namespace recordfs::fetch::testing
