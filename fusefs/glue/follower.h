// Follower: shows what is appended to the files of a mount, and tells the kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/store/log.h"
#include "fusefs/follow/file_watch.h"
#include "fusefs/follow/followed_file.h"
#include "fusefs/glue/fuse.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

class Follower {
 public:
  // `files` are all containers of the tree, in the order in which MountTree::grow() counts them. They are watched from
  // now on; the process may fork until start(). `tree` has to outlive the object.
  Follower(MountTree& tree, std::vector<std::unique_ptr<FollowedFile>> files, Log log);
  ~Follower() { stop(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Starts the thread that follows: one that serves no request, as the kernel may hold it up until another request is
  // answered. False: the system gives none.
  bool start(fuse_session* session);
  // Ends it.
  void stop();

 private:
  struct Followed {
    std::size_t container = 0;
    std::unique_ptr<FollowedFile> file;
    bool is_over = false;     // nothing more is shown
    bool said_moved = false;  // that its name is another file's
  };

  void run();
  bool look_at_all();
  void look_at(Followed& followed);
  void show(const Followed& followed, std::shared_ptr<const RecordStore> store);

  MountTree& tree_;
  const Log log_;
  std::vector<Followed> files_;
  FileWatch watch_;
  fuse_session* session_ = nullptr;
  std::thread thread_;
};

}  // namespace recordfs
