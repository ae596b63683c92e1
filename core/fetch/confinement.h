// What the fetcher needs once it has started, and what is taken from it.
#pragma once

namespace recordfs::fetch {

// Takes from the process all files but credentials, certificates, those that resolve names, and the folder of its
// cache; and programs, child processes, and other processes. What the kernel does not support is skipped. `cache`: a
// descriptor of the folder; negative: none. Permanent. REQUIRES: the process has one thread.
void confine(int cache);

}  // namespace recordfs::fetch
