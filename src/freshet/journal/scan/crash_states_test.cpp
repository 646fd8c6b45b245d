// SPDX-License-Identifier: Apache-2.0
/// The journal in every state in which a crash could have left its files, over several starts and
/// with recycled segments: acknowledged records are replayed, then possibly a prefix of the records
/// appended after them, and nothing else. FRESHET_CRASH_STATES asks for more states.
#include "freshet/testing/sim/crash_states.h"

#include "freshet/journal/file/test_support.h"
#include "freshet/testing/sim/faulty_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace freshet::journal {
namespace {

using testing::CrashState;
using testing::CrashStatesCount;
using testing::MemoryFileSystem;

/// What a run did, and what was acknowledged at which position of its trace.
struct History {
    struct Appended {
        Lsn lsn;
        std::string body;
    };
    struct At {
        size_t position;
        Lsn lsn;
    };
    std::vector<Appended> appended;
    std::vector<At> durable;  // everything appended up to `lsn` was acknowledged as durable
    std::vector<At> redo;     // from now on, starts replay from here
    testing::Trace trace;
    uint64_t recycled = 0;

    static Lsn newest(const std::vector<At>& list, size_t position) {
        Lsn lsn = 0;
        for (const At& at : list) {
            lsn = at.position <= position ? at.lsn : lsn;
        }
        return lsn;
    }
};

Options tinyOptions(platform::FileSystem& files, Lsn redo) {
    Options options = smallOptions(files);
    options.segmentBytesFirst = options.segmentBytesMax = 16 * 1024;  // four blocks
    options.redoLsn = redo;
    return options;
}

/// One start: appends, waits at random, and once in a while a "checkpoint".
void runOnce(testing::TraceRecorder& disk,
             std::mt19937_64& random,
             bool closeIt,
             History* history) {
    Lsn redo = History::newest(history->redo, SIZE_MAX);
    Opened log = openLog(tinyOptions(disk, redo));
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    for (int i = 0; i < 40; ++i) {
        std::string body =
            std::to_string(history->appended.size()) + std::string(random() % 900, '.');
        AppendOp op(RecordType::kCommit, 1, body);
        ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
        history->appended.push_back({op.lsn(), body});
        if (random() % 3 == 0) {
            ASSERT_TRUE(waitDurable(*log.journal, op.lsn()).isOk());
            history->durable.push_back({disk.position(), op.lsn()});
        } else if (random() % 3 == 0) {
            ASSERT_TRUE(waitWritten(*log.journal, op.lsn()).isOk());
        }
        if (random() % 12 == 0) {
            redo = log.journal->tailLsn();
            ASSERT_TRUE(waitDurable(*log.journal, redo).isOk());
            history->durable.push_back({disk.position(), op.lsn()});
            history->redo.push_back({disk.position(), redo});
            ASSERT_TRUE(log.journal->recycle(redo).isOk());
        }
    }
    history->recycled += log.journal->stats().segmentsRecycled;
    ASSERT_TRUE(!closeIt || log.journal->close().isOk());
    // Not closed explicitly: leaving the scope would close it too, but the test does not rely on
    // that.
    log.journal.reset();
    history->durable.push_back({disk.position(), history->appended.back().lsn});
}

Status expect(bool truth, const std::string& what) {
    return truth ? Status::ok() : Status(Code::kCorruption, "WRONG: " + what);
}

Status checkState(const History& history, MemoryFileSystem& disk, const CrashState& state) {
    Lsn redo = History::newest(history.redo, state.prefix);
    Lsn durable = History::newest(history.durable, state.prefix);
    Opened log = openLog(tinyOptions(disk, redo));
    FRESHET_RETURN_IF_ERROR(log.status);
    auto next = std::find_if(history.appended.begin(),
                             history.appended.end(),
                             [&](const auto& record) { return record.lsn >= redo; });
    Lsn last = 0;
    for (const Replayed& record : log.records) {
        FRESHET_RETURN_IF_ERROR(expect(
            next != history.appended.end() && next->lsn == record.lsn && next->body == record.body,
            "record " + std::to_string(record.lsn) + " comes next"));
        last = record.lsn;
        ++next;
    }
    FRESHET_RETURN_IF_ERROR(expect(
        next == history.appended.end() || next->lsn > durable,
        "the log ends at " + std::to_string(last) + ", durable was " + std::to_string(durable)));
    if (state.number % 8 != 0) {
        return Status::ok();
    }
    // The log continues from there, and a second crash loses none of it.
    std::vector<std::string> expected = bodiesOf(log.records);
    for (int i = 0; i < 6; ++i) {
        expected.push_back("afterwards " + std::to_string(i) + std::string(800, '-'));
        putDurable(*log.journal, expected.back());
    }
    disk.crash();
    log.journal.reset();  // its writes from now on do not matter, but must not overlap the next
                          // start
    Opened again = openLog(tinyOptions(disk, redo));
    FRESHET_RETURN_IF_ERROR(again.status);
    return expect(bodiesOf(again.records) == expected, "the second start finds the same");
}

TEST(JournalCrashStates, EveryStateHoldsWhatWasAcknowledgedAndNothingElse) {
    uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryFileSystem memory;
    testing::TraceRecorder disk(memory);
    History history;
    for (int start = 0; start < 4; ++start) {
        ASSERT_NO_FATAL_FAILURE(runOnce(disk, random, start % 2 == 0, &history));
    }
    history.trace = disk.trace();
    EXPECT_GT(history.recycled, 4u);
    CrashStatesCount count;
    Status status = forEachCrashState(
        history.trace,
        {.seed = seed, .statesMax = testing::crashStatesWanted(2500)},
        [&](MemoryFileSystem& crashed, const CrashState& state) {
            return checkState(history, crashed, state);
        },
        &count);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_GT(count.torn, count.states / 20);
    std::printf("%llu states of %zu operations, %llu of them torn\n",
                static_cast<unsigned long long>(count.states),
                history.trace.size(),
                static_cast<unsigned long long>(count.torn));
}

}  // namespace
}  // namespace freshet::journal
