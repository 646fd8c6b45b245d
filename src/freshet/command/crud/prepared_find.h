// SPDX-License-Identifier: Apache-2.0
/// PreparedFind: the find of one document by its _id, parsed once and answered many times.
/// Applications ask for one document after the other: such a message differs from the one before it
/// on its connection only in the value of the _id (and perhaps in the session's id), byte for byte.
/// It is compared with a copy of the previous one, its values are put into that copy, and
/// everything that was parsed and checked of the copy remains true.
///
/// State that can change is not kept: what users may do, whether the server is shutting down, what
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

    /// Parses a whole message. False: it is not such a find, or an unusual or invalid one, which
    /// the general path answers.
    bool parse(ByteView message);
    /// REQUIRES: parse() returned true. The message's arguments have been checked, for `user`.
    /// False: as in parse().
    bool prepare(Services& services, GenericArguments generic, UserRef user);

    /// Whether `message` is the same request, for the same user, with an _id of the same type and
    /// length as the prepared one. If so, this object describes it from now on.
    bool takeAnother(ByteView message, const UserRef& user);
    /// REQUIRES: takeAnother() returned true. False: there is no room for more.
    bool lookAhead(query::ReadAhead* ahead) { return reader_->lookAhead(id_, ahead); }
    const wire::Request& request() const { return request_; }
    const BodyIndex& index() const { return *index_; }
    const GenericArguments& generic() const { return generic_; }

    /// Writes the whole body of the reply to `call.message`. False: it would have to wait, or the
    /// collection is gone. Then nothing has happened, and nothing is prepared any more.
    bool answer(Invocation& call);

private:
    /// Bytes of the message that differ from one to the next; empty: there is no such value.
    struct Hole {
        size_t at = 0;
        size_t bytes = 0;
    };
    Hole holeOf(ByteView bytes) const;
    /// False: the _id is of a type for which not all bytes of that length are valid.
    bool findHoles();
    void makeEmptyReply(const Services& services, const std::string& ns);
    /// Puts the present cluster time into emptyReply_.
    void renewTimes(const Services& services);

    std::string message_;
    wire::Request request_;           // of message_
    std::optional<BodyIndex> index_;  // of message_
    bson::Element id_;                // in message_
    std::array<Hole, 3> holes_{};  // the request's id, and two values, in the order of the message
    Hole session_{};               // the one of them that is the session's id

    bool isPrepared_ = false;
    GenericArguments generic_;
    UserRef user_;
    std::optional<query::PointReader> reader_;
    std::string emptyReply_;  // the body when the document does not exist
    /// Offsets of the lengths that depend on the document, and of the document itself.
    std::array<size_t, 3> lengthsAt_{};
    size_t documentAt_ = 0;
    /// Where a replica set's member says the cluster time; 0: this server is none.
    std::array<size_t, 2> timesAt_{};
};

}  // namespace freshet::command
