// The task of reading one page of a directory.
#pragma once

#include <string>

#include "core/fetch/exchange.h"
#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Not thread-safe.
class ListTask final : public ExchangeTask {
 public:
  static constexpr std::size_t kMostBytes = 16u << 20;

  // `page` as for Origin::list(). `origin` must outlive it.
  ListTask(Origin& origin, std::string url, std::string page);

  Result<Outgoing> request() override;
  Verdict take_head(const HttpResponse& response, const Origin::Linked& linked) override;
  bool take_body(Bytes piece) override;
  Verdict end_body(const std::string& failure) override;
  std::uint64_t progress() const override { return most_; }
  Result<void> take_redirect(const HttpRequest&) override { return {}; }

  // Returns the entries. Fails as Origin::parse_list(). REQUIRES: the exchange has succeeded.
  Result<Origin::Page> parse() const { return origin_.parse_list(url_, response_); }
  const std::string& url() const { return url_; }
  const std::string& page() const { return page_; }

 private:
  Origin& origin_;
  const std::string url_;
  const std::string page_;
  HttpResponse response_{};
  std::size_t most_ = 0;  // bytes of the body that any attempt has received
  bool is_too_long_ = false;
};

}  // namespace recordfs::fetch
