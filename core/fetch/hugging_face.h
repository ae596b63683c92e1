// Files in repositories of Hugging Face's hub, and of servers with its interface.
//
//   hf://datasets/USER/REPO[@REVISION]/PATH, hf://spaces/..., hf://models/... or hf://USER/REPO[@REVISION]/PATH
#pragma once

#include <memory>
#include <string>

#include "core/fetch/environment.h"
#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Returns the origin of hf URLs: of the server that HF_ENDPOINT names, with the token of the environment or of the file
// that the hub's own tools save, if `sign`. An error of the configuration is returned by each request.
std::unique_ptr<Origin> hugging_face(const Environment& environment, bool sign);

// Returns the file with the token.
std::string hugging_face_token_file(const Environment& environment);

}  // namespace recordfs::fetch
