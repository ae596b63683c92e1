#include "fusefs/glue/operations.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace recordfs {
namespace {

// Snapshots never change, so the kernel may cache them indefinitely.
constexpr double kSnapshotTimeout = 1e9;  // seconds
// The kernel looks up mirrored files each time. Attributes of an open file may be this old.
constexpr double kMirrorTimeout = 0.005;
// A new snapshot invalidates attributes, except those in replies on their way to the kernel.
constexpr double kFollowTimeout = 1;
constexpr std::size_t kFragment = 512;  // bytes per unit of st_blocks
constexpr std::size_t kLongestName = 255;
// The kernel holds back further reads at this number; its default is 12. Slow reads must not block fast ones.
constexpr unsigned kMostReadsAtOnce = 1024;

Mount& mount_of(fuse_req_t request) { return *static_cast<Mount*>(fuse_req_userdata(request)); }

// Counts the request.
Mount& counted(fuse_req_t request, RequestKind kind) {
  Mount& mount = mount_of(request);
  mount.requests.add(kind);
  return mount;
}

using Reply = Dispatcher::Reply;

// Answers a request that the kernel may interrupt.
template <class Handler>
void answer(fuse_req_t request, Mount& mount, const Handler& handler) {
  mount.dispatcher.answer(request, Dispatcher::Interrupt::kAnswerEintr, handler);
}
// The same for a handler that gets a copy of `name`, which libfuse frees.
template <class Handler>
void answer_for(fuse_req_t request, Mount& mount, const char* name, const Handler& handler) {
  const int thrown = error_thrown_by([&] {
    answer(request, mount,
           [handler, name = std::string(name)](const RequestContext& context) { return handler(context, name); });
  });
  if (thrown != 0) fuse_reply_err(request, thrown);
}

mode_t type_bits(FileType type) {
  switch (type) {
    case FileType::kDirectory: return S_IFDIR;
    case FileType::kLink: return S_IFLNK;
    case FileType::kUnknown: return 0;
    case FileType::kRegular: break;
  }
  return S_IFREG;
}

struct stat stat_of(std::uint64_t inode, FileType type, std::uint64_t size, const Ownership& ownership) {
  struct stat st {};
  st.st_ino = inode;
  st.st_nlink = 1;
  st.st_uid = ownership.uid;
  st.st_gid = ownership.gid;
  const mode_t links = 0777;
  const mode_t permissions = type == FileType::kDirectory ? ownership.directory_mode
                             : type == FileType::kLink    ? links
                                                          : ownership.file_mode;
  st.st_mode = type_bits(type) | permissions;
  st.st_size = static_cast<off_t>(size);
  st.st_blocks = static_cast<blkcnt_t>((size + kFragment - 1) / kFragment);
  st.st_blksize = 4096;
  st.st_atim = st.st_mtim = st.st_ctim = ownership.modified;
  return st;
}

// What has to be undone if the kernel does not receive a reply.
class PendingReply {
 public:
  PendingReply() = default;
  ~PendingReply() {
    if (undo_) undo_();
  }
  PendingReply(const PendingReply&) = delete;
  PendingReply& operator=(const PendingReply&) = delete;

  void set_undo(std::function<void()> undo) { undo_ = std::move(undo); }
  // Returns `status`, libfuse's result for the reply.
  int sent(int status) {
    if (status == 0) undo_ = nullptr;
    return status;
  }

