// Confines threads that parse untrusted files.
#pragma once

#include <span>
#include <string>

namespace recordfs {

// Returns false in a build with sanitizers, which write reports, start a symbolizer, and fork to search for leaks.
bool confines_threads();

// Returns the first 32 capabilities of the calling thread as bits, or 0 if they cannot be read. Thread-safe.
unsigned own_capabilities();

// Drops all capabilities of the calling thread except those of `kept` that it has. Returns false, with errno, on
// failure. Thread-safe.
bool keep_capabilities(unsigned kept);

// Takes from the calling thread, and from those that it starts later, what reading files does not need: new privileges,
// programs, the network, other processes, and changes of files except below the directories `writable`, which exist.
// Reading stays free, and so is writing to open descriptors. Permanent. A restriction that the kernel lacks is skipped.
// Does nothing unless confines_threads(), and nothing in a thread that inherited the restrictions. Thread-safe.
void confine_thread(std::span<const std::string> writable);

// From now on, start_thread() confines its threads. They may write below `writable`, and below the directories of all
// earlier calls; an empty name is none. Thread-safe.
void confine_new_threads(const std::string& writable);

// What a new thread must know of the one that starts it. For start_thread().
class ThreadOrigin {
 public:
  ThreadOrigin();
  // Confines the new thread, if new threads are. Called by it once.
  void begin() const;

 private:
  bool is_confined_;
};

}  // namespace recordfs
