#pragma once
#include <cstdint>
#include <string>

#include "device/backend.h"

namespace reprise::jit {

/// Kernels on disk, by content: $REPRISE_CACHE_DIR, by default $XDG_CACHE_HOME/reprise or ~/.cache/reprise; "off" for
/// none. A file is found by the hash of its key, holds the key, and is used only when key and contents are whole. It is
/// written under another name and renamed, so any number of processes share the folder. What cannot be read or written
/// is as if it were not there. Threads: any.
///
/// The key must determine the code given this build of the library, whose identity (the file it was loaded from, its
/// size and time) is added here.
device::ImagePtr disk_load(const std::string& key);
void disk_store(const std::string& key, const device::Image&);

/// Deletes the files used longest ago until the others take at most three quarters of `bytes`, if all take more than
/// that. disk_store does it now and then with REPRISE_CACHE_BYTES.
void disk_trim(std::int64_t bytes);

}  // namespace reprise::jit
