// SPDX-License-Identifier: Apache-2.0
/// Batch: documents gathered as the elements of a BSON array.
#include "freshet/query/cursor.h"

#include <charconv>

namespace freshet::query {

Batch::Batch(size_t documentsMax, size_t bytesMax)
    : bytes_(sizeof(uint32_t), '\0'), documentsMax_(documentsMax), bytesMax_(bytesMax) {}

bool Batch::add(bson::Document document) {
    if (isFull()) {
        return false;
    }
    if (count_ > 0 && bytes_.size() + document.size() > bytesMax_) {
        full_ = true;
        return false;
    }
    char name[24];
    char* end = std::to_chars(name, name + sizeof(name), count_).ptr;
    bytes_.push_back(static_cast<char>(bson::Type::kObject));
    bytes_.append(name, end);
    bytes_.push_back('\0');
    bytes_.append(document.bytes());
    ++count_;
    return true;
}

std::string Batch::finishArray() {
    bytes_.push_back('\0');
    storeLe(bytes_.data(), static_cast<uint32_t>(bytes_.size()));
    return std::move(bytes_);
}

}  // namespace freshet::query
