// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any text as a connection string. What is parsed keeps the rules that open()
/// relies on, and the text for people contains no password.
#include "freshet/client/client.h"

#include <tuple>

namespace {

using namespace freshet;
using namespace freshet::client;

void read(std::string_view text) {
    const StatusOr<ConnectionString> parsed = ConnectionString::parse(text);
    if (!parsed.isOk()) {
        invariant(parsed.status().reason() == Reason::kFailedToParse);
        return;
    }
    invariant(parsed->check().isOk());
    invariant(!parsed->host.empty() && parsed->port != 0);
    const std::string shown = parsed->whereText();
    invariant(!shown.empty());
    const std::vector<ConnectionString> each = parsed->each();
    invariant(each.size() == parsed->others.size() + 1);
    for (const ConnectionString& one : each) {
        invariant(one.others.empty() && !one.host.empty() && one.port != 0);
        invariant(one.username == parsed->username && one.database == parsed->database);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    read(text);
    read("mongodb://" + text);
    read("mongodb://user:secret@" + text);
    read("mongodb://localhost/?" + text);
    read("mongodb+srv://" + text);
    read("mongodb+srv://db.example.org/?" + text);
    return 0;
}
