// Objects of web servers: http and https.
#pragma once

#include <memory>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Returns the origin of http and https URLs. Userinfo of a URL becomes the header of basic authentication.
std::unique_ptr<Origin> http_origin();

// Returns "Authorization: Basic ..." for userinfo as it is in a URL, encoded.
std::string basic_authorization(std::string_view userinfo);

}  // namespace recordfs::fetch
