// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/change_options.h"

#include "freshet/bson/json.h"
#include "freshet/command/run/fields.h"

#include <string>
#include <utility>

namespace freshet::command {
namespace {

constexpr std::string_view kStageName = "$changeStream";

template <typename Mode>
struct NamedMode {
    std::string_view name;
    Mode mode;
};

constexpr NamedMode<FullDocument> kFullDocumentModes[] = {
    {"default", FullDocument::kDefault},
    {"updateLookup", FullDocument::kUpdateLookup},
    {"whenAvailable", FullDocument::kWhenAvailable},
    {"required", FullDocument::kRequired},
};

constexpr NamedMode<FullDocumentBeforeChange> kBeforeChangeModes[] = {
    {"off", FullDocumentBeforeChange::kOff},
    {"whenAvailable", FullDocumentBeforeChange::kWhenAvailable},
    {"required", FullDocumentBeforeChange::kRequired},
};

Status wrongFieldType(const bson::Element& field, std::string_view expected) {
    return invalid(Reason::kTypeMismatch,
                   "BSON field '" + std::string(kStageName) + "." + std::string(field.name()) +
                       "' is the wrong type '" + std::string(bson::typeName(field.type())) +
                       "', expected type '" + std::string(expected) + "'");
}

/// Unchanged if the field is absent.
template <typename Mode, size_t kCount>
void readMode(Fields* fields,
              std::string_view name,
              const NamedMode<Mode> (&modes)[kCount],
              Mode* mode) {
    if (!fields->has(name)) {
        return;
    }
    const std::string_view value = fields->string(name);
    for (const auto& known : modes) {
        if (known.name == value) {
            *mode = known.mode;
            return;
        }
    }
    fields->fail(badValue("Enumeration value '" + std::string(value) + "' for field '" +
                          std::string(kStageName) + "." + std::string(name) +
                          "' is not a valid value."));
}

/// Numbers are not accepted, unlike in most commands, and null is not absent.
bool readFlag(bson::Document stage, std::string_view name, Fields* fields) {
    const bson::Element value = stage.find(name);
    if (value.isMissing()) {
        return false;
    }
    if (value.type() != bson::Type::kBool) {
        fields->fail(invalid(Reason::kTypeMismatch,
                             "Field '" + std::string(name) +
                                 "' should be a boolean value, but found: " +
                                 std::string(bson::typeName(value.type()))));
        return false;
    }
    return value.boolValue();
}

void readTime(Fields* fields, std::optional<uint64_t>* time) {
    const bson::Element value = fields->element("startAtOperationTime");
    if (value.isMissing()) {
        return;
    }
    if (value.type() != bson::Type::kTimestamp) {
        fields->fail(wrongFieldType(value, "timestamp"));
        return;
    }
    *time = value.timestampValue();
}

Status readToken(Fields* fields, std::string_view name, std::optional<ResumeToken>* token) {
    if (fields->has(name)) {
        const bson::Document document = fields->object(name);
        FRESHET_RETURN_IF_ERROR(fields->status());
        FRESHET_ASSIGN_OR_RETURN(*token, parseResumeToken(document));
    }
    return Status::ok();
}

Status readStart(Fields* fields, ChangeOptions* options) {
    if (fields->has("resumeAfter") && fields->has("startAfter")) {
        return invalid(
            location(50865),
            "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage");
    }
    FRESHET_RETURN_IF_ERROR(readToken(fields, "startAfter", &options->after));
    std::optional<ResumeToken> resumeAfter;
    FRESHET_RETURN_IF_ERROR(readToken(fields, "resumeAfter", &resumeAfter));
    readTime(fields, &options->startAtOperationTime);
    FRESHET_RETURN_IF_ERROR(fields->status());
    if (options->startAtOperationTime.has_value() &&
        (options->after.has_value() || resumeAfter.has_value())) {
        return invalid(location(40674),
                       "Only one type of resume option is allowed, but multiple were found");
    }
    if (resumeAfter.has_value()) {
        if (resumeAfter->isInvalidate) {
            return invalid(Reason::kInvalidResumeToken,
                           "Attempting to resume a change stream using 'resumeAfter' is not "
                           "allowed from an invalidate notification");
        }
        options->after = resumeAfter;
    }
    return Status::ok();
}

/// Which databases and collections a stream may be opened on.
Status checkPlace(const ChangeOptions& options,
                  std::string_view db,
                  std::string_view collection,
                  bool isAllowedOnConfig,
                  bool isAllowedOnSystem) {
    const std::string ns =
        std::string(db) + "." +
        std::string(collection.empty() ? std::string_view("$cmd.aggregate") : collection);
    if (options.allChangesForCluster && (db != "admin" || !collection.empty())) {
        return invalid(Reason::kInvalidOptions,
                       "A $changeStream with 'allChangesForCluster:true' may only be opened on the "
                       "'admin' database, and with no collection name; found " +
                           ns);
    }
    const bool isOnInternal = (db == "admin" && !options.allChangesForCluster) || db == "local" ||
                              (db == "config" && !isAllowedOnConfig);
    if (isOnInternal) {
        return invalid(
            Reason::kInvalidNamespace,
            "$changeStream may not be opened on the internal " + std::string(db) + " database");
    }
    if (collection.starts_with("system.") && !isAllowedOnSystem) {
        return invalid(Reason::kInvalidNamespace,
                       "$changeStream may not be opened on the internal " + ns + " collection");
    }
    return Status::ok();
}

}  // namespace

StatusOr<ChangeOptions> parseChangeOptions(const bson::Element& stage,
                                           std::string_view db,
                                           std::string_view collection) {
    if (!stage.isObject()) {
        return invalid(location(6188500),
                       "$changeStream must take a nested object but found: " +
                           std::string(kStageName) + ": " + bson::toShellText(stage));
    }
    const bson::Document object = stage.document();
    Fields fields(object, kStageName);
    fields.allowOnly({"fullDocument",
                      "fullDocumentBeforeChange",
                      "resumeAfter",
                      "startAfter",
                      "startAtOperationTime",
                      "allChangesForCluster",
                      "allowToRunOnConfigDB",
                      "allowToRunOnSystemNS",
                      "matchCollectionUUIDForUpdateLookup",
                      "showExpandedEvents",
                      "showMigrationEvents",
                      "showRawUpdateDescription",
                      "showSystemEvents"});
    ChangeOptions options;
    readMode(&fields, "fullDocument", kFullDocumentModes, &options.fullDocument);
    readMode(
        &fields, "fullDocumentBeforeChange", kBeforeChangeModes, &options.fullDocumentBeforeChange);
    const auto flag = [&](std::string_view name) { return readFlag(object, name, &fields); };
    options.allChangesForCluster = flag("allChangesForCluster");
    options.showExpandedEvents = flag("showExpandedEvents");
    options.showSystemEvents = flag("showSystemEvents");
    options.showRawUpdateDescription = flag("showRawUpdateDescription");
    options.matchCollectionUuidForUpdateLookup = flag("matchCollectionUUIDForUpdateLookup");
    // Nothing migrates here: there are no such events to show.
    flag("showMigrationEvents");
    const bool isAllowedOnConfig = flag("allowToRunOnConfigDB");
    const bool isAllowedOnSystem = flag("allowToRunOnSystemNS");
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(
        checkPlace(options, db, collection, isAllowedOnConfig, isAllowedOnSystem));
    FRESHET_RETURN_IF_ERROR(readStart(&fields, &options));
    return options;
}

}  // namespace freshet::command
