// SPDX-License-Identifier: Apache-2.0
/// What each supported option does to the settings; the rows of the option table point here. The
/// value has the form of the option's kind; the text of kInvalid says what would be valid.
#pragma once

#include "freshet/base/status.h"
#include "freshet/server/options/settings.h"

#include <string>

namespace freshet::server {

Status applyAuthorization(const std::string& value, Settings* out);
Status applyBindAll(const std::string& value, Settings* out);
Status applyBindIp(const std::string& value, Settings* out);
Status applyCacheSize(const std::string& value, Settings* out);
Status applyBlockCompressor(const std::string& value, Settings* out);
Status applyMemoryLimit(const std::string& value, Settings* out);
Status applyComponentVerbosity(const std::string& value, Settings* out);
Status applyCompressors(const std::string& value, Settings* out);
Status applyConfig(const std::string& value, Settings* out);
Status applyConfigExpand(const std::string& value, Settings* out);
Status applyDbPath(const std::string& value, Settings* out);
Status applyForeignFiles(const std::string& value, Settings* out);
Status applyFork(const std::string& value, Settings* out);
Status applyHelp(const std::string& value, Settings* out);
Status applyIpv6(const std::string& value, Settings* out);
Status applyJournalInterval(const std::string& value, Settings* out);
Status applyJavaScript(const std::string& value, Settings* out);
Status applyKeyFile(const std::string& value, Settings* out);
Status applyLogAppend(const std::string& value, Settings* out);
Status applyLogDestination(const std::string& value, Settings* out);
Status applyLogPath(const std::string& value, Settings* out);
Status applyLogRotate(const std::string& value, Settings* out);
Status applyMaxConns(const std::string& value, Settings* out);
Status applyOplogHours(const std::string& value, Settings* out);
Status applyOplogSize(const std::string& value, Settings* out);
Status applyParameter(const std::string& value, Settings* out);
Status applyPidFile(const std::string& value, Settings* out);
Status applyPort(const std::string& value, Settings* out);
Status applyProfilingMode(const std::string& value, Settings* out);
Status applyReplicaSet(const std::string& value, Settings* out);
Status applyReplicaSetHost(const std::string& value, Settings* out);
Status applyQuiet(const std::string& value, Settings* out);
Status applyReactors(const std::string& value, Settings* out);
Status applyRdma(const std::string& value, Settings* out);
Status applyRdmaPort(const std::string& value, Settings* out);
Status applyRdmaRing(const std::string& value, Settings* out);
Status applyRdmaSessions(const std::string& value, Settings* out);
Status applyRdmaInPlace(const std::string& value, Settings* out);
Status applyRdmaOneSlot(const std::string& value, Settings* out);
Status applyRepair(const std::string& value, Settings* out);
Status applySampleRate(const std::string& value, Settings* out);
Status applyShutdown(const std::string& value, Settings* out);
Status applySlowMs(const std::string& value, Settings* out);
Status applySyncDelay(const std::string& value, Settings* out);
Status applyTimeStampFormat(const std::string& value, Settings* out);
Status applyTlsAllowInvalid(const std::string& value, Settings* out);
Status applyTlsAllowNone(const std::string& value, Settings* out);
Status applyTlsCaFile(const std::string& value, Settings* out);
Status applyTlsCrlFile(const std::string& value, Settings* out);
Status applyTlsDisabled(const std::string& value, Settings* out);
Status applyTlsKeyFile(const std::string& value, Settings* out);
Status applyTlsMode(const std::string& value, Settings* out);
Status applyTlsPassword(const std::string& value, Settings* out);
Status applyUnixPermissions(const std::string& value, Settings* out);
Status applyUnixPrefix(const std::string& value, Settings* out);
Status applyUnixSocket(const std::string& value, Settings* out);
Status applyUnsafeListen(const std::string& value, Settings* out);
Status applyVerbosity(const std::string& value, Settings* out);
Status applyVersion(const std::string& value, Settings* out);

}  // namespace freshet::server
