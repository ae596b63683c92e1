#include "core/fetch/hugging_face.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "core/fetch/autoindex.h"
#include "core/fetch/http_failure.h"
#include "core/fetch/http_headers.h"
#include "core/fetch/json_objects.h"
#include "core/fetch/url.h"

namespace recordfs::fetch {
namespace {

constexpr const char* kHub = "https://huggingface.co";

// A file or directory.
struct RepositoryPath {
  std::string kind;        // "datasets", "spaces" or "models"
  std::string repository;  // "USER/REPO"
  std::string revision;    // a branch, a tag or a commit
  std::string path;        // without slashes at its ends; empty: the root
};

// Takes what is before the next slash from the beginning of a text.
std::string_view take_segment(std::string_view& text) {
  const std::string_view segment = text.substr(0, text.find('/'));
  text.remove_prefix(std::min(text.size(), segment.size() + 1));
  return segment;
}

bool is_repository_name(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && percent_encoded(name) == name;
}

// Takes the revision, which may be one with slashes: "refs/pr/7" or "refs/convert/parquet".
std::string take_revision(std::string_view first, std::string_view& rest) {
  std::string revision = percent_decoded(first);
  if (revision != "refs") return revision;
  for (int more = 0; more < 2; ++more) revision += "/" + std::string(take_segment(rest));
  return revision;
}

Result<RepositoryPath> parse_path(const std::string& text) {
  ASSIGN_OR_RETURN(const Url url, parse_url(text));
  RepositoryPath parsed{.kind = "models", .repository = {}, .revision = "main", .path = {}};
  std::string_view rest = url.path;
  if (!rest.empty()) rest.remove_prefix(1);
  std::string user = url.host;
  if (user == "datasets" || user == "spaces" || user == "models") {
    parsed.kind = user;
    user = take_segment(rest);
  }
  const std::string_view segment = take_segment(rest);
  const std::string_view name = segment.substr(0, segment.find('@'));
  if (!is_repository_name(user) || !is_repository_name(name)) {
    return unsupported("no name of a repository (hf://datasets/USER/REPO[@REVISION]/PATH)");
  }
  parsed.repository = user + "/" + std::string(name);
  if (name.size() < segment.size()) parsed.revision = take_revision(segment.substr(name.size() + 1), rest);
  if (parsed.revision.empty()) return unsupported("no revision after '@'");

  while (rest.ends_with('/')) rest.remove_suffix(1);
  parsed.path = rest;
  while (!rest.empty()) {
    const std::string_view part = take_segment(rest);
    if (!is_entry_name(part) || recordfs::printable(part) != part) return unsupported("no path in a repository");
  }
  return parsed;
}

// Returns whether the parameters of a link say that it leads to the next page (RFC 8288): rel=next, with or without
// quotes, and maybe among other relations.
bool is_next(std::string_view parameters) {
  std::string text = lower_case(parameters);
  std::ranges::replace_if(
      text, [](char c) { return std::string_view("\"',\t").find(c) != std::string_view::npos; }, ' ');
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view parameter = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), parameter.size() + 1));
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || trimmed(parameter.substr(0, equals)) != "rel") continue;
    const std::string relations = " " + std::string(parameter.substr(equals + 1)) + " ";
    if (relations.find(" next ") != std::string::npos) return true;
  }
  return false;
}

