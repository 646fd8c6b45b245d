// SPDX-License-Identifier: Apache-2.0
/// The ids of log lines. Scripts search for them, so a number never changes and is never reused,
/// while the text may improve. An id is mongod's where it has the event, else ours, from 9000000
/// on. buildscripts/lint_log_ids.py compares this table with the code and with
/// docs/admin/monitoring.md.
#pragma once

#include <cstdint>

namespace freshet::telemetry {

enum class LogId : int32_t {
    kStartFailed = 20557,            // cannot start on the data directory
    kNowExiting = 20565,             // the shutdown is done
    kListenerFailed = 20568,         // an address cannot be listened on
    kPrimaryNow = 21331,             // with --replSet: the node accepts writes
    kOptionsSet = 21951,             // the options in force
    kNoAccessControl = 22120,        // start-up warning: no logins are required
    kOnlyLocalhost = 22140,          // start-up warning: other machines cannot connect
    kFewFiles = 22184,               // start-up warning: fewer files than connections
    kConnectionRefused = 22942,      // more than --maxConns connections
    kConnectionAccepted = 22943,     // a connection begins
    kConnectionEnded = 22944,        // a connection ends
    kListeningOn = 23015,            // an address that is listened on
    kWaitingForConnections = 23016,  // the server is ready
    kShuttingDown = 23138,           // the exit code
    kReceivedSignal = 23377,         // a signal that ends the server
    kBuildInfo = 23403,              // version and build
    kClientMetadata = 51800,         // what a client says about itself
    kSlowQuery = 51803,              // a slow operation
    kStarting = 4615611,             // the process, its port and data directory
    kLoginSucceeded = 5286306,       // a login has succeeded
    kLoginFailed = 5286307,          // a login has failed

    // The short form of log() has one id for each of these rooms.
    kFromOthers = 9000000,     // any other room, in other programs
    kFromCommand = 9000002,    // command
    kFromJournal = 9000005,    // journal
    kFromTransport = 9000006,  // transport
    kFromQuery = 9000007,      // query
    kFromStorage = 9000011,    // block and engine

    kUserStays = 9000023,              // a user to be merged exists already
    kNotAUser = 9000024,               // a document of admin.system.users is not valid
    kOptionNote = 9000100,             // an option without its effect
    kReachableWithoutLogin = 9000101,  // start-up warning: reachable, and no logins are required
    kRotating = 9000102,               // the log is rotated
    kRotationFailed = 9000103,         // the log could not be rotated
    kFreshetStarting = 9000104,        // Freshet's own version
    kTlsFailed = 9000110,              // TLS files cannot be used
    kWriteFailed = 9000111,            // a write or flush has failed, the server ends at once
    kCloseFailed = 9000112,            // the data directory could not be closed
    kDamageGivenUp = 9000113,          // data that a repair gave up
    kRepairDone = 9000114,             // a repair is done
    kShortage = 9000115,               // too few files or threads, or too little memory
    kRecovered = 9000116,              // the last shutdown was unclean, the journal was replayed
    kDataClosed = 9000117,             // the data directory is closed
    kSessionsLeft = 9000118,           // a shutdown left sessions that were busy
    kLongPass = 9000120,               // a command has held up other connections
    kCheckpointMade = 9000130,         // a checkpoint is complete
};

}  // namespace freshet::telemetry
