// SPDX-License-Identifier: Apache-2.0
/// Options that create and collMod share.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/run/fields.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace freshet::command {

/// How documents are checked. Kept with the collection.
inline constexpr std::array<std::string_view, 3> kValidationOptions{
    "validator", "validationLevel", "validationAction"};

/// Whether events keep the documents before and after. Kept with the collection.
inline constexpr std::array<std::string_view, 1> kImagesOptions{"changeStreamPreAndPostImages"};

/// Of kinds of collections that are not supported: views and time series.
inline constexpr std::array<std::string_view, 4> kOtherKindsOptions{
    "viewOn", "pipeline", "timeseries", "expireAfterSeconds"};

/// A command's own fields and those of both lists.
inline std::vector<std::string_view> withSharedOptions(std::vector<std::string_view> own) {
    own.insert(own.end(), kValidationOptions.begin(), kValidationOptions.end());
    own.insert(own.end(), kImagesOptions.begin(), kImagesOptions.end());
    own.insert(own.end(), kOtherKindsOptions.begin(), kOtherKindsOptions.end());
    return own;
}

/// Adds an error unless it is absent or {enabled: <boolean>}.
inline void checkImages(Fields* fields) {
    if (!fields->has(kImagesOptions[0])) {
        return;
    }
    const bson::Document images = fields->object(kImagesOptions[0]);
    Fields inner(images, kImagesOptions[0]);
    inner.allowOnly({"enabled"});
    inner.required("enabled");
    inner.boolean("enabled", false);
    if (!inner.status().isOk()) {
        fields->fail(inner.status());
    }
}

/// Adds errors for shared options that are malformed or not supported.
inline void checkSharedOptions(Fields* fields) {
    for (std::string_view name : kOtherKindsOptions) {
        fields->refuse({name});
    }
    fields->object("validator");
    checkImages(fields);
    if (Status status = checkValidation(fields); !status.isOk()) {
        fields->fail(std::move(status));
    }
}

/// Copies those of the named options that are present.
inline void keepOptions(const Fields& fields,
                        std::span<const std::string_view> names,
                        bson::Builder* out) {
    for (std::string_view name : names) {
        if (const bson::Element option = fields.element(name)) {
            out->add(option);
        }
    }
}

}  // namespace freshet::command
