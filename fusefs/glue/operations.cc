#include "fusefs/glue/operations.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fusefs/glue/error_number.h"
#include "fusefs/glue/init_reply.h"

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
void answer(fuse_req_t request, Mount& mount, Dispatcher::Handler handler) {
  mount.dispatcher.answer(request, Dispatcher::Interrupt::kAnswerEintr, std::move(handler));
}

mode_t type_bits(FileType type) {
  switch (type) {
    case FileType::kDirectory: return S_IFDIR;
    case FileType::kLink: return S_IFLNK;
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

// Lookup references in a reply. Drops those that the kernel did not receive.
class PendingLookupRefs {
 public:
  explicit PendingLookupRefs(const MountTree& tree) : tree_(tree) {}
  ~PendingLookupRefs() {
    for (const std::uint64_t number : numbers_) tree_.forget(number, 1);
  }
  PendingLookupRefs(const PendingLookupRefs&) = delete;
  PendingLookupRefs& operator=(const PendingLookupRefs&) = delete;

  void add(std::uint64_t number) { numbers_.push_back(number); }
  // Returns `status`, libfuse's result for the reply.
  int sent(int status) {
    if (status == 0) numbers_.clear();
    return status;
  }

 private:
  const MountTree& tree_;
  std::vector<std::uint64_t> numbers_;
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
                          (mount.tree.may_change() || mount.tree.may_grow() ? FUSE_CAP_AUTO_INVAL_DATA : 0u);
  connection->want |= wanted & connection->capable;
  connection->max_readahead = 1u << 20;
  connection->max_background = kMostReadsAtOnce;
  connection->congestion_threshold = kMostReadsAtOnce / 4 * 3;
  connection->max_read = mount.max_read;
  mount.has_parallel_directories = (connection->capable & FUSE_CAP_PARALLEL_DIROPS) != 0;
  reply_to_init_follows(mount);
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
  answer(request, mount, [&tree = mount.tree, parent, name = std::string(name)]() -> Result<Reply> {
    auto found = tree.look_up_and_reference(parent, name);
    if (!found && found.error().code == Code::kNotFound) return no_entry(tree.may_gain_names(parent));
    if (!found) return std::move(found).error();
    auto refs = std::make_shared<PendingLookupRefs>(tree);
    refs->add(found->number);
    return Reply([refs, entry = entry_of(*found)](fuse_req_t to) { return refs->sent(fuse_reply_entry(to, &entry)); });
  });
}

void on_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  Mount& mount = counted(request, RequestKind::kGetattr);
  answer(request, mount, [&tree = mount.tree, number]() -> Result<Reply> {
    ASSIGN_OR_RETURN(const auto status, tree.status(number));
    return Reply([st = stat_of(status.inode, status.type, status.size, status.ownership),
                  timeout = attribute_timeout(status)](fuse_req_t to) { return fuse_reply_attr(to, &st, timeout); });
  });
}

void on_readlink(fuse_req_t request, fuse_ino_t number) {
  Mount& mount = counted(request, RequestKind::kReadlink);
  answer(request, mount, [&tree = mount.tree, number]() -> Result<Reply> {
    ASSIGN_OR_RETURN(auto target, tree.target(number));
    return Reply([target = std::move(target)](fuse_req_t to) { return fuse_reply_readlink(to, target.c_str()); });
  });
}

// A READ of a record in a cached chunk passes Dispatcher::answer, MountTree::read, InodeTable::find,
// ContainerTree::read, RecordsView::read, RecordReader::read_at, ChunkReader::find_covering (which locks the cache),
// ReadAhead::was_read (which locks its readers), RecordReader::read, ChunkReader::read and Chunk::read. The index is
// not asked.
void on_read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Mount& mount = counted(request, RequestKind::kRead);
  const auto handler = [&mount, number, size, offset]() -> Result<Reply> {
    ASSIGN_OR_RETURN(auto slice, mount.tree.read(number, static_cast<std::uint64_t>(offset), size));
    return Reply([&mount, number, is_begin = offset == 0, slice = std::move(slice)](fuse_req_t to) {
      // Before the reply: another thread could otherwise report the reader's next read first.
      if (is_begin) mount.pusher.was_read(number);
      return fuse_reply_buf(to, reinterpret_cast<const char*>(slice.bytes.data()), slice.bytes.size());
    });
  };
  mount.dispatcher.answer(request, Dispatcher::Interrupt::kIgnore, handler);
}

