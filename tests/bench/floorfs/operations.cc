#include "tests/bench/floorfs/operations.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace recordfs::bench {
namespace {

constexpr time_t kTime = 1'700'000'000;
constexpr off_t kDots = 2;  // "." and "..", which precede a directory's entries

Floor& floor_of(fuse_req_t request) { return *static_cast<Floor*>(fuse_req_userdata(request)); }

struct stat status_of(const Tree& tree, Inode inode) {
  struct stat status {};
  status.st_ino = inode;
  status.st_mtime = status.st_ctime = status.st_atime = kTime;
  status.st_nlink = 1;
  status.st_blksize = 4096;
  if (Tree::is_directory(inode)) {
    status.st_mode = S_IFDIR | 0555;
  } else {
    status.st_mode = S_IFREG | 0444;
    status.st_size = static_cast<off_t>(tree.size(inode));
    status.st_blocks = (status.st_size + 511) / 512;
  }
  return status;
}

fuse_entry_param entry_of(const Floor& floor, Inode inode) {
  fuse_entry_param entry{};
  entry.ino = inode;
  entry.attr_timeout = entry.entry_timeout = floor.options.timeout;
  entry.attr = status_of(floor.tree, inode);
  return entry;
}

void set(fuse_conn_info* connection, unsigned capability, bool wanted) {
  connection->want &= ~capability;
  if (wanted) connection->want |= capability & connection->capable;
}

void init(void* userdata, fuse_conn_info* connection) {
  const FloorOptions& options = static_cast<Floor*>(userdata)->options;
  set(connection, FUSE_CAP_READDIRPLUS, options.listing != Listing::kNames);
  set(connection, FUSE_CAP_READDIRPLUS_AUTO, options.listing == Listing::kAuto);
  set(connection, FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT, !options.open);
  set(connection, FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_AUTO_INVAL_DATA,
      false);
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const Floor& floor = floor_of(request);
  const auto inode = floor.tree.find(parent, name);
  if (!inode) {
    fuse_entry_param nothing{};
    nothing.entry_timeout = floor.options.timeout;
    fuse_reply_entry(request, &nothing);
    return;
  }
  const fuse_entry_param entry = entry_of(floor, *inode);
  fuse_reply_entry(request, &entry);
}

void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  const Floor& floor = floor_of(request);
  if (!floor.tree.has(inode)) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const struct stat status = status_of(floor.tree, inode);
  fuse_reply_attr(request, &status, floor.options.timeout);
}

void open(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  if (!floor_of(request).options.open) {
    fuse_reply_err(request, ENOSYS);
    return;
  }
  file->keep_cache = 1;
  file->cache_readdir = 1;
  fuse_reply_open(request, file);
}

void flush(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, ENOSYS); }

void release(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }

void read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info*) {
  Floor& floor = floor_of(request);
  const std::string_view contents = floor.tree.contents(inode);
  const std::string_view rest = contents.substr(std::min(static_cast<std::size_t>(offset), contents.size()));
  fuse_reply_buf(request, rest.data(), std::min(size, rest.size()));
  Pusher* pusher = floor.pusher.load(std::memory_order_acquire);
  if (pusher != nullptr && Tree::is_record(inode)) pusher->note_read(Tree::ordinal_of(inode));
}

// Adds as many entries as fit, from `offset` on.
template <class Add>
void list(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, Add add) {
  const Floor& floor = floor_of(request);
  const auto total = static_cast<off_t>(floor.tree.entries(directory)) + kDots;
  std::vector<char> buffer(size);
  std::size_t used = 0;
  for (off_t at = offset; at < total; ++at) {
    Tree::Entry entry{at == 0 ? "." : "..", directory};
    if (at >= kDots) entry = floor.tree.entry(directory, static_cast<std::uint64_t>(at - kDots));
    const std::size_t needed = add(buffer.data() + used, size - used, entry, at + 1);
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

void readdir(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, fuse_file_info*) {
  list(request, directory, size, offset, [&](char* to, std::size_t room, const Tree::Entry& entry, off_t next) {
    struct stat status {};
    status.st_ino = entry.inode;
    status.st_mode = Tree::is_directory(entry.inode) ? S_IFDIR : S_IFREG;
    return fuse_add_direntry(request, to, room, entry.name.c_str(), &status, next);
  });
}

void readdirplus(fuse_req_t request, fuse_ino_t directory, std::size_t size, off_t offset, fuse_file_info*) {
  const Floor& floor = floor_of(request);
  list(request, directory, size, offset, [&](char* to, std::size_t room, const Tree::Entry& entry, off_t next) {
    const fuse_entry_param param = entry_of(floor, entry.inode);
    return fuse_add_direntry_plus(request, to, room, entry.name.c_str(), &param, next);
  });
}

void statfs(fuse_req_t request, fuse_ino_t) {
  struct statvfs status {};
  status.f_bsize = status.f_frsize = 4096;
  status.f_files = floor_of(request).tree.records();
  status.f_namemax = 255;
  fuse_reply_statfs(request, &status);
}

}  // namespace

const fuse_lowlevel_ops& floor_operations() {
  static const fuse_lowlevel_ops kOperations = [] {
    fuse_lowlevel_ops ops{};
    ops.init = init;
    ops.lookup = lookup;
    ops.getattr = getattr;
    ops.open = open;
    ops.opendir = open;
    ops.flush = flush;
    ops.release = release;
    ops.releasedir = release;
    ops.read = read;
    ops.readdir = readdir;
    ops.readdirplus = readdirplus;
    ops.statfs = statfs;
    return ops;
  }();
  return kOperations;
}

}  // namespace recordfs::bench
