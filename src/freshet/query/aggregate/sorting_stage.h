// SPDX-License-Identifier: Apache-2.0
/// SortingStage: common parts of stages that first sort their input.
#pragma once

#include "freshet/query/aggregate/stage.h"
#include "freshet/query/exec/sorter.h"

namespace freshet::query {

class SortingStage : public BlockingStage {
protected:
    /// `keep`: as Sorter's.
    SortingStage(PipelineRun& run, StagePtr input, uint64_t keep, size_t bytesMax)
        : BlockingStage(run, std::move(input)),
          sorter_(keep, run.memory(), bytesMax, run.spilled()) {}

    Status sort(std::string key, std::string_view payload) {
        return asStage(sorter_.add(std::move(key), payload));
    }
    /// For give(): the next record in order.
    Status nextSorted(SpillRecord* record, bool* isEnd) {
        return asStage(sorter_.next(record, isEnd));
    }
    uint64_t ownBytes() const final { return sorter_.heldBytes(); }
    Status finish() override { return asStage(sorter_.finish()); }
    /// For payloads that are documents.
    Status give(Output* out) override {
        SpillRecord record;
        bool isEnd = false;
        FRESHET_RETURN_IF_ERROR(nextSorted(&record, &isEnd));
        return isEnd ? out->end() : out->give(bson::Document(record.payload.data()));
    }

private:
    Status settle() final { return asStage(sorter_.settle()); }
    Status asStage(Status status) {
        if (status.reason() == Reason::kMemoryLimitNoDiskUse) {
            return Status(status.code(),
                          status.reason(),
                          "PlanExecutor error during aggregation :: caused by :: " +
                              std::string(status.text()));
        }
        return waiting(std::move(status), sorter_.token());
    }

    Sorter sorter_;
};

}  // namespace freshet::query