// A reply to READDIR or READDIRPLUS.
class Listing {
 public:
  Listing(fuse_req_t request, const MountTree& tree, std::size_t size, bool with_attributes)
      : request_(request), tree_(tree), buffer_(size), with_attributes_(with_attributes), refs_(tree) {}

  // `dots`: number of entries that entry.next does not count.
  bool add(const MountEntry& entry, std::uint64_t dots = 0) {
    name_.assign(entry.name);
    const std::size_t room = buffer_.size() - used_;
    const auto next = static_cast<off_t>(entry.next + dots);
    const std::size_t needed = !with_attributes_                          ? add_name(entry, room, next)
                               : entry.size && entry.container != nullptr ? add_with_attributes(entry, room, next)
                                                                          : add_without(entry, room, next);
    if (needed > room) return false;
    used_ += needed;
    return true;
  }

  bool is_empty() const { return used_ == 0; }
  int reply() { return refs_.sent(fuse_reply_buf(request_, buffer_.data(), used_)); }

 private:
  // Each returns the entry's size. Adds nothing if that exceeds `room`.
  std::size_t add_name(const MountEntry& entry, std::size_t room, off_t next) {
    bare_.attr.st_ino = entry.inode;
    bare_.attr.st_mode = type_bits(entry.type);
    return fuse_add_direntry(request_, buffer_.data() + used_, room, name_.c_str(), &bare_.attr, next);
  }
  std::size_t add_without(const MountEntry& entry, std::size_t room, off_t next) {
    bare_.attr.st_ino = entry.inode;
    bare_.attr.st_mode = type_bits(entry.type);
    return fuse_add_direntry_plus(request_, buffer_.data() + used_, room, name_.c_str(), &bare_, next);
  }
  std::size_t add_with_attributes(const MountEntry& entry, std::size_t room, off_t next) {
    const FileStatus status = entry.container->status(tree_.look_up_and_reference(entry), entry.node,
                                                      {.type = entry.type, .size = *entry.size});
    const fuse_entry_param param = entry_of(status);
    const std::size_t needed =
        fuse_add_direntry_plus(request_, buffer_.data() + used_, room, name_.c_str(), &param, next);
    if (needed > room) {
      tree_.forget(status.number, 1);
    } else {
      refs_.add(status.number);
    }
    return needed;
  }

  fuse_req_t request_;
  const MountTree& tree_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  const bool with_attributes_;
  std::string name_;
  fuse_entry_param bare_{};  // for entries with inode and type only
  PendingLookupRefs refs_;
};

constexpr std::uint64_t kDotEntries = 2;

// Adds "." and "..", which precede the tree's entries.
bool add_dots(Listing& listing, const MountTree& tree, std::uint64_t directory, std::uint64_t& place) {
  if (place == 0) {
    if (!listing.add({.name = ".", .inode = tree.inode(directory), .type = FileType::kDirectory, .next = 1}))
      return false;
    place = 1;
  }
  if (place == 1) {
    if (!listing.add({.name = "..", .inode = tree.parent_inode(directory), .type = FileType::kDirectory, .next = 2})) {
      return false;
    }
    place = kDotEntries;
  }
  return true;
}

