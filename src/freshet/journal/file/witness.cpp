// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/witness.h"

#include "freshet/base/checksum.h"
#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/mutant.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <new>

namespace freshet::journal {
namespace {

constexpr uint64_t kCheckMask = (uint64_t{1} << kLsnOffsetBits) - 1;

std::string witnessPath(const Options& options) {
    return options.directory + "/" + kWitnessName;
}

uint32_t witnessChecksum(const WitnessHeader& header) {
    return crc32c(&header, offsetof(WitnessHeader, crc));
}

/// A slot's start has zero low bits; the word holds a check there, so that one store changes both.
uint64_t wordOf(const WitnessHeader& header, Lsn lsn) {
    return lsn | (crc32c(&lsn, sizeof(lsn), header.crc) & kCheckMask);
}

/// 0: the word holds no valid position.
Lsn positionIn(const WitnessHeader& header, uint64_t word) {
    const Lsn lsn = word & ~kCheckMask;
    return wordOf(header, lsn) == word ? lsn : 0;
}

/// Writes the whole page and makes it durable.
Status prepareWitness(platform::File& file, const WitnessHeader& header, Lsn durable) {
    std::string page(kWitnessBytes, '\0');
    storeLe(page.data(), header);
    storeLe(page.data() + kWitnessDurable, wordOf(header, durable));
    storeLe(page.data() + kWitnessTwin, wordOf(header, durable));
    FRESHET_ASSIGN_OR_RETURN(const uint64_t bytes, file.size());
    if (bytes > kWitnessBytes) {
        FRESHET_RETURN_IF_ERROR(file.truncate(kWitnessBytes));
    }
    FRESHET_RETURN_IF_ERROR(file.pwrite(page, 0));
    return file.sync();
}

}  // namespace

std::unique_ptr<Witness> Witness::make(const Options& options, uint32_t era, Lsn durable) {
    WitnessHeader header;
    header.era = era;
    header.dbUuidLow = uuidLow(options);
    header.boot = options.files->bootNumber();
    header.crc = witnessChecksum(header);
    const auto unkept = [](const Status& why) {
        telemetry::logWarning("journal",
                              "how far the log has come is not recorded: " + why.toString());
        return nullptr;
    };
    auto file = options.files->open(witnessPath(options), platform::OpenMode::kCreate);
    if (!file.isOk()) {
        return unkept(file.status());
    }
    if (const Status status = prepareWitness(**file, header, durable); !status.isOk()) {
        return unkept(status);
    }
    std::unique_ptr<Witness> witness(new Witness(header, std::move(*file)));
    if (!options.files->sharesIn(options.directory)) {
        return witness;
    }
    auto bytes = witness->file_->share(kWitnessBytes);
    if (!bytes.isOk()) {
        return unkept(bytes.status());
    }
    witness->bytes_ = std::move(*bytes);
    witness->file_.reset();
    char* const data = witness->bytes_->data();
    witness->durable_ =
        new (data + kWitnessDurable) sync::Atomic<uint64_t>(wordOf(header, durable));
    witness->written_ =
        new (data + kWitnessWritten) sync::Atomic<uint64_t>(wordOf(header, durable));
    // A store replaces the durable word as a whole, so no second copy is needed.
    storeLe(data + kWitnessTwin, uint64_t{0});
    return witness;
}

void Witness::noteDurable(Lsn lsn) {
    const uint64_t word = wordOf(header_, lsn);
    if (durable_ != nullptr) {
        // [witness.durable] release: pairs with [witness.read] in another process. It stays after
        // the flush, and before [journal.durable], after which the position is acknowledged.
        durable_->store(word, sync::kRelease);
        return;
    }
    if (file_ == nullptr) {
        return;
    }
    char bytes[sizeof(word)];
    storeLe(bytes, word);
    const size_t at = isTwinNext_ ? kWitnessTwin : kWitnessDurable;
    isTwinNext_ = !isTwinNext_;
    const Status status = file_->pwrite(ByteView(bytes, sizeof(bytes)), at);
    if (!status.isOk()) {
        // The position stays behind from now on, which is safe.
        telemetry::logWarning("journal", "the witness cannot be written: " + status.toString());
        file_.reset();
    }
}

void Witness::noteWritten(Lsn lsn) {
    if (mutated(Mutant::kEarlyWitness)) {
        noteDurable(lsn);
    }
    if (written_ != nullptr) {
        // [witness.written] release: pairs with [witness.read]; it stays after the write.
        written_->store(wordOf(header_, lsn), sync::kRelease);
    }
}

StatusOr<Testimony> readWitness(const Options& options) {
    Testimony said;
    said.path = witnessPath(options);
    auto file = options.files->open(said.path, platform::OpenMode::kRead);
    if (file.status().code() == Code::kNotFound) {
        said.trouble = "is missing";
        return said;
    }
    FRESHET_RETURN_IF_ERROR(file.status());
    // [witness.read] plain: its writer has ended. Pairs with [witness.durable], [witness.written].
    char page[kWitnessBytes] = {};
    FRESHET_ASSIGN_OR_RETURN(const size_t got, (*file)->pread(page, sizeof(page), 0));
    const auto header = loadLe<WitnessHeader>(page);
    if (got < sizeof(page) || header.magic != kWitnessMagic ||
        header.crc != witnessChecksum(header)) {
        said.trouble = "at offset 0 is cut or damaged";
        return said;
    }
    if (header.formatVer > kWitnessFormat) {
        return Status(Code::kUnsupported, said.path + ": is of a newer format");
    }
    said.era = header.era;
    // A torn write leaves the value before it in the other word.
    said.durable = std::max(positionIn(header, loadLe<uint64_t>(page + kWitnessDurable)),
                            positionIn(header, loadLe<uint64_t>(page + kWitnessTwin)));
    said.written = positionIn(header, loadLe<uint64_t>(page + kWitnessWritten));
    const uint64_t boot = options.files->bootNumber();
    said.isOfThisBoot = boot != 0 && boot == header.boot;
    if (header.dbUuidLow != uuidLow(options)) {
        said.trouble = "belongs to another data directory";
    } else if (said.durable == 0) {
        said.trouble = "at offset " + std::to_string(kWitnessDurable) + " is damaged";
    }
    return said;
}

}  // namespace freshet::journal
