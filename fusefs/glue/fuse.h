// libfuse's low-level interface, in the one version that the project is written for.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
