// SPDX-License-Identifier: Apache-2.0
/// JavaScript that is part of a program: the files of a room's folder `js`, which the build embeds
/// in the room's library (buildscripts/embed_js.py).
#pragma once

#include <span>
#include <string_view>

namespace freshet::script {

struct Source {
    std::string_view name;  // "bson_types.js"
    std::string_view text;
};

/// This room's own library: types, printing and Extended JSON. Every context has loaded it.
std::span<const Source> librarySources();

}  // namespace freshet::script