 private:
  std::function<void()> undo_;
};

double attribute_timeout(const FileStatus& status) {
  switch (status.cache_policy) {
    case CachePolicy::kPermanent:
    case CachePolicy::kNumber: return kSnapshotTimeout;
    case CachePolicy::kSnapshot: return kFollowTimeout;
    case CachePolicy::kNone: break;
  }
  return kMirrorTimeout;
}

double entry_timeout(const FileStatus& status) {
  if (status.cache_policy == CachePolicy::kSnapshot) return kFollowTimeout;
  return status.cache_policy == CachePolicy::kPermanent ? kSnapshotTimeout : 0;
}

fuse_entry_param entry_of(const FileStatus& status) {
  fuse_entry_param entry{};
  entry.ino = status.number;
  entry.attr = stat_of(status.inode, status.type, status.size, status.ownership);
  entry.attr_timeout = attribute_timeout(status);
  entry.entry_timeout = entry_timeout(status);
  return entry;
}

void on_init(void* userdata, fuse_conn_info* connection) {
  auto& mount = *static_cast<Mount*>(userdata);
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA |
                                             FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT |
                          FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_ASYNC_READ |
                          (mount.tree.may_change() ? FUSE_CAP_AUTO_INVAL_DATA : 0u);
  connection->want |= wanted & connection->capable;
  connection->max_readahead = 1u << 20;
  connection->max_background = kMostReadsAtOnce;
  connection->congestion_threshold = kMostReadsAtOnce / 4 * 3;
  connection->max_read = mount.max_read;
  mount.has_parallel_directories = (connection->capable & FUSE_CAP_PARALLEL_DIROPS) != 0;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
  // libfuse sends the reply next. Until then the kernel holds back all other requests.
  if (mount.awaits_init_reply.exchange(false)) mount.init_answered();
#endif
}

// Replies that a name does not exist. The kernel may cache that unless names can appear later.
Reply no_entry(bool may_come) {
  if (may_come) return [](fuse_req_t request) { return fuse_reply_err(request, ENOENT); };
  return [](fuse_req_t request) {
    fuse_entry_param nothing{};
    nothing.entry_timeout = kSnapshotTimeout;
    return fuse_reply_entry(request, &nothing);
  };
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Mount& mount = counted(request, RequestKind::kLookup);
  // The kernel does not check the length.
  if (std::string_view(name).size() > kLongestName) {
    fuse_reply_err(request, ENAMETOOLONG);
    return;
  }
  answer_for(request, mount, name,
             [&tree = mount.tree, parent](const RequestContext& context, const std::string& entry) -> Result<Reply> {
               auto pending = std::make_shared<PendingReply>();
               auto found = tree.look_up_and_reference(context, parent, entry);
               if (!found && found.error().code == Code::kNotFound)
                 return no_entry(tree.subtree(parent).may_gain_names(context, parent));
               if (!found) return std::move(found).error();
               pending->set_undo([&tree, number = found->number] { tree.forget(number, 1); });
               return Reply([pending, param = entry_of(*found)](fuse_req_t to) {
                 return pending->sent(fuse_reply_entry(to, &param));
               });
             });
}

void on_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  Mount& mount = counted(request, RequestKind::kGetattr);
  answer(request, mount, [&tree = mount.tree, number](const RequestContext& context) -> Result<Reply> {
    ASSIGN_OR_RETURN(const auto status, tree.subtree(number).status(context, number));
    return Reply([st = stat_of(status.inode, status.type, status.size, status.ownership),
                  timeout = attribute_timeout(status)](fuse_req_t to) { return fuse_reply_attr(to, &st, timeout); });
  });
}

void on_readlink(fuse_req_t request, fuse_ino_t number) {
  Mount& mount = counted(request, RequestKind::kReadlink);
  answer(request, mount, [&tree = mount.tree, number](const RequestContext& context) -> Result<Reply> {
    ASSIGN_OR_RETURN(auto target, tree.subtree(number).target(context, number));
    return Reply([target = std::move(target)](fuse_req_t to) { return fuse_reply_readlink(to, target.c_str()); });
  });
}

