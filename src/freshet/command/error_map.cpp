// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/error_map.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace freshet::command {
namespace {

struct Row {
    Reason reason;
    struct {
        int32_t code;
        std::string_view name;
    } error;
};

// By number on the wire.
constexpr Row kRows[] = {
    {Reason::kInternalError, {1, "InternalError"}},
    {Reason::kBadValue, {2, "BadValue"}},
    {Reason::kNoSuchKey, {4, "NoSuchKey"}},
    {Reason::kUnknownError, {8, "UnknownError"}},
    {Reason::kFailedToParse, {9, "FailedToParse"}},
    {Reason::kCursorOptionMissing, {9, "FailedToParse"}},
    {Reason::kUserNotFound, {11, "UserNotFound"}},
    {Reason::kUnauthorized, {13, "Unauthorized"}},
    {Reason::kTypeMismatch, {14, "TypeMismatch"}},
    {Reason::kOverflow, {15, "Overflow"}},
    {Reason::kInvalidLength, {16, "InvalidLength"}},
    {Reason::kProtocolError, {17, "ProtocolError"}},
    {Reason::kAuthenticationFailed, {18, "AuthenticationFailed"}},
    {Reason::kIllegalOperation, {20, "IllegalOperation"}},
    {Reason::kInvalidBson, {22, "InvalidBSON"}},
    {Reason::kNamespaceNotFound, {26, "NamespaceNotFound"}},
    {Reason::kIndexNotFound, {27, "IndexNotFound"}},
    {Reason::kPathNotViable, {28, "PathNotViable"}},
    {Reason::kRoleNotFound, {31, "RoleNotFound"}},
    {Reason::kConflictingUpdateOperators, {40, "ConflictingUpdateOperators"}},
    {Reason::kCursorNotFound, {43, "CursorNotFound"}},
    {Reason::kNamespaceExists, {48, "NamespaceExists"}},
    {Reason::kMaxTimeMsExpired, {50, "MaxTimeMSExpired"}},
    {Reason::kDollarPrefixedFieldName, {52, "DollarPrefixedFieldName"}},
    {Reason::kInvalidIdField, {53, "InvalidIdField"}},
    {Reason::kNotSingleValueField, {54, "NotSingleValueField"}},
    {Reason::kEmptyFieldName, {56, "EmptyFieldName"}},
    {Reason::kCommandNotFound, {59, "CommandNotFound"}},
    {Reason::kImmutableField, {66, "ImmutableField"}},
    {Reason::kCannotCreateIndex, {67, "CannotCreateIndex"}},
    {Reason::kIndexAlreadyExists, {68, "IndexAlreadyExists"}},
    {Reason::kInvalidOptions, {72, "InvalidOptions"}},
    {Reason::kInvalidNamespace, {73, "InvalidNamespace"}},
    {Reason::kNoReplicationEnabled, {76, "NoReplicationEnabled"}},
    {Reason::kUnknownReplWriteConcern, {79, "UnknownReplWriteConcern"}},
    {Reason::kIndexOptionsConflict, {85, "IndexOptionsConflict"}},
    {Reason::kIndexKeySpecsConflict, {86, "IndexKeySpecsConflict"}},
    {Reason::kShutdownInProgress, {91, "ShutdownInProgress"}},
    {Reason::kInvalidReplicaSetConfig, {93, "InvalidReplicaSetConfig"}},
    {Reason::kNotSecondary, {95, "NotSecondary"}},
    {Reason::kOperationFailed, {96, "OperationFailed"}},
    {Reason::kUnsatisfiableWriteConcern, {100, "UnsatisfiableWriteConcern"}},
    {Reason::kWriteConflict, {112, "WriteConflict"}},
    {Reason::kTransactionEnded, {112, "WriteConflict"}},
    {Reason::kCommandNotSupported, {115, "CommandNotSupported"}},
    {Reason::kDocumentValidationFailure, {121, "DocumentValidationFailure"}},
    {Reason::kNotAReplicaSet, {123, "NotAReplicaSet"}},
    {Reason::kCappedPositionLost, {136, "CappedPositionLost"}},
    {Reason::kExceededMemoryLimit, {146, "ExceededMemoryLimit"}},
    {Reason::kCommandNotSupportedOnView, {166, "CommandNotSupportedOnView"}},
    {Reason::kUnknownExpression, {168, "InvalidPipelineOperator"}},
    {Reason::kParallelArrays, {171, "CannotIndexParallelArrays"}},
    {Reason::kQueryPlanKilled, {175, "QueryPlanKilled"}},
    {Reason::kAmbiguousIndexKeyPattern, {181, "AmbiguousIndexKeyPattern"}},
    {Reason::kClientMetadataMissingField, {183, "ClientMetadataMissingField"}},
    {Reason::kClientMetadataAppNameTooLarge, {184, "ClientMetadataAppNameTooLarge"}},
    {Reason::kClientMetadataDocumentTooLarge, {185, "ClientMetadataDocumentTooLarge"}},
    {Reason::kClientMetadataCannotBeMutated, {186, "ClientMetadataCannotBeMutated"}},
    {Reason::kInvalidIndexSpecificationOption, {197, "InvalidIndexSpecificationOption"}},
    {Reason::kNoSuchSession, {206, "NoSuchSession"}},
    {Reason::kInvalidUuid, {207, "InvalidUUID"}},
    {Reason::kUpdateOperationFailed, {218, "UpdateOperationFailed"}},
    {Reason::kTransactionTooOld, {225, "TransactionTooOld"}},
    {Reason::kSnapshotTooOld, {239, "SnapshotTooOld"}},
    {Reason::kSnapshotUnavailable, {246, "SnapshotUnavailable"}},
    {Reason::kNoSuchTransaction, {251, "NoSuchTransaction"}},
    {Reason::kTransactionCommitted, {256, "TransactionCommitted"}},
    {Reason::kOperationNotSupportedInTransaction, {263, "OperationNotSupportedInTransaction"}},
    {Reason::kIncompleteTransactionHistory, {217, "IncompleteTransactionHistory"}},
    {Reason::kCommandFailed, {125, "CommandFailed"}},
    {Reason::kConflictingOperationInProgress, {117, "ConflictingOperationInProgress"}},
    {Reason::kTransactionExceededLifetimeLimit, {290, "TransactionExceededLifetimeLimitSeconds"}},
    {Reason::kConversionFailure, {241, "ConversionFailure"}},
    {Reason::kInvalidResumeToken, {260, "InvalidResumeToken"}},
    {Reason::kTooManyLogicalSessions, {261, "TooManyLogicalSessions"}},
    {Reason::kExceededTimeLimit, {262, "ExceededTimeLimit"}},
    {Reason::kFailPointSetFailed, {266, "FailPointSetFailed"}},
    {Reason::kNoMatchingDocument, {47, "NoMatchingDocument"}},
    {Reason::kChangeStreamFatalError, {280, "ChangeStreamFatalError"}},
    {Reason::kChangeStreamHistoryLost, {286, "ChangeStreamHistoryLost"}},
    {Reason::kMemoryLimitNoDiskUse, {292, "QueryExceededMemoryLimitNoDiskUseAllowed"}},
    {Reason::kApiVersionError, {322, "APIVersionError"}},
    {Reason::kApiStrictError, {323, "APIStrictError"}},
    {Reason::kApiDeprecationError, {324, "APIDeprecationError"}},
    {Reason::kMechanismUnavailable, {334, "MechanismUnavailable"}},
    {Reason::kUnsupportedOpQueryCommand, {352, "UnsupportedOpQueryCommand"}},
    {Reason::kBsonObjectTooLarge, {10334, "BSONObjectTooLarge"}},
    {Reason::kDuplicateKey, {11000, "DuplicateKey"}},
    {Reason::kInterruptedAtShutdown, {11600, "InterruptedAtShutdown"}},
    {Reason::kInterrupted, {11601, "Interrupted"}},
    {Reason::kCursorInUse, {12051, "CursorInUse"}},
    {Reason::kDatabaseDifferCase, {13297, "DatabaseDifferCase"}},
    {Reason::kOutOfDiskSpace, {14031, "OutOfDiskSpace"}},
    {Reason::kSpecNotObject, {15947, "Location15947"}},
    {Reason::kGroupUnknownOperator, {15952, "Location15952"}},
    {Reason::kGroupMissingId, {15955, "Location15955"}},
    {Reason::kLimitNotPositive, {15958, "Location15958"}},
    {Reason::kSortSpecInvalid, {15976, "Location15976"}},
    {Reason::kExpressionNotSingleField, {15983, "Location15983"}},
    {Reason::kExpressionArity, {16020, "Location16020"}},
    {Reason::kFieldPathInvalid, {16872, "Location16872"}},
    {Reason::kUndefinedVariable, {17276, "Location17276"}},
    {Reason::kPathCollision, {31250, "Location31250"}},
    {Reason::kProjectionMixed, {31254, "Location31254"}},
    {Reason::kSwitchNoBranch, {40066, "Location40066"}},
    {Reason::kCountFieldInvalid, {40156, "Location40156"}},
    {Reason::kGroupFieldNotAccumulator, {40234, "Location40234"}},
    {Reason::kStageNotSingleField, {40323, "Location40323"}},
    {Reason::kUnknownStage, {40324, "Location40324"}},
    {Reason::kMissingField, {40414, "Location40414"}},
    {Reason::kUnknownField, {40415, "Location40415"}},
    {Reason::kMissingDb, {40571, "Location40571"}},
    {Reason::kNotARetryableWriteCommand, {50768, "NotARetryableWriteCommand"}},
    {Reason::kBatchSizeNegative, {51024, "Location51024"}},
    {Reason::kRegexInvalid, {51091, "Location51091"}},
    {Reason::kPositionalNoMatch, {51246, "Location51246"}},
    {Reason::kProjectEmpty, {51272, "Location51272"}},
};

/// Errors without a reason of their own: most are sent by `failCommand` only.
constexpr struct {
    int32_t code;
    std::string_view name;
} kOthers[] = {
    {6, "HostUnreachable"},
    {7, "HostNotFound"},
    {23, "AlreadyInitialized"},
    {24, "LockTimeout"},
    {46, "LockBusy"},
    {63, "StaleShardVersion"},
    {64, "WriteConcernFailed"},
    {89, "NetworkTimeout"},
    {90, "CallbackCanceled"},
    {103, "NewReplicaSetConfigurationIncompatible"},
    {125, "CommandFailed"},
    {133, "FailedToSatisfyReadPreference"},
    {134, "ReadConcernMajorityNotAvailableYet"},
    {139, "JSInterpreterFailure"},
    {150, "StaleEpoch"},
    {189, "PrimarySteppedDown"},
    {202, "NetworkInterfaceExceededTimeLimit"},
    {216, "ElectionInProgress"},
    {222, "CloseChangeStream"},
    {234, "RetryChangeStream"},
    {237, "CursorKilled"},
    {238, "NotImplemented"},
    {246, "SnapshotUnavailable"},
    {251, "NoSuchTransaction"},
    {256, "TransactionCommitted"},
    {257, "TransactionTooLarge"},
    {263, "OperationNotSupportedInTransaction"},
    {278, "UnsatisfiableCommitQuorum"},
    {290, "TransactionExceededLifetimeLimitSeconds"},
    {301, "DataCorruptionDetected"},
    {317, "ConnectionPoolExpired"},
    {358, "InternalTransactionNotSupported"},
    {384, "ConnectionError"},
    {391, "ReauthenticationRequired"},
    {9001, "SocketException"},
    {10107, "NotWritablePrimary"},
    {11602, "InterruptedDueToReplStateChange"},
    {13388, "StaleConfig"},
    {13435, "NotPrimaryNoSecondaryOk"},
    {13436, "NotPrimaryOrSecondary"},
    {31082, "SearchNotEnabled"},
};

constexpr const Row* find(Reason reason) {
    return std::find_if(
        std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.reason == reason; });
}

