// A FUSE session without a kernel: tests send requests and collect the replies.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/descriptor.h"
#include "fusefs/glue/fuse.h"

namespace recordfs::testing {

class Wire {
 public:
  // Called with each request, on the thread that sends it.
  using Answer = std::function<void(fuse_req_t)>;

  Wire() {
    fuse_lowlevel_ops operations{};
    operations.lookup = [](fuse_req_t request, fuse_ino_t, const char*) {
      static_cast<Wire*>(fuse_req_userdata(request))->answer_(request);
    };
    fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
    fuse_opt_add_arg(&arguments, "wire");
    session_ = fuse_session_new(&arguments, &operations, sizeof(operations), this);
    fuse_opt_free_args(&arguments);
    fuse_custom_io io{};
    io.writev = [](int, iovec* pieces, int count, void* wire) { return static_cast<Wire*>(wire)->take(pieces, count); };
    io.read = [](int, void*, std::size_t, void*) -> ssize_t { return 0; };
    // The session closes the descriptor.
    fuse_session_custom_io(session_, &io, ::open("/dev/null", O_RDWR | O_CLOEXEC));
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = 31;
    put(FUSE_INIT, &init, sizeof(init));
  }
  ~Wire() { fuse_session_destroy(session_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Sends a request and returns its number.
  std::uint64_t ask(Answer answer) {
    answer_ = std::move(answer);
    return put(FUSE_LOOKUP, "x", 2);
  }
  // For use while the newest request is answered, on the thread that sent it.
  void interrupt_newest() { interrupt(next_ - 2); }
  void interrupt(std::uint64_t asked) {
    const fuse_interrupt_in which{asked};
    put(FUSE_INTERRUPT, &which, sizeof(which));
  }

  // Waits for the reply to a request and returns its errno, 0 for success.
  int reply_to(std::uint64_t asked) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return replies_.contains(asked); });
    return replies_.at(asked).front();
  }
  // Returns the number of replies to a request so far.
  std::size_t replies_to(std::uint64_t asked) {
    const std::lock_guard lock(mutex_);
    const auto found = replies_.find(asked);
    return found == replies_.end() ? 0 : found->second.size();
  }

 private:
  std::uint64_t put(std::uint32_t operation, const void* body, std::size_t size) {
    fuse_in_header header{};
    header.len = static_cast<std::uint32_t>(sizeof(header) + size);
    header.opcode = operation;
    header.unique = next_;
    header.nodeid = FUSE_ROOT_ID;
    next_ += 2;
    std::vector<char> message(header.len);
    std::memcpy(message.data(), &header, sizeof(header));
    std::memcpy(message.data() + sizeof(header), body, size);
    fuse_buf buffer{};
    buffer.mem = message.data();
    buffer.size = message.size();
    fuse_session_process_buf(session_, &buffer);
    return header.unique;
  }

  ssize_t take(const iovec* pieces, int count) {
    ssize_t size = 0;
    for (int i = 0; i < count; ++i) size += static_cast<ssize_t>(pieces[i].iov_len);
    fuse_out_header header{};
    std::memcpy(&header, pieces[0].iov_base, sizeof(header));
    const std::lock_guard lock(mutex_);
    replies_[header.unique].push_back(-header.error);
    came_.notify_all();
    return size;
  }

  fuse_session* session_ = nullptr;
  Answer answer_;
  std::uint64_t next_ = 2;
  std::mutex mutex_;  // guards the members below
  std::condition_variable came_;
  std::map<std::uint64_t, std::vector<int>> replies_;
};

}  // namespace recordfs::testing