// Returns the URL of the page after a listing's, as a header of the listing has it; empty: none.
std::string_view next_link(std::string_view header) {
  while (true) {
    const std::size_t begin = header.find('<');
    const std::size_t end = header.find('>', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    const std::string_view link = header.substr(begin + 1, end - begin - 1);
    header.remove_prefix(end + 1);
    if (is_next(header.substr(0, header.find('<')))) return link;
  }
}

bool is_commit(std::string_view text) {
  constexpr std::size_t kDigits = 40;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns whether an ETag of the hub names the bytes of a file, which is a hash of them.
bool names_bytes(std::string_view etag) {
  constexpr std::size_t kQuotes = 2;
  return is_strong_etag(etag) && etag.size() > kQuotes &&
         std::ranges::all_of(etag.substr(1, etag.size() - kQuotes),
                             [](char c) { return c > ' ' && c <= '~' && c != '"'; });
}

struct Hub {
  Url endpoint{};
  std::string token{};  // empty: none
};

class HuggingFace final : public Origin {
 public:
  explicit HuggingFace(Result<Hub> hub) : hub_(std::move(hub)) {}

  Result<HttpRequest> object(const std::string& url, const ObjectRange& range) override {
    ASSIGN_OR_RETURN(RepositoryPath file, parse_path(url));
    if (file.path.empty()) return system_error(EISDIR);
    ObjectRange wanted = range;
    if (!range.version.empty()) {
      file.revision = range.version;
      // The target of the redirect has ETags of its own, and a commit does not change.
      wanted.if_match.clear();
    }
    const std::string kind = file.kind == "models" ? "" : "/" + file.kind;
    ASSIGN_OR_RETURN(HttpRequest request, request_for(kind + "/" + file.repository + "/resolve/", file));
    append_range(wanted, request);
    return request;
  }

  Result<HttpRequest> list(const std::string& url, const std::string& page) override {
    ASSIGN_OR_RETURN(const RepositoryPath directory, parse_path(url));
    ASSIGN_OR_RETURN(HttpRequest request,
                     request_for("/api/" + directory.kind + "/" + directory.repository + "/tree/", directory));
    if (!page.empty()) request.url += "?cursor=" + percent_encoded(page);
    return request;
  }

  Result<Page> parse_list(const std::string& url, const HttpResponse& response) const override {
    TRY(hub_);
    ASSIGN_OR_RETURN(const RepositoryPath directory, parse_path(url));
    const std::string prefix = directory.path.empty() ? "" : directory.path + "/";
    const std::size_t first = response.body.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || response.body[first] != '[') {
      return unsupported("the server sends no listing of a repository");
    }
    Page page;
    TRY(for_each_object(response.body, [&](const JsonObject& entry) -> Result<void> {
      const std::string_view path = entry["path"];
      const bool is_directory = entry["type"] == "directory";
      if (!path.starts_with(prefix) || !(is_directory || entry["type"] == "file")) return {};
      if (!is_entry_name(path.substr(prefix.size()))) return {};
      const auto size = parse_number<std::uint64_t>(entry["size"]);
      if (!is_directory && !size) return listed_without_size();
      page.entries.push_back(
          {.name = std::string(path.substr(prefix.size())),
           .is_directory = is_directory,
           .size = is_directory ? 0 : *size,
           .version = is_directory ? "" : std::string(entry["oid"].substr(0, kLongestListedVersion))});
      return {};
    }));
    for (const auto& [name, value] : response.headers) {
      const std::string_view link = name == "link" ? next_link(value) : std::string_view();
      if (link.empty()) continue;
      ASSIGN_OR_RETURN(page.next, cursor_in(link));
      break;
    }
    return page;
  }

  Failure explain(const std::string& url, const HttpResponse& response) override;
  Linked linked(const HttpResponse& response) const override;

  std::string place(const std::string&) const override {
    return hub_ && hub_->endpoint.text() != kHub ? hub_->endpoint.text() : std::string();
  }

 private:
  Result<HttpRequest> request_for(const std::string& before, const RepositoryPath& path) const {
    TRY(hub_);
    HttpRequest request;
    request.url = hub_->endpoint.text() + before + percent_encoded(path.revision);
    if (!path.path.empty()) request.url += "/" + percent_encoded(path.path, "/");
    if (!hub_->token.empty()) {
      request.headers.push_back("Authorization: Bearer " + hub_->token);
      request.has_credentials = true;
    }
    return request;
  }

  // Returns what names the next page. A link to another server is not followed.
  Result<std::string> cursor_in(std::string_view link) const {
    const auto next = parse_url(link);
    const bool is_here =
        next && next->scheme == hub_->endpoint.scheme && next->authority() == hub_->endpoint.authority();
    std::string cursor = is_here ? query_value(next->query, "cursor") : "";
    if (cursor.empty())
      return Error{.code = Code::kDamage, .detail = "a listing with a malformed link to its next page"};
    return cursor;
  }

  const Result<Hub> hub_;
};

Failure HuggingFace::explain(const std::string&, const HttpResponse& response) {
  const std::string_view code = response.header("x-error-code");
  const bool has_token = hub_ && !hub_->token.empty();
  const auto failure = [&](const char* text) { return http_failure(response.status, text); };
  if (code == "EntryNotFound") return failure("no such file in the repository");
  if (code == "RevisionNotFound") return failure("no such revision of the repository");
  if (code == "GatedRepo") {
    return failure("the repository's authors have to allow access (ask on its page, then set HF_TOKEN)");
  }
  if (code == "RepoNotFound" || response.status == 401) {
    return failure(has_token ? "no such repository, or a private one that the token may not read"
                             : "no such repository, or a private one (set HF_TOKEN)");
  }
  const std::string message = quoted_text(response.header("x-error-message"));
  const bool is_shown = !message.empty() && !(has_token && message.find(hub_->token) != std::string::npos);
  return http_failure(response.status, is_shown ? message : "");
}

Origin::Linked HuggingFace::linked(const HttpResponse& response) const {
  Linked linked;
  const std::string_view etag = response.header("x-linked-etag");
  if (names_bytes(etag)) linked.etag = etag;
  linked.size = parse_number<std::uint64_t>(response.header("x-linked-size"));
  const std::string_view commit = response.header("x-repo-commit");
  if (is_commit(commit)) linked.version = commit;
  return linked;
}

Result<Hub> hub_of(const Environment& environment, bool sign) {
  Hub hub;
  std::string endpoint = environment.variable("HF_ENDPOINT");
  if (endpoint.empty()) endpoint = kHub;
  const auto url = parse_url(endpoint);
  if (!url || !url->is_http() || !url->userinfo.empty() || !url->query.empty()) {
    return unsupported("HF_ENDPOINT is no URL of a server (https://HOST[:PORT])");
  }
  hub.endpoint = *url;
  while (hub.endpoint.path.ends_with('/')) hub.endpoint.path.pop_back();
  if (!sign || environment.is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return hub;

  std::string token = environment.variable("HF_TOKEN");
  if (token.empty()) {
    auto stored = read_small_file(hugging_face_token_file(environment));
    const bool is_missing = !stored && (stored.error().os_error == ENOENT || stored.error().os_error == ENOTDIR);
    if (!stored && !is_missing) return std::move(stored).error();
    if (stored) token = *std::move(stored);
  }
  hub.token = trimmed(token);
  if (std::ranges::any_of(hub.token, [](char c) { return c <= ' ' || c > '~'; })) {
    return unsupported("the token of Hugging Face is malformed");
  }
  return hub;
}

}  // namespace

std::unique_ptr<Origin> hugging_face(const Environment& environment, bool sign) {
  return std::make_unique<HuggingFace>(hub_of(environment, sign));
}

std::string hugging_face_token_file(const Environment& environment) {
  const std::string cache = environment.file("XDG_CACHE_HOME", "~/.cache");
  const std::string home = environment.file("HF_HOME", cache + "/huggingface");
  return environment.file("HF_TOKEN_PATH", home + "/token");
}

}  // namespace recordfs::fetch