constexpr bool hasEveryReason() {
    for (int i = 1; i < static_cast<int>(Reason::kCount_); ++i) {
        if (find(static_cast<Reason>(i)) == std::end(kRows)) {
            return false;
        }
    }
    return true;
}
static_assert(hasEveryReason(), "a reason has no number on the wire");

/// For tests that choose the numbers of errors which we never give by ourselves.
WireError wireErrorOfNumber(int32_t number) {
    const auto* known = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) {
        return row.error.code == number;
    });
    if (known != std::end(kRows)) {
        return {number, std::string(known->error.name)};
    }
    const auto* other = std::find_if(std::begin(kOthers), std::end(kOthers), [&](const auto& row) {
        return row.code == number;
    });
    return {number,
            other != std::end(kOthers) ? std::string(other->name)
                                       : "Location" + std::to_string(number)};
}

}  // namespace

bool isNotPrimaryError(int32_t code) {
    constexpr int32_t kCodes[] = {189, 10107, 11602, 13435, 13436};
    return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

bool isShutdownError(int32_t code) {
    return code == 91 || code == 11600;
}

bool isRetryableWriteError(int32_t code) {
    constexpr int32_t kNetworkAndTime[] = {6, 7, 89, 262, 9001};
    return isNotPrimaryError(code) || isShutdownError(code) ||
           std::find(std::begin(kNetworkAndTime), std::end(kNetworkAndTime), code) !=
               std::end(kNetworkAndTime);
}

bool isTransientTransactionError(int32_t code, bool isOfItsEnd) {
    constexpr int32_t kNoSuchTransaction = 251;
    constexpr int32_t kConflictsAndSnapshots[] = {24, 112, 239, 246, 249, 267, 292};
    return code == kNoSuchTransaction || (!isOfItsEnd && isRetryableWriteError(code)) ||
           std::find(std::begin(kConflictsAndSnapshots), std::end(kConflictsAndSnapshots), code) !=
               std::end(kConflictsAndSnapshots);
}

std::string_view changeStreamLabel(int32_t code) {
    constexpr int32_t kFinal[] = {280, 286};
    constexpr int32_t kOfCursors[] = {63, 133, 150, 234, 13388};
    if (std::find(std::begin(kFinal), std::end(kFinal), code) != std::end(kFinal)) {
        return "NonResumableChangeStreamError";
    }
    const bool isResumable =
        isRetryableWriteError(code) ||
        std::find(std::begin(kOfCursors), std::end(kOfCursors), code) != std::end(kOfCursors);
    return isResumable ? "ResumableChangeStreamError" : std::string_view();
}

WireError wireErrorOf(Reason reason) {
    if (const uint32_t number = locationOf(reason); number != 0) {
        return wireErrorOfNumber(static_cast<int32_t>(number));
    }
    const Row* row = find(reason);
    invariant(row != std::end(kRows));
    return {row->error.code, std::string(row->error.name)};
}

WireError wireErrorOf(const Status& status) {
    invariant(!status.isOk());
    if (status.reason() != Reason::kNone) {
        return wireErrorOf(status.reason());
    }
    switch (status.code()) {
        case Code::kInvalid:
            return wireErrorOf(Reason::kBadValue);
        case Code::kNotFound:
            return wireErrorOf(Reason::kNoSuchKey);
        case Code::kExists:
            return wireErrorOf(Reason::kDuplicateKey);
        case Code::kConflict:
            return wireErrorOf(Reason::kWriteConflict);
        case Code::kNoSpace:
            return wireErrorOf(Reason::kOutOfDiskSpace);
        case Code::kUnsupported:
            return wireErrorOf(Reason::kCommandNotSupported);
        case Code::kLimit:
            return wireErrorOf(Reason::kOperationFailed);
        case Code::kCancelled:
            return wireErrorOf(Reason::kInterrupted);
        case Code::kTimeout:
            return wireErrorOf(Reason::kMaxTimeMsExpired);
        case Code::kUnavailable:
            return wireErrorOf(Reason::kShutdownInProgress);
        case Code::kOk:
        case Code::kWouldBlock:
        case Code::kCorruption:
        case Code::kIo:
            break;
    }
    return wireErrorOf(Reason::kInternalError);
}

}  // namespace freshet::command
