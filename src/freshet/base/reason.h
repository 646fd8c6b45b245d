// SPDX-License-Identifier: Apache-2.0
/// Which of the protocol's named errors a client gets. Names only: the numbers and the spelling on
/// the wire are in command/error_map, and nowhere else.
#pragma once

#include <cstdint>

namespace freshet {

enum class Reason : uint32_t {
    kNone,
    kInternalError,
    kBadValue,
    kNoSuchKey,
    kUnauthorized,
    kUserNotFound,
    kAuthenticationFailed,
    kFailedToParse,
    kTypeMismatch,
    kOverflow,
    kInvalidLength,
    kProtocolError,
    kIllegalOperation,
    kNamespaceNotFound,
    kIndexNotFound,
    kPathNotViable,
    kCannotCreateIndex,
    kIndexAlreadyExists,
    kEmptyFieldName,
    kCommandNotFound,
    kConflictingUpdateOperators,
    kCursorNotFound,
    kNamespaceExists,
    kDatabaseDifferCase,
    kNotAReplicaSet,
    kNoReplicationEnabled,
    kFailPointSetFailed,
    kTooManyLogicalSessions,
    kNoSuchSession,
    kInvalidUuid,
    kApiDeprecationError,
    kClientMetadataCannotBeMutated,
    kClientMetadataMissingField,
    kClientMetadataAppNameTooLarge,
    kClientMetadataDocumentTooLarge,
    kCommandNotSupportedOnView,
    kMaxTimeMsExpired,
    kDollarPrefixedFieldName,
    kInvalidIdField,
    kNotSingleValueField,
    kImmutableField,
    kInvalidOptions,
    kInvalidNamespace,
    kIndexOptionsConflict,
    kIndexKeySpecsConflict,
    kUnknownReplWriteConcern,
    kShutdownInProgress,
    kOperationFailed,
    kWriteConflict,
    kCommandNotSupported,
    kExceededMemoryLimit,
    kMemoryLimitNoDiskUse,
    kInterrupted,
    kInterruptedAtShutdown,
    kQueryPlanKilled,
    kOutOfDiskSpace,
    kInvalidIndexSpecificationOption,
    kBsonObjectTooLarge,
    kInvalidBson,
    kDuplicateKey,
    kDocumentValidationFailure,
    kAmbiguousIndexKeyPattern,
    kUnknownField,              // Location40415: "BSON field 'x.y' is an unknown field."
    kMissingField,              // Location40414: "BSON field 'x.y' is missing but a required field"
    kUnknownStage,              // Location40324: "Unrecognized pipeline stage name: '$x'"
    kStageNotSingleField,       // Location40323
    kGroupMissingId,            // Location15955
    kGroupUnknownOperator,      // Location15952
    kGroupFieldNotAccumulator,  // Location40234
    kSpecNotObject,             // Location15947 and related
    kProjectEmpty,              // Location51272
    kProjectionMixed,           // Location31253 / 31254
    kPathCollision,             // Location31250
    kLimitNotPositive,          // Location15958
    kSortSpecInvalid,           // Location15976 and related
    kCountFieldInvalid,         // Location40156 and related
    kUnknownExpression,         // Location168 InvalidPipelineOperator in $expr
    kBatchSizeNegative,         // Location51024
    kCursorOptionMissing,       // FailedToParse: The 'cursor' option is required
    kRegexInvalid,              // Location51091
    kParallelArrays,            // CannotIndexParallelArrays
    kUnsupportedOpQueryCommand,
    kCursorInUse,
    kApiVersionError,
    kApiStrictError,
    kMissingDb,                 // Location40571: "OP_MSG requests require a $db argument"
    kFieldPathInvalid,          // Location16872 and related
    kUndefinedVariable,         // Location17276: "Use of undefined variable: x"
    kExpressionNotSingleField,  // Location15983
    kExpressionArity,           // Location16020: "Expression $x takes exactly ..."
    kConversionFailure,         // ConversionFailure 241: $toInt and related
    kPositionalNoMatch,         // Location51246
    kSwitchNoBranch,            // Location40066
    kRoleNotFound,
    kMechanismUnavailable,
    kTransactionTooOld,
    kInvalidReplicaSetConfig,
    kNotSecondary,
    kUnsatisfiableWriteConcern,
    kExceededTimeLimit,
    kNotARetryableWriteCommand,
    kSnapshotTooOld,
    kSnapshotUnavailable,
    kNoSuchTransaction,
    kTransactionCommitted,
    kConflictingOperationInProgress,
    kCommandFailed,
    kIncompleteTransactionHistory,
    kTransactionExceededLifetimeLimit,
    kOperationNotSupportedInTransaction,
    kTransactionEnded,  // WriteConflict 112: it was too old, or its writes took too much memory
    kInvalidResumeToken,
    kNoMatchingDocument,
    kChangeStreamFatalError,
    kChangeStreamHistoryLost,
    kCappedPositionLost,
    kUnknownError,
    kUpdateOperationFailed,
    kCount_,
};

/// An error that the protocol knows by number only ("Location40415"): it has no name that could be
/// kept apart from the number, so the number is given where the error arises. Not for errors that
/// have a name.
constexpr Reason location(uint32_t number) {
    return static_cast<Reason>((1U << 31) | number);
}
/// The number of a location(); 0 for a named reason.
constexpr uint32_t locationOf(Reason reason) {
    const auto value = static_cast<uint32_t>(reason);
    return (value & (1U << 31)) != 0 ? value & ~(1U << 31) : 0;
}

}  // namespace freshet
