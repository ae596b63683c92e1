// Follower: shows records that are appended to the files of a mount (-o follow).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/store/log.h"
#include "fusefs/follow/followed_file.h"
#include "fusefs/glue/fuse.h"
#include "fusefs/tree/container_node.h"

namespace recordfs {

class Follower {
 public:
  // `files`: all of `containers`, in their order. Watches them from now on. The process may fork until start().
  // `containers` must outlive the object.
  Follower(MountedContainers& containers, std::vector<std::unique_ptr<FollowedFile>> files, Log log);
  ~Follower() { stop(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Starts a thread that serves no requests: its notifications can block until another request is answered. Returns
  // false if the system provides no thread.
  bool start(fuse_session* session);
  // Joins the thread.
  void stop();

 private:
  struct Followed {
    std::unique_ptr<FollowedFile> file;
    bool is_over = false;     // growth is no longer shown
    bool said_moved = false;  // logged that another file has its name
  };

  void run();
  bool look_at_all();
  void look_at(std::size_t container);
  void show(std::size_t container, const std::shared_ptr<const RecordStore>& store);

  MountedContainers& containers_;
  const Log log_;
  std::vector<Followed> files_;  // in the order of the containers
  FileWatch watch_;
  fuse_session* session_ = nullptr;
  std::thread thread_;
};

}  // namespace recordfs
