// SPDX-License-Identifier: Apache-2.0
/// Documents for tests, written as JSON. Extended JSON gives names such as $type and $regex a
/// meaning of its own, so a name may be written with @ in place of $ to avoid that.
#pragma once

#include "freshet/bson/json.h"

#include <gtest/gtest.h>

namespace freshet::query {

inline void copyWithDollars(bson::Document from, bson::Builder* to) {
    for (const bson::Element& element : from) {
        std::string name(element.name());
        if (name.starts_with('@')) {
            name[0] = '$';
        }
        if (element.isObject() || element.isArray()) {
            bson::Builder sub = element.isObject() ? to->object(name) : to->array(name);
            copyWithDollars(element.document(), &sub);
        } else {
            to->addAs(name, element);
        }
    }
}

inline bson::OwnedDocument json(std::string_view text) {
    auto parsed = bson::fromJson(text);
    EXPECT_TRUE(parsed.isOk()) << text << ": " << parsed.status().text();
    bson::Builder builder;
    if (parsed.isOk()) {
        copyWithDollars(parsed->view(), &builder);
    }
    return bson::OwnedDocument(builder.finish());
}

}  // namespace freshet::query
