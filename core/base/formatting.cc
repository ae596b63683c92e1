// Compiles into the program the only function of {fmt} that fmt::format() calls. Debian has {fmt} only as a shared
// library, and loading it, with the C++ library, takes as long as mounting. If a source file calls anything else of
// {fmt}, the program loads the shared library.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace recordfs {
namespace {

// Taking its address makes the compiler emit the inline function.
[[gnu::used]] std::string (*const kVformat)(fmt::string_view, fmt::format_args) = fmt::vformat;

}  // namespace
}  // namespace recordfs