// A READ of a record in a cached chunk passes 22 functions and locks 2 mutexes, if the container is a source of the
// mount: on_read, counted, Dispatcher::answer, Dispatcher::attempt, error_thrown_by, the handler below,
// MountTree::subtree, ContainerSubtree::read, ContainerSubtree::find, InodeTable::find, MountedContainers::at,
// NodeTree::view, RecordsView::read, RecordReader::read_at, RecordReader::cached_at, SharedCache::last_until (locks the
// cache), RecordReader::read, Layout::extent, Chunk::read, kept_open, the reply below, and, for a record's first bytes,
// ReadAheadPusher::was_read (locks its readers). The index is not asked. ReadAhead is notified only if the last read
// was of another chunk. Only while records are pushed, ReadAheadPusher::holds locks the readers once more.
void on_read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Mount& mount = counted(request, RequestKind::kRead);
  const auto handler = [&mount, number, size, offset](const RequestContext& context) -> Result<Reply> {
    ASSIGN_OR_RETURN(auto slice,
                     mount.tree.subtree(number).read(context, number, static_cast<std::uint64_t>(offset), size));
    return Reply([&mount, number, is_begin = offset == 0, slice = std::move(slice)](fuse_req_t to) {
      // Before the reply: another thread could otherwise report the reader's next read first.
      if (is_begin) mount.pusher.was_read(number);
      return fuse_reply_buf(to, reinterpret_cast<const char*>(slice.bytes.data()), slice.bytes.size());
    });
  };
  const auto answer = [&mount, request, handler] {
    mount.dispatcher.answer(request, Dispatcher::Interrupt::kIgnore, handler);
  };
  bool waits = false;
  if (offset == 0 && mount.pusher.is_pushing()) {
    error_thrown_by([&] { waits = mount.pusher.holds(number, answer); });  // without memory: does not wait
  }
  if (!waits) answer();
}

// A reply to READDIR or READDIRPLUS.
class Listing {
 public:
  Listing(fuse_req_t request, const MountTree& tree, std::size_t size, bool with_attributes)
      : request_(request), tree_(tree), buffer_(size), with_attributes_(with_attributes) {
    pending_.set_undo([this] {
      for (const std::uint64_t number : referenced_) tree_.forget(number, 1);
    });
  }

  // `dots`: number of entries that entry.next does not count.
  bool add(const MountEntry& entry, std::uint64_t dots = 0) {
    name_.assign(entry.name);
    const bool has_status = with_attributes_ && entry.size && entry.container != nullptr;
    fuse_entry_param param{};  // with node number 0: only the inode number and the type are valid
    if (has_status) {
      param = entry_of(entry.container->status(tree_.look_up_and_reference(entry), entry.node,
                                               {.type = entry.type, .size = *entry.size}));
    } else {
      param.attr.st_ino = entry.inode;
      param.attr.st_mode = type_bits(entry.type);
    }
    char* const end = buffer_.data() + used_;
    const std::size_t room = buffer_.size() - used_;
    const auto next = static_cast<off_t>(entry.next + dots);
    const std::size_t needed = with_attributes_
                                   ? fuse_add_direntry_plus(request_, end, room, name_.c_str(), &param, next)
                                   : fuse_add_direntry(request_, end, room, name_.c_str(), &param.attr, next);
    const bool is_added = needed <= room;
    if (is_added) used_ += needed;
    if (has_status && is_added) referenced_.push_back(param.ino);
    if (has_status && !is_added) tree_.forget(param.ino, 1);
    return is_added;
  }

  bool is_empty() const { return used_ == 0; }
  int reply() { return pending_.sent(fuse_reply_buf(request_, buffer_.data(), used_)); }

 private:
  fuse_req_t request_;
  const MountTree& tree_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  const bool with_attributes_;
  std::string name_;
  std::vector<std::uint64_t> referenced_;  // numbers of the entries with attributes
  PendingReply pending_;
};

constexpr std::uint64_t kDotEntries = 2;

// Adds "." and "..", which precede the tree's entries.
bool add_dots(const RequestContext& context, Listing& listing, const MountTree& tree, std::uint64_t directory,
              std::uint64_t place) {
  const auto add = [&listing](std::string_view name, std::uint64_t inode, std::uint64_t next) {
    return listing.add({.name = name, .inode = inode, .type = FileType::kDirectory, .next = next});
  };
  if (place == 0 && !add(".", tree.subtree(directory).inode(context, directory), 1)) return false;
  return place > 1 || add("..", tree.subtree(directory).parent_inode(context, directory), kDotEntries);
}

