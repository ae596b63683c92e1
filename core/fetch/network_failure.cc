#include "core/fetch/network_failure.h"

#include <cerrno>
#include <string>

#include <fmt/format.h>

namespace recordfs::fetch {

NetworkFailure explain_transfer(const TransferEnd& end, std::string_view host) {
  const auto failure = [&](bool may_pass, int most_tries, int number) {
    return NetworkFailure{
        .may_pass = may_pass,
        .most_tries = most_tries,
        .error = {.code = Code::kIo, .detail = fmt::format("{}: {}", host, end.reason), .os_error = number}};
  };
  const int number = end.os_error != 0 ? end.os_error : EIO;
  // A mistyped name or a stopped server should not take a minute to be reported.
  constexpr int kResolutions = 3;
  constexpr int kConnections = 6;
  constexpr int kHandshakes = 3;
  switch (end.code) {
    case CURLE_OK: {
      NetworkFailure failed = failure(true, 0, EIO);
      failed.error.detail = fmt::format("{}: no response", host);
      return failed;
    }
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST: return failure(true, kResolutions, EHOSTUNREACH);
    case CURLE_COULDNT_CONNECT: return failure(true, kConnections, end.os_error != 0 ? end.os_error : ECONNREFUSED);
    case CURLE_OPERATION_TIMEDOUT: return failure(true, 0, ETIMEDOUT);
    case CURLE_SSL_CONNECT_ERROR: {
      NetworkFailure failed = failure(true, kHandshakes, number);
      const bool is_plain = end.reason.find("wrong version number") != std::string::npos;
      if (is_plain) failed.error.detail += " (the server may have no TLS; try: http:// in place of https://)";
      return failed;
    }
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_AGAIN: return failure(true, 0, number);
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: return failure(true, kHandshakes, EPROTO);
    case CURLE_OUT_OF_MEMORY: return {.may_pass = false, .most_tries = 0, .error = out_of_memory("libcurl")};
    default: return failure(false, 0, number);
  }
}

}  // namespace recordfs::fetch
