#include "core/fetch/list_task.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/fetch/http_headers.h"

namespace recordfs::fetch {

ListTask::ListTask(Origin& origin, std::string url, std::string page)
    : origin_(origin), url_(std::move(url)), page_(std::move(page)) {}

Result<ExchangeTask::Outgoing> ListTask::request() {
  response_ = {};
  is_too_long_ = false;
  ASSIGN_OR_RETURN(auto request, origin_.list(url_, page_));
  return Outgoing{.request = std::move(request)};
}

Verdict ListTask::take_head(const HttpResponse& response, const Origin::Linked&) {
  constexpr long kOk = 200;
  const std::string encoding = message_text(response.header("content-encoding"), 40);
  if (response.status != kOk || !(encoding.empty() || encoding == "identity")) {
    std::string text = fmt::format("unexpected response to a request for a listing: HTTP {}", response.status);
    if (!encoding.empty()) text += ", Content-Encoding " + encoding;
    return {.kind = Verdict::Kind::kFail, .error = {.code = Code::kUnsupported, .detail = std::move(text)}};
  }
  response_ = response;
  return {};
}

bool ListTask::take_body(Bytes piece) {
  is_too_long_ = piece.size() > kMostBytes - response_.body.size();
  if (is_too_long_) return false;
  response_.body += as_text(piece);
  most_ = std::max(most_, response_.body.size());
  return true;
}

Verdict ListTask::end_body(const std::string& failure) {
  if (is_too_long_) {
    return {.kind = Verdict::Kind::kFail,
            .error = {.code = Code::kLimit, .detail = fmt::format("a listing of more than {} MiB", kMostBytes >> 20)}};
  }
  if (failure.empty()) return {.kind = Verdict::Kind::kDone};
  return {.kind = Verdict::Kind::kRetry, .error = {.code = Code::kIo, .detail = failure, .os_error = EIO}};
}

}  // namespace recordfs::fetch
