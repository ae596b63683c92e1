#include "core/remote/session.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/remote/protocol.h"

namespace recordfs::remote {
namespace {

// The secrets that a fetcher finds in its environment.
constexpr const char* kSecrets[] = {"AWS_SECRET_ACCESS_KEY",
                                    "AWS_SESSION_TOKEN",
                                    "AWS_SECURITY_TOKEN",
                                    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                    "HF_TOKEN",
                                    "GS_SECRET_ACCESS_KEY",
                                    "GS_ACCESS_KEY_ID",
                                    "GOOGLE_OAUTH_ACCESS_TOKEN"};
// What may have a password in it.
constexpr const char* kProxies[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

// What stays when a process forks.
struct Shared {
  std::mutex mutex;  // guards the following; not held during fork(2)
  Host host = Host::kProgram;
  Options options;
  std::optional<Error> failed{};             // of the first start by a program
  bool has_erased = false;                   // secrets, so that another fetcher would lack them
  std::map<std::string, std::string> texts;  // of URLs that may have secrets
  std::map<std::string, std::string> words;  // the other way round
  std::set<std::string> ambiguous;           // texts of several words
  std::map<std::string, std::string> above;  // words of the directories of the user's texts; empty: several
  std::set<std::string> named_by_files;      // texts
};

Shared& shared() {
  static Shared* const all = std::make_unique<Shared>().release();  // used until the process ends
  return *all;
}

std::atomic<Session*> of_this_process{nullptr};
std::atomic<bool> has_locations{false};

// Returns whether there was one.
bool erase_secrets() {
  bool any = false;
  const auto erase = [&any](const char* name, char* value) {
    any = true;
    ::explicit_bzero(value, std::strlen(value));
    ::unsetenv(name);
  };
  for (const char* const name : kSecrets) {
    if (char* const value = std::getenv(name); value != nullptr) erase(name, value);
  }
  for (const char* const name : kProxies) {
    char* const value = std::getenv(name);
    if (value != nullptr && std::strchr(value, '@') != nullptr) erase(name, value);
  }
  return any;
}

// Returns the directory of a URL of http, or if its path is a pattern, the directory below which its files are. Empty:
// the URL has no path.
std::string directory_of(const std::string& url) {
  const std::size_t authority = url.find("//");
  const std::size_t path = authority == std::string::npos ? authority : url.find('/', authority + 2);
  if (path == std::string::npos) return {};
  const std::size_t end = std::min(url.find_first_of("*?[#", path), url.size());
  return url.substr(0, url.rfind('/', end) + 1);
}

std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> words{"--timeout=" + std::to_string(options.timeout.count())};
  if (!options.sign) words.emplace_back("--no-sign-request");
  if (!options.uses_disk) words.emplace_back("--no-cache");
  if (options.disk_bytes != 0) words.push_back("--cache-size=" + std::to_string(options.disk_bytes));
  return words;
}

// A fetcher that keeps its own deadline answers earlier.
constexpr std::chrono::seconds kGrace{10};

Result<std::shared_ptr<Fetcher>> start_program(bool is_first) {
  const std::lock_guard lock(shared().mutex);
  if (!is_first && shared().has_erased) {
    return Error{.code = Code::kIo, .detail = "recordfs-fetch has ended unexpectedly", .os_error = EREMOTEIO};
  }
  // A confined process could not start one either, and for another reason.
  auto& failed = shared().failed;
  if (failed) return *failed;
  const Options& options = shared().options;
  auto started = Fetcher::start(words_of(options), 2 * options.timeout + kGrace, options.pass_bytes);
  if (started) {
    if (shared().host == Host::kProgram && erase_secrets()) shared().has_erased = true;
  } else if (!is_first) {
    started.error().detail = "recordfs-fetch has ended unexpectedly, and cannot be started again";
  } else if (shared().host == Host::kProgram) {
    failed = started.error();
  }
  return started;
}

}  // namespace

bool may_have_secrets(const std::string& url) {
  const std::size_t authority = url.find("//");
  if (authority == std::string::npos) return false;
  // A password may have a slash in it that should be encoded.
  if (url.starts_with("http")) return url.find_first_of("@?#", authority) != std::string::npos;
  const std::size_t end = std::min(url.find_first_of("/?#", authority + 2), url.size());
  return url.substr(authority, end - authority).find('@') != std::string::npos;
}

std::string without_secrets(const std::string& url) {
  std::string text = url.starts_with("http") ? url.substr(0, url.find_first_of("?#")) : url;
  const std::size_t authority = text.find("//");
  if (authority == std::string::npos) return text;
  const std::size_t end = std::min(text.find('/', authority + 2), text.size());
  const std::size_t at = text.rfind('@', end);
  if (at != std::string::npos && at > authority) text.erase(authority + 2, at - authority - 1);
  // What precedes another @ may be a part of a password.
  return url.starts_with("http") && text.find('@') != std::string::npos ? text.substr(0, authority + 2) + "..." : text;
}

Session& Session::of_process() {
  if (Session* const made = of_this_process.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(shared().mutex);
  if (Session* const made = of_this_process.load(std::memory_order_acquire)) return *made;
  auto made = std::make_unique<Session>(0, start_program);
  // Sources use it until the process ends.
  of_this_process.store(made.release(), std::memory_order_release);
  return *of_this_process.load(std::memory_order_acquire);
}

// Other threads, which the child does not have, may have used the parent's session, and had its locks. So the child
// leaves it alone but for the socket, whose end must show when the parent ends.
void Session::replace_in_child() {
  Session* const old = of_this_process.exchange(nullptr);
  if (old != nullptr && old->fetcher_) old->fetcher_->abandon();
}

void Session::begin(Host host) {
  shared().host = host;
  if (host == Host::kProgram) return;
  ::pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                   [] {
                     shared().mutex.unlock();
                     replace_in_child();
                   });
}

void Session::set_options(const Options& options) {
  const std::lock_guard lock(shared().mutex);
  shared().options = options;
}

bool Session::uses_disk() {
  const std::lock_guard lock(shared().mutex);
  return shared().options.uses_disk;
}

BlockCache& Session::blocks() {
  std::call_once(has_blocks_, [this] {
    const std::lock_guard lock(shared().mutex);
    blocks_.emplace(memory_bytes_ != 0 ? memory_bytes_ : std::max(shared().options.memory_bytes, kBlock));
  });
  return *blocks_;
}

std::uint64_t Session::pass_bytes() const {
  const std::lock_guard lock(shared().mutex);
  return memory_bytes_ != 0 ? memory_bytes_ : shared().options.pass_bytes;
}

bool Session::is_used() { return has_locations.load(std::memory_order_relaxed); }

Result<std::shared_ptr<Fetcher>> Session::fetcher() {
  const std::lock_guard lock(mutex_);
  if (fetcher_ && !fetcher_->has_ended()) return fetcher_;
  ASSIGN_OR_RETURN(auto started, start_(!fetcher_));
  fetcher_ = std::move(started);
  known_.clear();
  return fetcher_;
}

Result<std::string> Session::name(const RequestContext& context, Fetcher& fetcher, const std::string& word,
                                  Location::NamedBy by) {
  constexpr std::size_t kRest = 256;  // of a message
  if (word.size() > kMostPerMessage - kRest)
    return Error{.code = Code::kIo, .detail = "the URL is too long", .os_error = ENAMETOOLONG};
  ASSIGN_OR_RETURN(auto reply, fetcher.ask(context, {.kind = RequestKind::kName,
                                                     .begin = by == Location::NamedBy::kFile ? 1u : 0u,
                                                     .name = word}));
  return std::move(reply.text);
}

// What is in a known directory needs no name of its own.
bool Session::is_known(const std::string& text) const {
  if (known_.contains(text)) return true;
  for (std::size_t at = text.rfind('/'); at != std::string::npos; at = text.rfind('/', at - 1)) {
    if (known_.contains(text.substr(0, at + 1))) return true;
    if (at == 0) return false;
  }
  return false;
}

Result<std::shared_ptr<Fetcher>> Session::fetcher_for(const RequestContext& context, const std::string& text) {
  ASSIGN_OR_RETURN(auto fetcher, this->fetcher());
  {
    const std::lock_guard lock(mutex_);
    if (fetcher == fetcher_ && is_known(text)) return fetcher;
  }
  std::string word = text;
  auto by = Location::NamedBy::kUser;
  {
    const std::lock_guard lock(shared().mutex);
    const auto secret = shared().words.find(text);
    const auto above = shared().above.find(text);
    const bool is_of_file = shared().named_by_files.contains(text);
    const bool is_above = secret == shared().words.end() && above != shared().above.end() && !is_of_file;
    if (shared().ambiguous.contains(text) || (is_above && above->second.empty())) {
      return Error{.code = Code::kIo,
                   .detail = "two URLs that differ in their userinfo alone cannot be read by one command",
                   .os_error = EINVAL};
    }
    if (secret != shared().words.end()) word = secret->second;
    if (is_above) word = above->second;
    if (is_of_file) by = Location::NamedBy::kFile;
  }
  auto named = name(context, *fetcher, word, by);
  if (!named && fetcher->has_ended()) {
    // Another one may work.
    ASSIGN_OR_RETURN(fetcher, this->fetcher());
    named = name(context, *fetcher, word, by);
  }
  if (!named) return std::move(named).error();
  // Other texts may differ from what the fetcher writes in spaces, the case of the host, a usual port, ...
  if (*named != text && word == text && may_have_secrets(text)) {
    return Error{
        .code = Code::kIo, .detail = "this URL is not complete: its secret part is missing", .os_error = EACCES};
  }
  const std::lock_guard lock(mutex_);
  if (fetcher == fetcher_) known_.insert(text);
  return fetcher;
}

std::string Session::text_of(std::string word, Location::NamedBy by) {
  has_locations.store(true, std::memory_order_relaxed);
  // Where the other schemes lead to, the user's settings say.
  if (!word.starts_with("http")) by = Location::NamedBy::kUser;
  const bool is_secret = may_have_secrets(word);
  {
    const std::lock_guard lock(shared().mutex);
    if (by == Location::NamedBy::kFile && !is_secret) shared().named_by_files.insert(word);
    if (!is_secret || shared().words.contains(word)) return word;
    if (const auto known = shared().texts.find(word); known != shared().texts.end()) return known->second;
  }
  auto named = of_process().fetcher();
  auto text = named ? name({}, **named, word, by) : Result<std::string>(named.error());
  std::string shown = text ? std::move(*text) : without_secrets(word);
  const std::lock_guard lock(shared().mutex);
  shared().texts.emplace(word, shown);
  const auto [known, is_new] = shared().words.emplace(shown, word);
  if (!is_new && known->second != word) shared().ambiguous.insert(shown);
  if (by == Location::NamedBy::kFile) shared().named_by_files.insert(shown);
  // The files of a pattern are listed in its directory, which needs the password too.
  const std::string directory = directory_of(word);
  if (by == Location::NamedBy::kUser && directory.find('@') != std::string::npos) {
    const auto [above, is_first] = shared().above.emplace(directory_of(shown), directory);
    if (!is_first && above->second != directory) above->second.clear();
  }
  return shown;
}

std::string Session::text_beside(const std::string& text, std::string_view suffix) {
  const auto has_more = [](const std::string& url) {
    return url.starts_with("http") && url.find_first_of("?#") != std::string::npos;
  };
  if (has_more(text)) return {};
  std::string other = text + std::string(suffix);
  const std::lock_guard lock(shared().mutex);
  if (const auto secret = shared().words.find(text); secret != shared().words.end()) {
    if (has_more(secret->second)) return {};
    shared().words.emplace(other, secret->second + std::string(suffix));
  }
  if (shared().named_by_files.contains(text)) shared().named_by_files.insert(other);
  return other;
}

Traffic Session::traffic() {
  const std::lock_guard lock(mutex_);
  return fetcher_ ? fetcher_->traffic() : Traffic();
}

}  // namespace recordfs::remote
