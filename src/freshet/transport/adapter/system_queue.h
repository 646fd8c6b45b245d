// SPDX-License-Identifier: Apache-2.0
/// A completion queue of libibverbs. For adapter/*.cpp only.
#pragma once

#include "freshet/transport/verbs.h"

#ifdef FRESHET_HAS_VERBS

#include <infiniband/verbs.h>

#include <deque>
#include <memory>

namespace freshet::transport::verbs {

class SystemQueue final : public CompletionQueue {
public:
    static StatusOr<std::unique_ptr<SystemQueue>> create(ibv_context* context, uint32_t entries);
    ~SystemQueue() override;
    ibv_cq* get() const { return queue_; }
    /// Waits for the completion of this request, which the adapter completes alone. Completions
    /// that come before it are kept for poll().
    Status await(uint64_t id);

    StatusOr<size_t> poll(std::span<Completion> out) override;
    Status arm() override;
    int fd() const override { return channel_->fd; }
    void clearEvents() override;

private:
    static constexpr size_t kBatch = 32;
    static constexpr unsigned kAcknowledgeEvery = 64;
    SystemQueue() = default;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    unsigned unacknowledged_ = 0;
    std::deque<Completion> kept_;
};

}  // namespace freshet::transport::verbs

#endif
