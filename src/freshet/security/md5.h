// SPDX-License-Identifier: Apache-2.0
/// MD5, for comparing data with mongod's digests. It protects nothing.
#pragma once

#include "freshet/base/bytes.h"

#include <memory>
#include <string>

namespace freshet::security {

class Md5 {
public:
    Md5();
    ~Md5();
    void add(ByteView bytes);
    /// The digest in hex. Once; nothing may be added after it.
    std::string finish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::security
