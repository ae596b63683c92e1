#include "core/fetch/s3_listing.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/parse_number.h"
#include "core/fetch/autoindex.h"
#include "core/fetch/credential_services.h"
#include "core/fetch/environment.h"
#include "core/fetch/http_headers.h"
#include "core/fetch/url.h"
#include "core/fetch/xml.h"

namespace recordfs::fetch {
namespace {

class ListingReader {
 public:
  explicit ListingReader(std::string_view prefix) : prefix_(prefix) {}

  Result<void> take(const std::string& path, const std::string& text) {
    const std::string_view element = std::string_view(path).substr(std::min(path.find('/'), path.size()));
    if (element == "/EncodingType") is_encoded_ = text == "url";
    if (element == "/IsTruncated") TRY(take_truncation(lower_case(trimmed(text))));
    if (element == "/ContinuationToken") this_page_ = text;
    if (element == "/NextContinuationToken") page_.next = text;
    if (element == "/Contents/Key") entry_.name = text;
    if (element == "/Contents/Size") size_ = parse_number<std::uint64_t>(trimmed(text));
    if (element == "/Contents/LastModified") {
      entry_.modified =
          std::chrono::system_clock::to_time_t(parse_time(text).value_or(std::chrono::system_clock::time_point()));
    }
    if (element == "/Contents/ETag" && text.size() <= kLongestListedVersion) entry_.version = text;
    if (element == "/Contents") {
      if (!size_) return listed_without_size();
      entry_.size = *std::exchange(size_, std::nullopt);
      page_.entries.push_back(std::exchange(entry_, {}));
    }
    if (element == "/CommonPrefixes/Prefix") {
      page_.entries.push_back({.name = text, .is_directory = true});
    }
    if (element.empty()) is_listing_ = path == "ListBucketResult";
    return {};
  }

  Result<Origin::Page> finish() {
    if (!is_listing_) return Error{.code = Code::kUnsupported, .detail = "the server sends no listing of a bucket"};
    // Some services send the token alone.
    const bool is_truncated = is_truncated_.value_or(!page_.next.empty());
    if (!is_truncated) page_.next.clear();
    if (is_truncated && (page_.next.empty() || page_.next == this_page_)) {
      return Error{.code = Code::kDamage, .detail = "a listing that does not end"};
    }
    const bool is_only_page = !is_truncated && this_page_.empty();
    if (is_only_page && page_.entries.empty() && !prefix_.empty()) return system_error(ENOENT);
    // The element that says how names are encoded may follow them.
    std::erase_if(page_.entries, [this](remote::Entry& entry) { return !make_name(entry); });
    return std::move(page_);
  }

 private:
  // Takes a boolean of XML. An incomplete listing must not be taken for a complete one.
  Result<void> take_truncation(std::string_view text) {
    is_truncated_ = text == "true" || text == "1";
    if (*is_truncated_ || text == "false" || text == "0") return {};
    return Error{.code = Code::kDamage, .detail = "a listing that does not tell whether it is complete"};
  }

  // Makes the name of an entry of its key. Returns false if that is no name.
  bool make_name(remote::Entry& entry) const {
    if (is_encoded_) {
      std::ranges::replace(entry.name, '+', ' ');
      entry.name = percent_decoded(entry.name);
    }
    if (!entry.name.starts_with(prefix_)) return false;
    entry.name.erase(0, prefix_.size());
    if (entry.is_directory) {
      if (!entry.name.ends_with('/')) return false;
      entry.name.pop_back();
    }
    return is_entry_name(entry.name);
  }

  const std::string_view prefix_;
  Origin::Page page_;  // with keys for names
  remote::Entry entry_;
  std::optional<std::uint64_t> size_;  // of the entry
  std::string this_page_;
  bool is_listing_ = false;
  bool is_encoded_ = false;
  std::optional<bool> is_truncated_;
};

}  // namespace

Result<Origin::Page> parse_s3_listing(std::string_view xml, std::string_view prefix) {
  ListingReader reader(prefix);
  const std::string_view start = trimmed(xml);
  if (!start.starts_with("<?xml") && !start.starts_with("<ListBucketResult")) return reader.finish();
  TRY(for_each_element(xml, [&](const std::string& path, const std::string& text) { return reader.take(path, text); }));
  return reader.finish();
}

S3Error parse_s3_error(std::string_view xml) {
  S3Error error;
  bool is_error = false;
  const auto read = for_each_element(xml, [&](const std::string& path, const std::string& text) -> Result<void> {
    if (path == "Error/Code") error.code = text;
    if (path == "Error/Message") error.message = text;
    if (path == "Error/Region") error.region = text;
    is_error = is_error || path == "Error";
    return {};
  });
  return read && is_error ? error : S3Error{};
}

}  // namespace recordfs::fetch
