// The URLs that the client has named, and the origins that serve them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/base/result.h"
#include "core/fetch/exchange.h"
#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Not thread-safe.
class UrlNames {
 public:
  struct Named {
    std::string url{};
    Origin* origin = nullptr;
    Reach reach{};
    bool uses_netrc = false;
  };

  UrlNames(const OriginOptions& options, SendOnce send) : options_(options), send_(std::move(send)) {}

  // Takes a URL, and returns its printable name. `is_of_user`: the user has named it, not a file. Fails with
  // kUnsupported if there is no origin for it, and with kLimit.
  Result<std::string> add(const std::string& url, bool is_of_user);
  // Returns what a printable name means: that of a URL that was added, or one below it. Fails as add().
  Result<Named> find(const std::string& name);

  // A URL of the user has led to addresses of these kinds, so that files may name some, too.
  void allow(const Reach& reach) {
    if (reach.is_of_user) allowed_ |= reach.addresses;
  }

 private:
  Result<Origin*> origin_of(const std::string& url);
  // Returns the URL of a name, with its secrets.
  std::string url_of(const std::string& name) const;

  const OriginOptions options_;
  const SendOnce send_;
  std::map<std::string, std::string> secret_urls_;  // by printable name: the URLs that differ from it
  std::set<std::string> hosts_of_user_;
  std::map<std::string, std::unique_ptr<Origin>> origins_;  // by scheme and host
  unsigned allowed_ = 0;
};

}  // namespace recordfs::fetch
