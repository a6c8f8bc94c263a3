#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "device/backend.h"

namespace reprise::jit {

/// Two independent hashes of a text, in hexadecimal digits: 128 bits against damage and chance.
std::string digest(std::string_view text);

/// Kernels on disk, PTX for devices and objects for the host, and what they are launched by (runtime/build/recipe.h),
/// by content: $REPRISE_CACHE_DIR, by default $XDG_CACHE_HOME/reprise or ~/.cache/reprise; "off" for none. A file is
/// found by the hash of its key, holds the key, and is used only when key and contents are whole. It is written under
/// another name and renamed, so any number of processes share the folder. What cannot be read or written is as if it
/// were not there. Threads: any.
///
/// What is read is run, so the folder and each file in it must belong to this user or root, writable by nobody else
/// (base/files.h); another folder is not used, and a warning says so once.
///
/// The key must determine the code given this build of the library, whose identity (its build id, and the size and time
/// of the file it was loaded from) is added here; a library that cannot tell keeps nothing.
/// `why`, where it is not null: why what is there under this key is not used; empty where nothing is there.
device::ImagePtr disk_load(const std::string& key, std::string* why = nullptr);
void disk_store(const std::string& key, const device::Image&);

/// Whether there is a folder to look in.
bool disk_is_there();

/// Deletes the files used longest ago until the others take at most three quarters of `bytes`, if all take more than
/// that, and what was begun an hour ago and never finished. disk_store does it now and then with REPRISE_CACHE_BYTES.
void disk_trim(std::int64_t bytes);

/// The contents of such a file, and the image in them: null unless all of it is there, for this key, unchanged.
std::string disk_text(const std::string& key, const device::Image&);
device::ImagePtr disk_parse(const std::string& key, std::string_view text);
/// What disk_text begins with, for contents that are already written: their digest.
std::string disk_sealed(std::string_view body);

}  // namespace reprise::jit
