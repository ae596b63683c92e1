// For sources with many tests, which need not register them in a run of other sources.
#pragma once

#include <string_view>

namespace recordfs::testing {

// Returns whether this run includes the tests of a source file (__FILE__): without --sources, all of them. Valid when
// GoogleTest evaluates the parameters of tests.
bool is_selected(std::string_view file);

}  // namespace recordfs::testing
