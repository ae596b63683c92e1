// XML of servers, without document types.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace recordfs::fetch {

// Passes each element to `take` when it ends: its path, as "Error/Code", and the text directly in it. Returns the first
// error of `take`. Fails with kDamage if the text is malformed, nested too deep, has a document type (so there are no
// entities but those of XML), or an element with more than 64 KiB of text.
Result<void> for_each_element(
    std::string_view xml, const std::function<Result<void>(const std::string& path, const std::string& text)>& take);

}  // namespace recordfs::fetch
