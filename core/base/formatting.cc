// Compiles into the program the functions of {fmt} that fmt::format() and compiled formats call. Debian has {fmt} only
// as a shared library, and loading it, with the C++ library, takes as long as mounting. If a source file calls anything
// else of {fmt}, the program loads the shared library.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <cstdint>

namespace recordfs {
namespace {

// Taking their addresses makes the compiler emit the inline functions.
[[gnu::used]] std::string (*const kVformat)(fmt::string_view, fmt::format_args) = fmt::vformat;
[[gnu::used]] char (*const kDecimalPoint)(fmt::detail::locale_ref) = fmt::detail::decimal_point_impl<char>;
[[gnu::used]] fmt::detail::thousands_sep_result<char> (*const kThousandsSeparator)(fmt::detail::locale_ref) =
    fmt::detail::thousands_sep_impl<char>;
[[gnu::used]] bool (*const kIsPrintable)(std::uint32_t) = fmt::detail::is_printable;

}  // namespace
}  // namespace recordfs
