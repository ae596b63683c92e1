#include "fusefs/tree/mirror/remote_listing.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/cancellable_mutex.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostKeptEntries = 100'000;  // of a listing that is kept
constexpr std::size_t kMostTokens = 16u << 20;     // bytes of the names of pages of one listing
constexpr int kMostEmptyPages = 1000;              // consecutive ones

// Reads the pages of a directory as they are needed. Reads run one at a time.
class RemoteListing final : public MirroredListing {
 public:
  RemoteListing(const RemoteTree& tree, std::string directory) : tree_(tree), directory_(std::move(directory)) {}

  Result<void> read(const RequestContext& context, std::uint64_t place, const Take& take) override {
    ASSIGN_OR_RETURN(const auto lock, mutex_.lock(context));
    if (place == 0 || (folder_ == nullptr && starts_.empty())) restart();
    for (; place < kDots; ++place) {
      if (!take({.name = place == 0 ? "." : "..", .type = DT_DIR, .next = place + 1, .is_container = {}})) return {};
    }
    place -= kDots;
    if (folder_ != nullptr) {
      const auto& entries = folder_->entries();
      const auto from = std::ranges::lower_bound(entries, place, {}, &RemoteEntry::place);
      for (auto entry = from; entry != entries.end() && emit(*entry, take); ++entry) {
      }
      return {};
    }
    for (;;) {
      if (place < begin_ || (place >= begin_ + entries_.size() && !is_last_)) TRY(load(context, place));
      for (; place < begin_ + entries_.size(); ++place) {
        const auto at = static_cast<std::size_t>(place - begin_);
        if (is_shown_[at] && !emit(entries_[at], take)) return {};
      }
      if (is_last_) return {};
    }
  }

 private:
  static constexpr std::uint64_t kDots = 2;  // entries that precede those of the server

  struct Start {
    std::uint64_t place = 0;
    std::string page;
  };

  void restart() {
    folder_ = tree_.fresh_folder(directory_);
    starts_ = {{}};
    next_ = 0;
    tokens_ = 0;
    begin_ = 0;
    entries_.clear();
    is_last_ = false;
    collected_ = std::make_shared<RemoteFolder>(RemoteTree::Clock::now());
    collected_pages_ = 0;
  }

  // Requests the page with this place, or one before it.
  Result<void> load(const RequestContext& context, std::uint64_t place) {
    // Continues after the last page, or starts again at a page before.
    if (next_ >= starts_.size() || place < begin_ || starts_[next_].place > place) {
      const auto after = std::ranges::upper_bound(starts_, place, {}, &Start::place);
      next_ = static_cast<std::size_t>(after - starts_.begin()) - 1;
    }
    for (int empty = 0; empty < kMostEmptyPages; ++empty) {
      auto read = tree_.page(context, directory_, starts_[next_].page);
      if (!read) {
        tree_.report(directory_, read.error());
        return std::move(read).error();
      }
      RemoteTree::Page& page = *read;
      const std::uint64_t end = starts_[next_].place + page.entries.size();
      const bool is_new = next_ + 1 == starts_.size();
      if (!page.next.empty() && is_new) {
        tokens_ += page.next.size();
        if (page.next == starts_[next_].page) break;
        if (tokens_ > kMostTokens) return Error{.code = Code::kLimit, .detail = "the server's listing is too long"};
        starts_.push_back({end, page.next});
      }
      begin_ = starts_[next_].place;
      is_last_ = page.next.empty();
      entries_ = std::move(page.entries);
      took_ = page.took;
      for (RemoteEntry& entry : entries_) entry.place += begin_;
      collect();
      ++next_;
      if (!entries_.empty() || is_last_) return {};
    }
    return Error{.code = Code::kIo, .detail = "the server's listing does not end", .os_error = EREMOTEIO};
  }

  // Adds the present page to the listing that lookups use.
  void collect() {
    is_shown_.assign(entries_.size(), true);
    if (collected_ == nullptr || next_ != collected_pages_) return;
    ++collected_pages_;
    collected_->spend(took_);
    for (std::size_t i = 0; i < entries_.size(); ++i) is_shown_[i] = collected_->add(entries_[i]);
    if (is_last_) collected_->complete();
    if (is_last_ || collected_pages_ == 1) {
      auto copy = is_last_ ? std::move(collected_) : first_page();
      tree_.keep(directory_, std::move(copy));
    } else if (collected_->entries().size() > kMostKeptEntries) {
      collected_ = nullptr;
    }
  }

  std::shared_ptr<RemoteFolder> first_page() const {
    auto first = std::make_shared<RemoteFolder>(collected_->read_at());
    for (const RemoteEntry& entry : collected_->entries()) first->add(entry);
    return first;
  }

  bool emit(const RemoteEntry& entry, const Take& take) const {
    return take({.name = entry.name,
                 .type = static_cast<unsigned char>(entry.is_directory ? DT_DIR : DT_REG),
                 .next = entry.place + kDots + 1,
                 .is_container =
                     entry.is_directory ? std::nullopt : tree_.known_type(path_below(directory_, entry.name), entry)});
  }

  const RemoteTree& tree_;
  const std::string directory_;
  CancellableMutex mutex_;  // guards the following
  RemoteTree::FolderPointer folder_;
  std::vector<Start> starts_;  // of the pages that are known
  std::size_t next_ = 0;       // the page after the present one
  std::size_t tokens_ = 0;     // bytes
  std::uint64_t begin_ = 0;    // the place of the first entry of the present page
  std::vector<RemoteEntry> entries_;
  std::vector<bool> is_shown_;
  bool is_last_ = false;
  RemoteTree::Clock::duration took_{};
  std::shared_ptr<RemoteFolder> collected_;  // null: too large
  std::size_t collected_pages_ = 0;
};

}  // namespace

std::shared_ptr<MirroredListing> list_remote(const RemoteTree& tree, std::string directory) {
  return std::make_shared<RemoteListing>(tree, std::move(directory));
}

}  // namespace recordfs
