// SPDX-License-Identifier: Apache-2.0
/// Fixture for the tests of one block file: a disk in memory, and the file, which can be reopened.
/// Tests only.
#pragma once

#include "freshet/block/root/test_support.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace freshet::block {

template <typename Disk>
class OneFile {
protected:
    OneFile() {
        invariant(disk_.makeDirectory(kTestDirectory).isOk());
        reopen();
    }
    void reopen() {
        file_.reset();
        auto file = openAndStart(testOptions(&disk_));
        ASSERT_TRUE(file.isOk()) << file.status().toString();
        file_ = std::move(*file);
    }

    Disk disk_;
    std::unique_ptr<BlockFile> file_;
};

}  // namespace freshet::block
