#include "core/hash/highway_engine.h"

#include <new>

#include <highwayhash/highwayhash.h>

namespace recordfs {
namespace {

using Hasher = highwayhash::HighwayHashCatT<HH_TARGET>;
static_assert(sizeof(Hasher) <= kHashStateBytes && alignof(Hasher) <= kHashStateAlignment);

}  // namespace

const HashEngine RECORDFS_HASH_ENGINE = {
    [](void* state, const uint64_t (&key)[4]) { new (state) Hasher(key); },
    [](void* state, const char* bytes, size_t size) { static_cast<Hasher*>(state)->Append(bytes, size); },
    [](void* state) {
      highwayhash::HHResult64 hash = 0;
      static_cast<Hasher*>(state)->Finalize(&hash);
      return uint64_t{hash};
    },
    [](const uint64_t (&key)[4], const char* bytes, size_t size) {
      highwayhash::HHStateT<HH_TARGET> state(key);
      highwayhash::HHResult64 hash = 0;
      highwayhash::HighwayHashT(&state, bytes, size, &hash);
      return uint64_t{hash};
    },
};

}  // namespace recordfs
