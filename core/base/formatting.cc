// The one function of {fmt} that fmt::format calls, compiled into the program. Debian has {fmt} as a shared library
// only, and to load that, and the C++ library with it, takes as long as to mount. What else of {fmt} a source file
// calls is found in the shared library, which is then loaded after all.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace recordfs {
namespace {

// An inline function whose address is wanted is compiled as a function of its own.
[[gnu::used]] std::string (*const kVformat)(fmt::string_view, fmt::format_args) = fmt::vformat;

}  // namespace
}  // namespace recordfs
