#include "fusefs/follow/growing_file.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/base/read_window.h"
#include "core/formats/registry.h"

namespace recordfs {
namespace {

constexpr std::uint32_t kChanges = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
constexpr std::uint32_t kChangesInDirectory =
    IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR;
constexpr int kForgetsReads = -1;  // ignored by poll(2)

void raise(const Descriptor& event) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event.number(), &one, sizeof(one)) == sizeof(one));
}

// Reads all events, so that each wakes poll(2) once.
void drain(const Descriptor& from) {
  std::array<char, 4096> bytes{};
  while (from && ::read(from.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
  }
}

pollfd input(const Descriptor& from) {
  return {.fd = from ? from.number() : kForgetsReads, .events = POLLIN, .revents = 0};
}

// Returns whether a later check may succeed.
bool may_pass(Code code) { return code == Code::kIo || code == Code::kOutOfMemory || code == Code::kInterrupted; }

bool is_same(const DamageRow& a, const DamageRow& b) {
  return a.first_ordinal == b.first_ordinal && a.region.begin == b.region.begin && a.region.end == b.region.end &&
         a.region.records_lost == b.region.records_lost && a.region.reason == b.region.reason;
}

// Returns whether two completely scanned stores show the same.
bool shows_the_same(const RecordStore& a, const RecordStore& b) {
  const auto counts = a.index().totals(ScanDetail::kCounts);
  const auto others = b.index().totals(ScanDetail::kCounts);
  if (!counts || !others) return false;
  if (counts->chunks != others->chunks || counts->records != others->records || counts->bytes != others->bytes ||
      counts->rows != others->rows) {
    return false;
  }
  const auto damage = a.index().damage();
  const auto other_damage = b.index().damage();
  return damage && other_damage && std::ranges::equal(**damage, **other_damage, is_same);
}

}  // namespace

GrowingFile::GrowingFile(const Location& location, const Limits& limits, StoreResources& services,
                         const std::string& shown)
    : location_(location.absolute()),
      shown_(shown.empty() ? location.text() : shown),
      limits_(limits),
      services_(services) {}

GrowingFile::~GrowingFile() = default;

Result<std::unique_ptr<GrowingFile>> GrowingFile::open(const Location& location, const Limits& limits,
                                                       StoreResources& services, const std::string& shown) {
  std::unique_ptr<GrowingFile> followed(new GrowingFile(location, limits, services, shown));
  ASSIGN_OR_RETURN(auto file, open_source({}, location, Storage::Use::kFollow));
  TRY(followed->take(std::move(file)));
  followed->file_ = std::move(followed->next_file_);
  followed->store_ = std::move(followed->next_);
  return followed;
}

// Makes the next snapshot of the file as it is now.
Result<void> GrowingFile::take(std::shared_ptr<const Source> file) {
  const auto source = services_.windowed(file);
  ASSIGN_OR_RETURN(auto container, open_container({}, source, file->name(), limits_));
  const FollowOptions followed{.is_followed = container->traits().grows_by_appending, .shorter = store_.get()};
  next_ =
      std::make_shared<const RecordStore>(shown_, source, std::move(container), services_, Catalog::Bounds{}, followed);
  next_file_ = std::move(file);
  return {};
}

Result<std::shared_ptr<const RecordStore>> GrowingFile::grow(const std::function<void()>& wake) {
  const std::shared_ptr<const RecordStore> nothing;
  if (next_) return finish(wake);
  if (store_->index().is_scanning()) return nothing;
  auto file = file_->grown({});
  if (!file && may_pass(file.error().code)) return nothing;
  if (!file) return std::move(file).error();
  if (!*file) return nothing;
  if (!store_->traits().grows_by_appending) {
    return Error{.code = Code::kUnsupported, .detail = "the file has grown, but its format cannot be followed"};
  }
  if (!store_->records().has_room_for((*file)->size())) {
    return Error{.code = Code::kLimit, .detail = "the file has grown too large to be followed"};
  }
  auto taken = take(*std::move(file));
  // The first bytes of an empty file may not show its format yet.
  const bool is_pending = !taken && (may_pass(taken.error().code) || store_->source().size() == 0);
  if (is_pending) return nothing;
  if (!taken) return std::move(taken).error();
  return finish(wake);
}

Result<std::shared_ptr<const RecordStore>> GrowingFile::finish(const std::function<void()>& wake) {
  const std::shared_ptr<const RecordStore> nothing;
  // The scan has a waiter already, however often the file changes meanwhile.
  if (has_advanced_ && !*has_advanced_) return nothing;
  has_advanced_.reset();
  for (;;) {
    const auto caught_up = next_->index().catch_up();
    if (caught_up) break;
    if (!is_waiting(caught_up.error())) {
      next_.reset();
      return nothing;
    }
    const WaitTicket& ticket = *caught_up.error().wait;
    auto has_advanced = std::make_shared<std::atomic<bool>>(false);
    const auto advance = [has_advanced, wake] {
      *has_advanced = true;
      wake();
    };
    if (ticket.waitable->wait(ticket, advance) == 0) continue;
    has_advanced_ = std::move(has_advanced);
    return nothing;
  }
  const bool is_more = !shows_the_same(*store_, *next_);
  const auto next = std::exchange(next_, nullptr);
  file_ = std::move(next_file_);
  if (!is_more) return nothing;
  store_ = next;
  return next;
}

std::optional<bool> GrowingFile::is_known_as_present() const {
  const auto there = status_of({}, location_);
  if (!there) return std::nullopt;
  const auto id = file_->id();  // a device has none
  return !id || id->source == there->id.source;
}

std::chrono::milliseconds rest_after(std::chrono::steady_clock::duration look) {
  constexpr std::chrono::milliseconds kLeast{250};
  constexpr int kOfTheTime = 9;  // parts of rest for each part of work
  return std::max(kLeast, std::chrono::duration_cast<std::chrono::milliseconds>(look * kOfTheTime));
}

FileWatch::FileWatch(const std::vector<std::string>& paths)
    : changes_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wakes_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      stops_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!changes_) return;
  for (const std::string& path : paths) {
    if (::inotify_add_watch(changes_.number(), path.c_str(), kChangesInDirectory) >= 0) continue;
    ::inotify_add_watch(changes_.number(), path.c_str(), kChanges);
  }
}

void FileWatch::wait() { static_cast<void>(wait(kForgetsReads)); }

bool FileWatch::wait(int output) {
  std::array<pollfd, 4> watched = {input(changes_), input(wakes_), input(stops_),
                                   pollfd{.fd = output, .events = 0, .revents = 0}};
  ::poll(watched.data(), watched.size(), static_cast<int>(kPoll.count()));
  drain(changes_);
  drain(wakes_);
  return (watched.back().revents & (POLLERR | POLLHUP)) == 0;
}

void FileWatch::rest(Milliseconds time) {
  pollfd stop = input(stops_);
  ::poll(&stop, 1, static_cast<int>(time.count()));
}

void FileWatch::wake() { raise(wakes_); }

void FileWatch::stop() { raise(stops_); }

bool FileWatch::is_stopped() const {
  pollfd stop = input(stops_);
  return ::poll(&stop, 1, 0) > 0;
}

}  // namespace recordfs
