// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/error_map.h"

namespace freshet::command {

// One case for each reason and no default: the compiler tells when one is missing.
WireError wireErrorOf(Reason reason) {
    switch (reason) {
        case Reason::kNone:
        case Reason::kCount_:
            break;
        case Reason::kInternalError:
            return {1, "InternalError"};
        case Reason::kBadValue:
        case Reason::kInvalidSortPattern:
            return {2, "BadValue"};
        case Reason::kNoSuchKey:
            return {4, "NoSuchKey"};
        case Reason::kGraphContainsCycle:
            return {5, "GraphContainsCycle"};
        case Reason::kHostUnreachable:
            return {6, "HostUnreachable"};
        case Reason::kFailedToParse:
        case Reason::kCursorOptionMissing:
            return {9, "FailedToParse"};
        case Reason::kUnauthorized:
            return {13, "Unauthorized"};
        case Reason::kTypeMismatch:
        case Reason::kIncNonNumeric:
            return {14, "TypeMismatch"};
        case Reason::kOverflow:
            return {15, "Overflow"};
        case Reason::kInvalidLength:
            return {16, "InvalidLength"};
        case Reason::kProtocolError:
            return {17, "ProtocolError"};
        case Reason::kIllegalOperation:
            return {20, "IllegalOperation"};
        case Reason::kInvalidBson:
            return {22, "InvalidBSON"};
        case Reason::kNamespaceNotFound:
            return {26, "NamespaceNotFound"};
        case Reason::kIndexNotFound:
            return {27, "IndexNotFound"};
        case Reason::kPathNotViable:
            return {28, "PathNotViable"};
        case Reason::kConflictingUpdateOperators:
            return {40, "ConflictingUpdateOperators"};
        case Reason::kCursorNotFound:
            return {43, "CursorNotFound"};
        case Reason::kNamespaceExists:
            return {48, "NamespaceExists"};
        case Reason::kMaxTimeMsExpired:
            return {50, "MaxTimeMSExpired"};
        case Reason::kDollarPrefixedFieldName:
            return {52, "DollarPrefixedFieldName"};
        case Reason::kInvalidIdField:
            return {53, "InvalidIdField"};
        case Reason::kNotSingleValueField:
            return {54, "NotSingleValueField"};
        case Reason::kEmptyFieldName:
            return {56, "EmptyFieldName"};
        case Reason::kDottedFieldName:
            return {57, "DottedFieldName"};
        case Reason::kCommandNotFound:
            return {59, "CommandNotFound"};
        case Reason::kWriteConcernFailed:
            return {64, "WriteConcernFailed"};
        case Reason::kImmutableField:
            return {66, "ImmutableField"};
        case Reason::kCannotCreateIndex:
            return {67, "CannotCreateIndex"};
        case Reason::kIndexAlreadyExists:
            return {68, "IndexAlreadyExists"};
        case Reason::kInvalidOptions:
            return {72, "InvalidOptions"};
        case Reason::kInvalidNamespace:
            return {73, "InvalidNamespace"};
        case Reason::kUnknownReplWriteConcern:
            return {79, "UnknownReplWriteConcern"};
        case Reason::kIndexOptionsConflict:
            return {85, "IndexOptionsConflict"};
        case Reason::kIndexKeySpecsConflict:
            return {86, "IndexKeySpecsConflict"};
        case Reason::kShutdownInProgress:
            return {91, "ShutdownInProgress"};
        case Reason::kOperationFailed:
            return {96, "OperationFailed"};
        case Reason::kWriteConflict:
            return {112, "WriteConflict"};
        case Reason::kCommandNotSupported:
            return {115, "CommandNotSupported"};
        case Reason::kInvalidPipelineOperator:
        case Reason::kUnknownExpression:
            return {168, "InvalidPipelineOperator"};
        case Reason::kParallelArrays:
            return {171, "CannotIndexParallelArrays"};
        case Reason::kQueryPlanKilled:
            return {175, "QueryPlanKilled"};
        case Reason::kInvalidIndexSpecificationOption:
            return {197, "InvalidIndexSpecificationOption"};
        case Reason::kExceededMemoryLimit:
            return {292, "QueryExceededMemoryLimitNoDiskUseAllowed"};
        case Reason::kApiVersionError:
            return {322, "APIVersionError"};
        case Reason::kApiStrictError:
            return {323, "APIStrictError"};
        case Reason::kUnsupportedOpQueryCommand:
            return {352, "UnsupportedOpQueryCommand"};
        case Reason::kBsonObjectTooLarge:
            return {10334, "BSONObjectTooLarge"};
        case Reason::kDuplicateKey:
            return {11000, "DuplicateKey"};
        case Reason::kInterruptedAtShutdown:
            return {11600, "InterruptedAtShutdown"};
        case Reason::kInterrupted:
            return {11601, "Interrupted"};
        case Reason::kCursorInUse:
            return {12051, "CursorInUse"};
        case Reason::kOutOfDiskSpace:
            return {14031, "OutOfDiskSpace"};
        case Reason::kSpecNotObject:
            return {15947, "Location15947"};
        case Reason::kGroupUnknownOperator:
            return {15952, "Location15952"};
        case Reason::kGroupMissingId:
            return {15955, "Location15955"};
        case Reason::kLimitNotPositive:
            return {15958, "Location15958"};
        case Reason::kSortSpecInvalid:
            return {15976, "Location15976"};
        case Reason::kPathCollision:
            return {31250, "Location31250"};
        case Reason::kProjectionMixed:
            return {31254, "Location31254"};
        case Reason::kCountFieldInvalid:
            return {40156, "Location40156"};
        case Reason::kGroupFieldNotAccumulator:
            return {40234, "Location40234"};
        case Reason::kStageNotSingleField:
            return {40323, "Location40323"};
        case Reason::kUnknownStage:
            return {40324, "Location40324"};
        case Reason::kMissingField:
            return {40414, "Location40414"};
        case Reason::kUnknownField:
            return {40415, "Location40415"};
        case Reason::kMissingDb:
            return {40571, "Location40571"};
        case Reason::kBatchSizeNegative:
            return {51024, "Location51024"};
        case Reason::kRegexInvalid:
            return {51091, "Location51091"};
        case Reason::kProjectEmpty:
            return {51272, "Location51272"};
    }
    return {1, "InternalError"};
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
