// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/idle_crowd.h"

#include "freshet/bench/load/client.h"

#include <poll.h>
#include <unistd.h>

namespace freshet::bench {
namespace {

/// Sends one request and blocks until its reply has arrived.
Status exchangeOnce(Client& client) {
    FRESHET_RETURN_IF_ERROR(client.begin());
    while (true) {
        pollfd what{};
        what.fd = client.descriptor();
        what.events = client.wantsWrite() ? POLLOUT : POLLIN;
        ::poll(&what, 1, -1);
        FRESHET_ASSIGN_OR_RETURN(bool replied, client.proceedOnce());
        if (replied) {
            return Status::ok();
        }
    }
}

}  // namespace

Status IdleCrowd::come(const std::string& host,
                       uint16_t port,
                       unsigned count,
                       const RequestTemplate& request) {
    for (unsigned i = 0; i < count; ++i) {
        Client client(request, {i, count});
        FRESHET_RETURN_IF_ERROR(client.connect(host, port));
        FRESHET_RETURN_IF_ERROR(exchangeOnce(client));
        sockets_.push_back(client.release());
    }
    return Status::ok();
}

void IdleCrowd::leave() {
    for (int socket : sockets_) {
        ::close(socket);
    }
    sockets_.clear();
}

}  // namespace freshet::bench
