#include "core/fetch/object.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/parse_number.h"
#include "core/fetch/http_headers.h"
#include "core/fetch/redirect.h"

namespace recordfs::fetch {
namespace {

constexpr long kPartial = 206, kFailedPrecondition = 412, kUnsatisfiable = 416;
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 62;

Verdict fail(Code code, std::string reason, int os_error = 0) {
  return {.kind = Verdict::Kind::kFail, .error = {.code = code, .detail = std::move(reason), .os_error = os_error}};
}

Verdict wrong(std::string reason) {
  return {.kind = Verdict::Kind::kWrong, .error = {.code = Code::kIo, .detail = std::move(reason), .os_error = EIO}};
}

Verdict changed() { return fail(Code::kChanged, "the object has changed since it was opened"); }

// Returns why the body is not the object's bytes; empty: it is.
std::string encoding_of(const HttpResponse& response) {
  std::string encoding = message_text(response.header("content-encoding"), 40);
  return lower_case(encoding) == "identity" ? std::string() : encoding;
}

}  // namespace

ObjectTask::ObjectTask(Object& object, std::uint64_t begin, std::uint64_t end, MutableBytes out, int spool_folder)
    : object_(object), begin_(begin), end_(end), out_(out), spool_folder_(spool_folder), sums_(begin) {}

Result<ExchangeTask::Outgoing> ObjectTask::request() {
  attempt_ = received_;
  expected_ = 0;
  is_too_long_ = false;
  spool_.reset();
  ObjectRange range{.begin = begin_ + received_, .end = asks_for_all_ ? 0 : end_};
  if (object_.snapshot) {
    range.if_match = object_.snapshot->if_match();
    range.version =
        object_.snapshot->version_id.empty() ? object_.snapshot->linked_version : object_.snapshot->version_id;
  }
  target_ = object_.target;
  if (target_) {
    url_ = target_->url;
    return Outgoing{.request = request_for_target(*target_, range), .is_target = true};
  }
  ASSIGN_OR_RETURN(auto request, object_.origin->object(object_.url, range));
  url_ = request.url;
  return Outgoing{.request = std::move(request)};
}

Result<void> ObjectTask::take_redirect(const HttpRequest& target) {
  if (is_directory_of(target.url, url_)) {
    return Error{.code = Code::kIo, .detail = "is a directory", .os_error = EISDIR};
  }
  url_ = target.url;
  target_ = target;
  return {};
}

Verdict ObjectTask::take_head(const HttpResponse& response, const Origin::Linked& linked) {
  if (response.status == kFailedPrecondition) {
    return object_.snapshot ? changed() : fail(Code::kIo, "HTTP 412: precondition failed", EIO);
  }
  if (response.status == kUnsatisfiable) return take_unsatisfiable(response, linked);
  if (const std::string encoding = encoding_of(response); !encoding.empty()) {
    return fail(Code::kUnsupported,
                fmt::format("the server sends the file with Content-Encoding {}, so that ranges of it cannot be read",
                            encoding));
  }
  Verdict verdict = response.status == kPartial ? take_part(response, linked) : take_whole(response, linked);
  if (verdict.kind == Verdict::Kind::kGoOn) object_.target = target_;
  return verdict;
}

std::optional<Verdict> ObjectTask::check(const HttpResponse& response, const Origin::Linked& linked,
                                         std::optional<std::uint64_t> size) {
  if (size.value_or(0) > kLargestSize) return fail(Code::kLimit, "the server states an impossible size");
  if (object_.snapshot) {
    switch (compare(*object_.snapshot, response, linked, size)) {
      case Comparison::kSame: return std::nullopt;
      case Comparison::kChanged: return changed();
      case Comparison::kWrong: return wrong("the server's responses contradict each other");
    }
  }
  if (!size) return fail(Code::kUnsupported, "the server does not tell the size of the file");
  if (linked.size && *linked.size != *size) return wrong("the redirect states another size than its target");
  if (begin_ != 0 && begin_ >= *size) return changed();
  object_.snapshot = snapshot_of(response, linked, *size);
  return std::nullopt;
}

Verdict ObjectTask::take_part(const HttpResponse& response, const Origin::Linked& linked) {
  const std::uint64_t begin = begin_ + received_;
  const auto range = parse_content_range(response.header("content-range"));
  const bool seems_empty = !range && response.header("content-range").ends_with("/0");
  if (seems_empty && !object_.snapshot && !asks_for_all_) return ask_for_all();
  if (!range) return wrong("the server sent a part of the file without a valid Content-Range");
  if (range->begin != begin || range->end <= begin || range->end > end_) {
    return wrong(
        fmt::format("the server sent bytes {}-{} in place of {}-{}", range->begin, range->end - 1, begin, end_ - 1));
  }
  if (auto verdict = check(response, linked, range->total)) return *verdict;
  if (range->end > object_.snapshot->size) return wrong("the server sent bytes after the end of the file");
  end_ = std::min(end_, object_.snapshot->size);
  expected_ = range->end - begin;
  const auto length = parse_number<std::uint64_t>(response.header("content-length"));
  if (length.value_or(expected_) > expected_) return wrong("the server states more bytes than it was asked for");
  return {};
}

Verdict ObjectTask::take_whole(const HttpResponse& response, const Origin::Linked& linked) {
  const auto length = parse_number<std::uint64_t>(response.header("content-length"));
  if (!length || !response.header("transfer-encoding").empty()) {
    return fail(Code::kUnsupported,
                "the server ignores range requests and does not tell the size of the file "
                "(download it first)");
  }
  const bool is_answer = begin_ + received_ == 0 && *length <= end_;
  if (!is_answer && *length > Spool::kMostBytes) {
    return fail(Code::kUnsupported,
                fmt::format("the server ignores range requests, and the file of {} bytes is larger than {} MiB "
                            "(download it first)",
                            *length, Spool::kMostBytes >> 20));
  }
  if (auto verdict = check(response, linked, length)) return *verdict;
  end_ = std::min(end_, *length);
  expected_ = *length;
  if (is_answer) return expected_ == 0 ? Verdict{.kind = Verdict::Kind::kDone} : Verdict{};
  auto spool = Spool::create(spool_folder_, *length);
  if (!spool) return {.kind = Verdict::Kind::kFail, .error = std::move(spool).error()};
  spool_ = std::move(*spool);
  return {};
}

Verdict ObjectTask::take_unsatisfiable(const HttpResponse& response, const Origin::Linked& linked) {
  const auto range = parse_content_range(response.header("content-range"));
  const bool has_total = range && range->total.has_value();
  const std::uint64_t total = has_total ? *range->total : 0;
  Verdict refused = wrong("the server refused a range that is in the file");
  if (object_.snapshot) return has_total && total != object_.snapshot->size ? changed() : refused;
  if (begin_ != 0) return changed();
  // Nothing of an empty object can be asked for.
  if (total != 0) return refused;
  if (!has_total) return asks_for_all_ ? refused : ask_for_all();
  object_.snapshot = snapshot_of(response, linked, 0);
  end_ = 0;
  return {.kind = Verdict::Kind::kDone};
}

Verdict ObjectTask::ask_for_all() {
  asks_for_all_ = true;
  Verdict again = wrong("the server sends less than it is asked for");
  again.kind = Verdict::Kind::kMore;
  return again;
}

bool ObjectTask::take_body(Bytes piece) {
  is_too_long_ = piece.size() > expected_;
  if (is_too_long_) return false;
  expected_ -= piece.size();
  if (spool_) return spool_->append(piece);
  const MutableBytes room = out_.subspan(static_cast<std::size_t>(received_));
  if (piece.size() > room.size()) return false;
  copy_bytes(piece, room);
  sums_.append(piece);
  received_ += piece.size();
  return true;
}

Verdict ObjectTask::end_body(const std::string& failure) {
  if (is_too_long_) {
    received_ = attempt_;
    sums_.give_up();
    return wrong("the server sent more bytes than it stated");
  }
  if (spool_) return end_spool(failure);
  if (begin_ + received_ == end_) {
    if (end_ == object_.snapshot->size) sums_.end();
    return {.kind = Verdict::Kind::kDone};
  }
  Verdict rest = wrong(failure.empty() ? "the server sends less than it is asked for" : failure);
  // A server may send a part of a range.
  rest.kind = expected_ == 0 && received_ > attempt_ ? Verdict::Kind::kMore : Verdict::Kind::kRetry;
  return rest;
}

Verdict ObjectTask::end_spool(const std::string& failure) {
  if (expected_ != 0) {
    Verdict again = wrong(failure.empty() ? "the connection was closed before the end of the response" : failure);
    again.kind = Verdict::Kind::kRetry;
    return again;
  }
  const std::uint64_t begin = begin_ + received_;
  const MutableBytes room = out_.subspan(static_cast<std::size_t>(received_), static_cast<std::size_t>(end_ - begin));
  if (!spool_->read(begin, room)) return fail(Code::kIo, "cannot store the file", EIO);
  received_ += room.size();
  sums_.give_up();
  object_.spool = std::move(spool_);
  has_spooled_ = true;
  return {.kind = Verdict::Kind::kDone};
}

}  // namespace recordfs::fetch
