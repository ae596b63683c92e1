#include "core/fetch/url_names.h"

#include <utility>

namespace recordfs::fetch {
namespace {

constexpr std::size_t kLongestUrl = 8u << 10;
constexpr std::size_t kMostNames = 1u << 16;
constexpr std::size_t kMostOrigins = 1u << 12;

Error too_many() { return {.code = Code::kLimit, .detail = "too many different URLs"}; }

// Returns "https://host:port", with userinfo if there is one.
std::string host_of(const std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  return url.substr(0, url.find_first_of("/?#", begin + 3));
}

bool is_web(const std::string& url) { return url.starts_with("http:") || url.starts_with("https:"); }

// Returns a URL with the path "/" if it has no path, as printable() does.
std::string with_path(const std::string& url) { return is_web(url) && host_of(url) == url ? url + '/' : url; }

}  // namespace

Result<Origin*> UrlNames::origin_of(const std::string& url) {
  const std::string host = host_of(url);
  if (const auto known = origins_.find(host); known != origins_.end()) return known->second.get();
  if (origins_.size() >= kMostOrigins) return too_many();
  auto made = origin_for(url, options_, send_);
  if (!made) return Error{.code = Code::kUnsupported, .detail = "not a URL that recordfs can read"};
  return origins_.emplace(host, std::move(made)).first->second.get();
}

Result<std::string> UrlNames::add(const std::string& url, bool is_of_user) {
  if (url.size() > kLongestUrl) return Error{.code = Code::kLimit, .detail = "the URL is too long"};
  TRY(origin_of(url));
  if (secret_urls_.size() >= kMostNames || hosts_of_user_.size() >= kMostNames) return too_many();
  std::string name = printable(url);
  if (name != url) secret_urls_[name] = with_path(url);
  if (is_of_user) hosts_of_user_.insert(host_of(name));
  return name;
}

std::string UrlNames::url_of(const std::string& name) const {
  if (const auto known = secret_urls_.find(name); known != secret_urls_.end()) return known->second;
  for (std::size_t end = name.rfind('/'); end != std::string::npos && end > 0; end = name.rfind('/', end - 1)) {
    for (const std::size_t length : {end + 1, end}) {
      const auto above = secret_urls_.find(name.substr(0, length));
      if (above == secret_urls_.end() || above->second.find_first_of("?#") != std::string::npos) continue;
      // The rest would become a part of the host, which then gets the secrets.
      if (above->first.ends_with('/') != above->second.ends_with('/')) continue;
      return above->second + name.substr(length);
    }
  }
  return name;
}

Result<UrlNames::Named> UrlNames::find(const std::string& name) {
  if (name.size() > kLongestUrl) return Error{.code = Code::kLimit, .detail = "the URL is too long"};
  Named named{.url = url_of(name)};
  ASSIGN_OR_RETURN(named.origin, origin_of(named.url));
  named.reach.is_of_user = hosts_of_user_.contains(host_of(printable(name)));
  named.reach.addresses = named.reach.is_of_user ? 0 : allowed_;
  named.uses_netrc = is_web(named.url);
  return named;
}

}  // namespace recordfs::fetch
