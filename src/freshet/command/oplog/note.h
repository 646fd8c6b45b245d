// SPDX-License-Identifier: Apache-2.0
/// Notes: entries of the oplog that change nothing (op: "n"). Each is a commit that has only its
/// event.
#pragma once

#include "freshet/bson/view.h"
#include "freshet/engine/store.h"

#include <string>
#include <string_view>

namespace freshet::command {

/// Writes one note. A single thread at a time.
class NoteWriter {
public:
    /// `note`: the entry's `o`. Copied. `store` must outlive this.
    NoteWriter(engine::Store& store, bson::Document note);
    /// WouldBlock: call it again when token() is complete. Other errors: see engine::Txn::commit().
    Status run();
    const sync::WaitToken& token() const { return txn_.token(); }
    journal::Lsn commitLsn() const { return txn_.commitLsn(); }

private:
    engine::Txn txn_;
    std::string event_;
    bool hasEvent_ = false;
};

/// Writes the note {msg: message} of a member, on a thread that may block; a failure is logged.
void writeMemberNote(engine::Store& store, std::string_view message);

}  // namespace freshet::command