// Adds a directory's entries to the listing. `opened`: the handle of a mirrored directory, otherwise 0.
Result<void> fill(const RequestContext& context, Listing& listing, const MountTree& tree, fuse_ino_t directory,
                  std::uint64_t opened, std::uint64_t place) {
  if (opened != 0) {
    return tree.mirror()->list(context, directory, opened, place,
                               [&](const MountEntry& entry) { return listing.add(entry); });
  }
  if (!add_dots(context, listing, tree, directory, place)) return {};
  return tree.subtree(directory).list(context, directory, std::max(place, kDotEntries) - kDotEntries,
                                      [&](const MountEntry& entry) { return listing.add(entry, kDotEntries); });
}

// Answers with the failure only if the listing is empty. Otherwise the next request continues after its entries.
void list(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, std::uint64_t opened,
          bool with_attributes) {
  Mount& mount = counted(request, with_attributes ? RequestKind::kReaddirplus : RequestKind::kReaddir);
  answer(request, mount, [=, &tree = mount.tree](const RequestContext& context) -> Result<Reply> {
    auto listing = std::make_shared<Listing>(request, tree, size, with_attributes);
    auto filled = fill(context, *listing, tree, directory, opened, static_cast<std::uint64_t>(offset));
    if (!filled && listing->is_empty()) return std::move(filled).error();
    return Reply([listing](fuse_req_t) { return listing->reply(); });
  });
}

void on_readdir(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, fuse_file_info* opened) {
  list(request, directory, size, offset, opened->fh, false);
}

void on_readdirplus(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, fuse_file_info* opened) {
  list(request, directory, size, offset, opened->fh, true);
}

// Replies ENOSYS, so that the kernel never sends this kind again. (Without a handler libfuse may reply success.)
void reply_enosys(fuse_req_t request, RequestKind kind) {
  counted(request, kind);
  fuse_reply_err(request, ENOSYS);
}

// If any directory can change, the kernel opens all of them by request. It caches listings of the others.
void on_opendir(fuse_req_t request, fuse_ino_t directory, fuse_file_info* info) {
  Mount& mount = mount_of(request);
  if (mount.tree.mirror() == nullptr && !mount.wants_opendir) {
    return reply_enosys(request, RequestKind::kOpendir);
  }
  counted(request, RequestKind::kOpendir);
  const auto handler = [&tree = mount.tree, directory, given = *info](const RequestContext& context) -> Result<Reply> {
    fuse_file_info opened = given;
    ASSIGN_OR_RETURN(const auto directory_handle, tree.subtree(directory).open_directory(context, directory));
    opened.fh = directory_handle.handle;
    opened.cache_readdir = opened.keep_cache = directory_handle.is_constant ? 1 : 0;
    auto pending = std::make_shared<PendingReply>();
    if (opened.fh != 0) pending->set_undo([&tree, number = opened.fh] { tree.mirror()->close_directory(number); });
    return Reply([pending, opened](fuse_req_t to) { return pending->sent(fuse_reply_open(to, &opened)); });
  };
  mount.dispatcher.answer(request, Dispatcher::Interrupt::kIgnore, handler);
}

void on_releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* opened) {
  if (opened->fh != 0) mount_of(request).tree.mirror()->close_directory(opened->fh);
  fuse_reply_err(request, 0);
}

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info*) { reply_enosys(request, RequestKind::kOpen); }
void on_flush(fuse_req_t request, fuse_ino_t, fuse_file_info*) { reply_enosys(request, RequestKind::kFlush); }

// A caller without a buffer asks for the size.
Reply extended(std::string value, std::size_t room) {
  return [value = std::move(value), room](fuse_req_t request) {
    if (room == 0) return fuse_reply_xattr(request, value.size());
    if (room < value.size()) return fuse_reply_err(request, ERANGE);
    return fuse_reply_buf(request, value.data(), value.size());
  };
}

