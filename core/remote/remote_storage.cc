#include "core/remote/remote_storage.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/storage.h"
#include "core/remote/protocol.h"
#include "core/remote/remote_source.h"

namespace recordfs::remote {
namespace {

constexpr std::string_view kSchemes[] = {"http", "https", "s3", "gs", "hf"};

constexpr std::chrono::milliseconds kFresh{1000};  // how long an answer is as good as a new one, at least
constexpr std::chrono::seconds kLongestFresh{10};  // and at most
constexpr int kTimesAsLong = 4;                    // as the request took
constexpr std::size_t kMostKept = 64;              // states
constexpr std::size_t kMostPages = 8;
constexpr std::size_t kMostListed = 200'000;  // entries of a listing that is kept
constexpr int kMostEmptyPages = 1000;         // consecutive ones

bool is_http(std::string_view text) { return text.starts_with("http"); }

class RemoteStorage final : public Storage {
 public:
  Result<std::shared_ptr<const Source>> open(const RequestContext& context, const Location& location,
                                             Use use) const override {
    if (use == Use::kFollow) {
      return Error{.code = Code::kIo, .detail = "a remote file cannot be followed", .os_error = EOPNOTSUPP};
    }
    auto source = opened(context, location);
    if (source) return std::shared_ptr<const Source>(std::move(*source));
    // Why a directory cannot be listed says more.
    if (source.error().os_error == EISDIR) TRY(status(context, location));
    return std::move(source).error();
  }

  Result<SourceStatus> status(const RequestContext& context, const Location& location) const override {
    const std::string& text = location.text();
    if (const auto known = kept().statuses.find(text); known && is_fresh(known->until)) return known->status;
    kept().statuses.drop(text);
    if (const auto listed = listed_status(text)) return *listed;
    const auto begin = Clock::now();
    if (!location.path().ends_with('/')) {
      // The source is opened most probably next.
      const auto source = opened(context, location);
      if (source) return keep(text, begin, status_of_source(**source));
      const Error& why = source.error();
      const bool may_be_directory = why.os_error == EISDIR || (is_not_there(why) && !is_http(text));
      if (!may_be_directory) return why;
    }
    auto page = first_page(context, text.ends_with('/') ? text : text + '/');
    if (!page && !is_answer(page.error())) return std::move(page).error();
    if (!page) return keep(text, begin, std::move(page).error());
    return keep(text, begin, status_of_directory(text));
  }

  Result<void> list(const RequestContext& context, const Location& directory, const Wanted& wanted,
                    const TakeEntry& take) const override {
    const std::string text = text_of_directory(directory);
    ASSIGN_OR_RETURN(auto page, first_page(context, text));
    int empty_pages = 0;
    Listing all;
    // A server that repeats itself would have files read twice, or have no end.
    std::set<std::string> pages;
    std::set<std::string> taken;
    const auto take_once = [&](const ListedEntry& entry) -> Result<void> {
      // A bucket may have a directory with the name of an object.
      const bool is_directory = entry.kind == SourceKind::kDirectory;
      if (taken.insert(is_directory ? entry.name + '/' : entry.name).second) return take(entry);
      return Error{.code = Code::kIo, .detail = "the server's listing has a name twice", .os_error = EREMOTEIO};
    };
    for (;;) {
      if (all.size() < kMostListed) {
        for (const Entry& entry : page->entries) all.insert_or_assign(name_in_text(directory, entry.name), entry);
      }
      for (const Entry& entry : page->entries) {
        if (!wanted || wanted(entry.name)) TRY(take_once(listed(entry)));
      }
      if (page->next.empty()) {
        kept().listings.add(text, {std::make_shared<const Listing>(std::move(all)), Clock::now() + kFresh});
        return {};
      }
      empty_pages = page->entries.empty() ? empty_pages + 1 : 0;
      ASSIGN_OR_RETURN(auto next, ask_for_page(context, text, page->next));
      if (!pages.insert(page->next).second || next->next == page->next || empty_pages == kMostEmptyPages) {
        return Error{.code = Code::kIo, .detail = "the server's listing does not end", .os_error = EREMOTEIO};
      }
      page = std::move(next);
    }
  }

  Result<std::string> list_page(const RequestContext& context, const Location& directory, const std::string& page,
                                const TakeEntry& take) const override {
    const std::string text = text_of_directory(directory);
    ASSIGN_OR_RETURN(const auto read, page.empty() ? first_page(context, text) : ask_for_page(context, text, page));
    for (const Entry& entry : read->entries) TRY(take(listed(entry)));
    return read->next;
  }

