// SPDX-License-Identifier: Apache-2.0
/// PreparedFind: the find of one document by its _id, understood once and answered many times.
/// Applications ask the same question again and again, of another document: such a message differs
/// from the one before it on its connection in the value of the _id (and perhaps in the session's
/// id), byte for byte. It is compared with a copy of the one before, its values are put into that
/// copy, and all that had been parsed and checked of the copy stays true.
///
/// What depends on the moment is not kept: what users may do, whether the server is ending, what
/// the collection holds. Belongs to the connection's executor.
#pragma once

#include "freshet/command/run/invocation.h"
#include "freshet/query/point_reader.h"

#include <array>
#include <optional>
#include <string>

namespace freshet::command {

class PreparedFind {
public:
    PreparedFind() = default;
    PreparedFind(const PreparedFind&) = delete;
    PreparedFind& operator=(const PreparedFind&) = delete;

    /// Understands a whole message. False: it is no such find, or an unusual or a wrong one, which
    /// the general way answers.
    bool parse(ByteView message);
    /// REQUIRES: parse() said true. What the message says of itself has been checked, for `user`.
    /// False: as parse().
    bool prepare(Services& services, GenericArguments generic, UserRef user);

    /// Whether `message` asks the same, for the same user, of an _id of the same type and length as
    /// what was prepared. If so it is the one that all this speaks of from now on.
    bool takeAnother(ByteView message, const UserRef& user);
    /// REQUIRES: takeAnother() said true. False: there is no room for more.
    bool lookAhead(query::ReadAhead* ahead) { return reader_->lookAhead(id_, ahead); }
    const wire::Request& request() const { return request_; }
    const BodyIndex& index() const { return *index_; }
    const GenericArguments& generic() const { return generic_; }

    /// Makes the whole body of the reply in `call.message`. False: not without waiting, or the
    /// collection is gone. Then nothing has happened, and nothing is prepared any more.
    bool answer(Invocation& call);

private:
    /// Bytes of the message that differ from one to the next; none: there is no such value.
    struct Hole {
        size_t at = 0;
        size_t bytes = 0;
    };
    Hole holeOf(ByteView bytes) const;
    /// False: what an _id of this type may be is not for its length alone to say.
    bool findHoles();
    void makeEmptyReply(const std::string& ns);

    std::string message_;
    wire::Request request_;           // of message_
    std::optional<BodyIndex> index_;  // of message_
    bson::Element id_;                // in message_
    std::array<Hole, 3> holes_{};     // the request's id, and two values, as they come
    Hole session_{};                  // the one of them that is the session's

    bool isPrepared_ = false;
    GenericArguments generic_;
    UserRef user_;
    std::optional<query::PointReader> reader_;
    std::string emptyReply_;  // the body when there is no such document
    /// Where it has the lengths that grow with a document, and where the document goes.
    std::array<size_t, 3> lengthsAt_{};
    size_t documentAt_ = 0;
};

}  // namespace freshet::command