// Answers with the entries that `fill` adds to the listing, and with its failure if there are none. The next request
// continues after them.
template <class Fill>
void list(fuse_req_t request, std::size_t size, bool with_attributes, Fill fill) {
  Mount& mount = counted(request, with_attributes ? RequestKind::kReaddirplus : RequestKind::kReaddir);
  answer(request, mount, [&tree = mount.tree, request, size, with_attributes, fill]() -> Result<Reply> {
    auto listing = std::make_shared<Listing>(request, tree, size, with_attributes);
    if (auto filled = fill(tree, *listing); !filled && listing->is_empty()) return std::move(filled).error();
    return Reply([listing](fuse_req_t) { return listing->reply(); });
  });
}

void list(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, bool with_attributes) {
  list(request, size, with_attributes, [=](const MountTree& tree, Listing& listing) -> Result<void> {
    auto place = static_cast<std::uint64_t>(offset);
    if (!add_dots(listing, tree, directory, place)) return {};
    return tree.list(directory, place - kDotEntries,
                     [&](const MountEntry& entry) { return listing.add(entry, kDotEntries); });
  });
}

// Lists an opened mirrored directory, which can change.
void list_opened(fuse_req_t request, fuse_ino_t directory, std::uint64_t opened, std::size_t size, off_t offset,
                 bool with_attributes) {
  list(request, size, with_attributes, [=](const MountTree& tree, Listing& listing) {
    return tree.list_opened(directory, opened, static_cast<std::uint64_t>(offset),
                            [&](const MountEntry& entry) { return listing.add(entry); });
  });
}

void on_readdir(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, fuse_file_info* opened) {
  if (opened->fh != 0) return list_opened(request, directory, opened->fh, size, offset, false);
  list(request, directory, size, offset, false);
}

void on_readdirplus(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, fuse_file_info* opened) {
  if (opened->fh != 0) return list_opened(request, directory, opened->fh, size, offset, true);
  list(request, directory, size, offset, true);
}

// Replies ENOSYS, so that the kernel never sends this kind again. (Without a handler libfuse may reply success.)
void refuse_for_ever(fuse_req_t request, RequestKind kind) {
  counted(request, kind);
  fuse_reply_err(request, ENOSYS);
}

// An open directory in a reply. Closes it if the kernel did not receive its number.
struct PendingStream {
  explicit PendingStream(const MountTree& tree_of_it) : tree(tree_of_it) {}
  ~PendingStream() {
    if (number != 0) tree.close_directory(number);
  }
  PendingStream(const PendingStream&) = delete;
  PendingStream& operator=(const PendingStream&) = delete;

  // Returns `status`, libfuse's result for the reply.
  int sent(int status) {
    if (status == 0) number = 0;
    return status;
  }

  const MountTree& tree;
  std::uint64_t number = 0;
};

// If any directory can change, the kernel opens all of them by request. It caches listings of the others.
void on_opendir(fuse_req_t request, fuse_ino_t directory, fuse_file_info* opened) {
  Mount& mount = mount_of(request);
  if (!mount.tree.may_change() && !mount.hears_of_opened_directories) {
    return refuse_for_ever(request, RequestKind::kOpendir);
  }
  counted(request, RequestKind::kOpendir);
  const auto handler = [&tree = mount.tree, directory, opened = *opened]() mutable -> Result<Reply> {
    if (!tree.may_change(directory)) {
      opened.cache_readdir = opened.keep_cache = 1;
      return Reply([opened](fuse_req_t to) { return fuse_reply_open(to, &opened); });
    }
    auto directory_stream = std::make_shared<PendingStream>(tree);
    ASSIGN_OR_RETURN(directory_stream->number, tree.open_directory(directory));
    opened.fh = directory_stream->number;
    return Reply(
        [directory_stream, opened](fuse_req_t to) { return directory_stream->sent(fuse_reply_open(to, &opened)); });
  };
  mount.dispatcher.answer(request, Dispatcher::Interrupt::kIgnore, handler);
}