  // Encodes what would begin or end another part of the URL. The fetcher encodes the rest.
  std::string name_in_text(const Location& directory, std::string_view name) const override {
    if (!is_http(directory.text())) return std::string(name);
    std::string encoded;
    for (const char c : name) {
      switch (c) {
        case '%': encoded += "%25"; break;
        case '?': encoded += "%3F"; break;
        case '#': encoded += "%23"; break;
        default: encoded += c;
      }
    }
    return encoded;
  }

  std::uint64_t filesystem(const Location&, std::uint64_t) const override { return kFilesystem; }

  std::string text_of(std::string word, Location::NamedBy by) const override {
    return Session::text_of(std::move(word), by);
  }

  std::size_t path_size(std::string_view text) const override {
    return is_http(text) ? std::min(text.find_first_of("?#"), text.size()) : text.size();
  }

  void expect_reads(const Location& location, const FirstReads& reads) const override {
    const std::string& text = location.text();
    if (const auto known = kept().sources.find(text); known && is_fresh(known->until)) return;
    kept().reads.drop(text);
    if (auto ranges = reads(RemoteSource::id_text_of(text)); !ranges.empty()) kept().reads.add(text, std::move(ranges));
  }

  // A failure shows when the fetcher is needed.
  void prepare() const override {
    if (Session::is_used()) static_cast<void>(Session::of_process().fetcher());
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct KeptStatus {
    Result<SourceStatus> status;
    Clock::time_point until;
  };
  struct Page {
    std::vector<Entry> entries;
    std::string next;  // empty: this is the last one
  };
  using PagePtr = std::shared_ptr<const Page>;
  struct KeptPage {
    PagePtr page;
    Clock::time_point until;
  };
  using Listing = std::map<std::string, Entry>;  // by name, as it is in a text
  struct KeptListing {
    std::shared_ptr<const Listing> entries;
    Clock::time_point until;
  };
  struct KeptSource {
    Result<std::shared_ptr<const RemoteSource>> source;  // or that there is none
    Clock::time_point until;
  };

  static std::string text_of_directory(const Location& directory) {
    std::string text = directory.text();
    if (!text.ends_with('/')) text += '/';
    return text;
  }

  static ListedEntry listed(const Entry& entry) {
    return {.name = entry.name,
            .kind = entry.is_directory ? SourceKind::kDirectory : SourceKind::kFile,
            .size = entry.is_directory ? 0 : entry.size,
            .modified = {.tv_sec = entry.modified, .tv_nsec = 0},
            .version = entry.version};
  }

  // Returns whether a failure is an answer, which is the same if it is asked for again at once.
  static bool is_answer(const Error& error) {
    return error.code != Code::kPending && error.code != Code::kInterrupted && error.code != Code::kOutOfMemory;
  }

  static bool is_fresh(Clock::time_point until) { return Clock::now() < until; }

  // Returns until when the answer to a request that began at a time is good. A slow server is asked less often.
  static Clock::time_point good_until(Clock::time_point begin) {
    const auto now = Clock::now();
    return now + std::clamp<Clock::duration>(kTimesAsLong * (now - begin), kFresh, kLongestFresh);
  }

  static SourceStatus status_of_directory(const std::string& text) {
    std::string id = text.substr(0, text.find_last_not_of('/') + 1);
    std::ranges::replace(id, ' ', '+');
    return {.kind = SourceKind::kDirectory, .id = {.source = std::move(id), .version = {}}, .device = kFilesystem};
  }

  static SourceStatus status_of_source(const RemoteSource& source) {
    return {.kind = SourceKind::kFile,
            .size = source.size(),
            .id = source.id().value_or(SourceId{.source = {}, .version = {}}),
            .modified = source.modified().value_or(timespec{}),
            .device = kFilesystem};
  }

  // Returns the source that was opened just now, or opens it.
  Result<std::shared_ptr<const RemoteSource>> opened(const RequestContext& context, const Location& location) const {
    const std::string& text = location.text();
    if (location.name().empty()) {
      return Error{.code = Code::kIo, .detail = "Is a directory", .os_error = EISDIR};
    }
    const auto known = kept().sources.find(text);
    if (known && is_fresh(known->until) && (!known->source || (*known->source)->check_unchanged(context))) {
      return known->source;
    }
    kept().sources.drop(text);
    const auto begin = Clock::now();
    const auto reads = kept().reads.find(text);
    kept().reads.drop(text);
    auto source = RemoteSource::open(context, Session::of_process(), text, std::string(location.name()),
                                     reads.value_or(std::vector<ByteRange>()));
    if (!source && !is_answer(source.error())) return source;
    return kept().sources.add(text, {std::move(source), good_until(begin)}).source;
  }

  // Returns what a listing just now has said; nullopt if there was none. It does not tell the version of a file.
  std::optional<SourceStatus> listed_status(const std::string& text) const {
    const std::size_t slash = text.rfind('/');
    const std::string folder = text.substr(0, slash + 1);
    const auto listing = kept().listings.find(folder);
    if (!listing) return std::nullopt;
    if (!is_fresh(listing->until)) {
      kept().listings.drop(folder);
      return std::nullopt;
    }
    const auto found = listing->entries->find(text.substr(slash + 1));
    if (found == listing->entries->end()) return std::nullopt;
    const Entry& entry = found->second;
    if (entry.is_directory) return status_of_directory(text);
    return SourceStatus{.kind = SourceKind::kFile,
                        .size = entry.size,
                        .id = {.source = {}, .version = {}},
                        .modified = {.tv_sec = entry.modified, .tv_nsec = 0},
                        .device = kFilesystem};
  }

  // A page of a directory whose text ends with a slash.
  static Result<PagePtr> ask_for_page(const RequestContext& context, const std::string& text, const std::string& page) {
    TRY(context.permit_wait_for(kFilesystem));
    ASSIGN_OR_RETURN(auto fetcher, Session::of_process().fetcher_for(context, text));
    Result<std::vector<Entry>> entries = std::vector<Entry>();
    const auto parse = [&entries](Bytes bytes) {
      // A copy, because the fetcher could change the bytes.
      auto copy = Buffer::copy_of({}, bytes);
      entries = copy ? parse_page(copy->view()) : Result<std::vector<Entry>>(copy.error());
    };
    const Request request{.kind = RequestKind::kList, .size = kListPage, .name = text, .page = page};
    auto reply = fetcher->ask(context, request, parse);
    if (!reply && fetcher->has_ended()) {
      // Another one may work.
      ASSIGN_OR_RETURN(fetcher, Session::of_process().fetcher_for(context, text));
      reply = fetcher->ask(context, request, parse);
    }
    if (!reply) return std::move(reply).error();
    if (!entries) {
      return Error{.code = Code::kIo, .detail = "recordfs-fetch has sent an invalid list", .os_error = EREMOTEIO};
    }
    return std::make_shared<const Page>(Page{std::move(*entries), std::move(reply->page)});
  }

  // The same for the first page, which may be the one that was asked for just now.
  Result<PagePtr> first_page(const RequestContext& context, const std::string& text) const {
    if (const auto known = kept().pages.find(text); known && is_fresh(known->until)) return known->page;
    kept().pages.drop(text);
    const auto begin = Clock::now();
    ASSIGN_OR_RETURN(auto page, ask_for_page(context, text, {}));
    return kept().pages.add(text, {std::move(page), good_until(begin)}).page;
  }

  Result<SourceStatus> keep(const std::string& text, Clock::time_point begin, Result<SourceStatus> status) const {
    return kept().statuses.add(text, {std::move(status), good_until(begin)}).status;
  }

  // What was asked just now. Programs ask for a status before they open a file, and again.
  struct Kept {
    explicit Kept(Session& of) : session(of) {}
    Session& session;
    BoundedLru<std::string, KeptSource> sources{kMostKept};
    BoundedLru<std::string, KeptStatus> statuses{kMostKept};
    BoundedLru<std::string, KeptPage> pages{kMostPages};  // first ones, by directory
    BoundedLru<std::string, KeptListing> listings{kMostPages};
    BoundedLru<std::string, std::vector<ByteRange>> reads{kMostKept};  // that are expected when a file is opened
  };

  // Returns that of this process. A forked child leaves its parent's alone, whose locks threads of the parent may have.
  Kept& kept() const {
    Session& session = Session::of_process();
    Kept* known = kept_.load(std::memory_order_acquire);
    if (known != nullptr && &known->session == &session) return *known;
    auto made = std::make_unique<Kept>(session);
    if (kept_.compare_exchange_strong(known, made.get())) return *made.release();
    return *known;
  }

  mutable std::atomic<Kept*> kept_{nullptr};
};

}  // namespace

void add_remote_storages(Host host) {
  Session::begin(host);
  const auto storage = std::make_shared<const RemoteStorage>();
  for (const std::string_view scheme : kSchemes) add_storage(std::string(scheme), storage);
}

}  // namespace recordfs::remote
