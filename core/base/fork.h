// What objects with threads must know of fork(2): a child has none of the threads.
#pragma once

#include <mutex>

namespace recordfs {

// Returns a number that is different in a forked child, once watch_forks() was called. Any thread.
unsigned fork_generation();

// Returns a mutex that no thread holds during fork(2), so that a child can lock it. Hold it briefly.
std::mutex& fork_safe_mutex();

// Registers handlers of fork(2). Called once, when a module or library is first used.
void watch_forks();

// Starts what storages need, if the process is a forked child that has not done so. Only threads that are not confined
// can do that. Any thread.
void prepare_after_fork();

}  // namespace recordfs