void on_getxattr(fuse_req_t request, fuse_ino_t number, const char* name, std::size_t room) {
  if (!mount_of(request).has_extended_attributes) return reply_enosys(request, RequestKind::kGetxattr);
  Mount& mount = counted(request, RequestKind::kGetxattr);
  answer_for(
      request, mount, name,
      [&tree = mount.tree, number, room](const RequestContext& context, const std::string& wanted) -> Result<Reply> {
        auto value = tree.subtree(number).extended_attribute(context, number, wanted);
        if (value) return extended(std::move(*value), room);
        if (value.error().code != Code::kNotFound) return std::move(value).error();
        return Reply([](fuse_req_t to) { return fuse_reply_err(to, ENODATA); });
      });
}

void on_listxattr(fuse_req_t request, fuse_ino_t number, std::size_t room) {
  if (!mount_of(request).has_extended_attributes) return reply_enosys(request, RequestKind::kListxattr);
  Mount& mount = counted(request, RequestKind::kListxattr);
  answer(request, mount, [&tree = mount.tree, number, room](const RequestContext& context) -> Result<Reply> {
    return extended(tree.subtree(number).extended_names(context, number), room);
  });
}

void on_forget(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
  counted(request, RequestKind::kForget).tree.forget(number, lookups);
  fuse_reply_none(request);
}

void on_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
  const MountTree& tree = counted(request, RequestKind::kForget).tree;
  for (const fuse_forget_data& one : std::span(forgotten, count)) tree.forget(one.ino, one.nlookup);
  fuse_reply_none(request);
}

void on_statfs(fuse_req_t request, fuse_ino_t) {
  Mount& mount = counted(request, RequestKind::kStatfs);
  answer(request, mount, [&tree = mount.tree](const RequestContext& context) -> Result<Reply> {
    struct statvfs st {};
    const Usage usage = tree.usage(context);
    st.f_bsize = st.f_frsize = 4096;
    st.f_blocks = static_cast<fsblkcnt_t>((usage.bytes + st.f_frsize - 1) / st.f_frsize);
    st.f_files = static_cast<fsfilcnt_t>(usage.files);
    st.f_namemax = kLongestName;
    st.f_flag = ST_RDONLY | ST_NOSUID;
    return Reply([st](fuse_req_t to) { return fuse_reply_statfs(to, &st); });
  });
}

}  // namespace

std::uint64_t RequestCounts::asked() const {
  std::uint64_t sum = 0;
  for (const auto& count : counts_) sum += count.load(std::memory_order_relaxed);
  return sum - counts_[static_cast<std::size_t>(RequestKind::kForget)].load(std::memory_order_relaxed);
}

std::vector<std::pair<std::string_view, std::uint64_t>> RequestCounts::by_kind() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> counts;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    counts.emplace_back(kNames[i], counts_[i].load(std::memory_order_relaxed));
  }
  return counts;
}

std::string RequestCounts::text() const {
  std::string text;
  for (const auto& [name, count] : by_kind()) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text.empty() ? "none" : text;
}

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops table = [] {
    fuse_lowlevel_ops ops{};
    ops.init = on_init;
    ops.lookup = on_lookup;
    ops.forget = on_forget;
    ops.forget_multi = on_forget_multi;
    ops.getattr = on_getattr;
    ops.readlink = on_readlink;
    ops.open = on_open;
    ops.read = on_read;
    ops.flush = on_flush;
    ops.opendir = on_opendir;
    ops.releasedir = on_releasedir;
    ops.readdir = on_readdir;
    ops.readdirplus = on_readdirplus;
    ops.statfs = on_statfs;
    ops.getxattr = on_getxattr;
    ops.listxattr = on_listxattr;
    return ops;
  }();
  return table;
}

}  // namespace recordfs