void on_releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* opened) {
  if (opened->fh != 0) mount_of(request).tree.close_directory(opened->fh);
  fuse_reply_err(request, 0);
}

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info*) { refuse_for_ever(request, RequestKind::kOpen); }
void on_flush(fuse_req_t request, fuse_ino_t, fuse_file_info*) { refuse_for_ever(request, RequestKind::kFlush); }

// A caller without a buffer asks for the size.
Reply extended(std::string value, std::size_t room) {
  return [value = std::move(value), room](fuse_req_t request) {
    if (room == 0) return fuse_reply_xattr(request, value.size());
    if (room < value.size()) return fuse_reply_err(request, ERANGE);
    return fuse_reply_buf(request, value.data(), value.size());
  };
}

void on_getxattr(fuse_req_t request, fuse_ino_t number, const char* name, std::size_t room) {
  if (!mount_of(request).has_extended_attributes) return refuse_for_ever(request, RequestKind::kGetxattr);
  Mount& mount = counted(request, RequestKind::kGetxattr);
  answer(request, mount, [&tree = mount.tree, number, room, name = std::string(name)]() -> Result<Reply> {
    auto value = tree.extended_attribute(number, name);
    if (value) return extended(std::move(*value), room);
    if (value.error().code != Code::kNotFound) return std::move(value).error();
    return Reply([](fuse_req_t to) { return fuse_reply_err(to, ENODATA); });
  });
}

void on_listxattr(fuse_req_t request, fuse_ino_t number, std::size_t room) {
  if (!mount_of(request).has_extended_attributes) return refuse_for_ever(request, RequestKind::kListxattr);
  Mount& mount = counted(request, RequestKind::kListxattr);
  answer(request, mount,
         [&tree = mount.tree, number, room]() -> Result<Reply> { return extended(tree.extended_names(number), room); });
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

// Replies what a handler throws before Dispatcher takes over, because libfuse would terminate.
template <auto handler>
struct Answered;
template <class... Arguments, void (*handler)(fuse_req_t, Arguments...)>
struct Answered<handler> {
  static void call(fuse_req_t request, Arguments... arguments) {
    const int thrown = error_thrown_by([&] { handler(request, arguments...); });
    if (thrown != 0) fuse_reply_err(request, thrown);
  }
};
template <auto handler>
constexpr auto answered = &Answered<handler>::call;

void on_statfs(fuse_req_t request, fuse_ino_t) {
  Mount& mount = counted(request, RequestKind::kStatfs);
  answer(request, mount, [&tree = mount.tree]() -> Result<Reply> {
    struct statvfs st {};
    st.f_bsize = st.f_frsize = 4096;
    st.f_blocks = static_cast<fsblkcnt_t>((tree.total_size() + st.f_frsize - 1) / st.f_frsize);
    st.f_files = static_cast<fsfilcnt_t>(tree.known_files());
    st.f_namemax = kLongestName;
    st.f_flag = ST_RDONLY | ST_NOSUID;
    return Reply([st](fuse_req_t to) { return fuse_reply_statfs(to, &st); });
  });
}

}  // namespace

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops table = [] {
    fuse_lowlevel_ops ops{};
    ops.init = on_init;
    ops.lookup = answered<on_lookup>;
    ops.forget = on_forget;
    ops.forget_multi = on_forget_multi;
    ops.getattr = answered<on_getattr>;
    ops.readlink = answered<on_readlink>;
    ops.open = on_open;
    ops.read = answered<on_read>;
    ops.flush = on_flush;
    ops.opendir = answered<on_opendir>;
    ops.releasedir = on_releasedir;
    ops.readdir = answered<on_readdir>;
    ops.readdirplus = answered<on_readdirplus>;
    ops.statfs = answered<on_statfs>;
    ops.getxattr = answered<on_getxattr>;
    ops.listxattr = answered<on_listxattr>;
    return ops;
  }();
  return table;
}

}  // namespace recordfs
