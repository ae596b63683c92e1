// What a failure of libcurl means.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/fetch/transfer.h"

namespace recordfs::fetch {

struct NetworkFailure {
  bool may_pass = false;
  int most_tries = 0;  // 0: as many as the deadline permits
  Error error{};
};

// Returns what the failure of a transfer to a host means that has ended before its response.
NetworkFailure explain_transfer(const TransferEnd& end, std::string_view host);

}  // namespace recordfs::fetch
