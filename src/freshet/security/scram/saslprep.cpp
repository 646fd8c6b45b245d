// SPDX-License-Identifier: Apache-2.0
/// RFC 4013, using ICU's string preparation profile.
#include "freshet/security/scram/keys.h"

#include <unicode/usprep.h>
#include <unicode/ustring.h>

#include <memory>

namespace freshet::security {
namespace {

constexpr size_t kPasswordBytesMax = 64 * 1024;

struct ProfileCloser {
    void operator()(UStringPrepProfile* profile) const { usprep_close(profile); }
};

/// Null when ICU lacks its data.
const UStringPrepProfile* saslProfile() {
    static const std::unique_ptr<UStringPrepProfile, ProfileCloser> kProfile = [] {
        UErrorCode error = U_ZERO_ERROR;
        std::unique_ptr<UStringPrepProfile, ProfileCloser> opened(
            usprep_openByType(USPREP_RFC4013_SASLPREP, &error));
        return U_SUCCESS(error) ? std::move(opened) : nullptr;
    }();
    return kProfile.get();
}

}  // namespace

StatusOr<std::string> saslPrepare(const std::string& text) {
    const UStringPrepProfile* profile = saslProfile();
    if (profile == nullptr) {
        return Status(Code::kUnsupported, "ICU has no SASLprep profile");
    }
    if (text.size() > kPasswordBytesMax) {
        return badValue("The password is too long");
    }
    UErrorCode error = U_ZERO_ERROR;
    std::u16string wide(text.size(), u'\0');
    int32_t wideSize = 0;
    u_strFromUTF8(wide.data(),
                  static_cast<int32_t>(wide.size()),
                  &wideSize,
                  text.data(),
                  static_cast<int32_t>(text.size()),
                  &error);
    if (U_FAILURE(error)) {
        return badValue("The password is not valid UTF-8");
    }
    // Compatibility forms grow by a factor of up to 18 (one ligature); the profile reports when
    // that is not enough.
    std::u16string prepared(static_cast<size_t>(wideSize) * 18 + 1, u'\0');
    UParseError place;
    const int32_t size = usprep_prepare(const_cast<UStringPrepProfile*>(profile),
                                        wide.data(),
                                        wideSize,
                                        prepared.data(),
                                        static_cast<int32_t>(prepared.size()),
                                        USPREP_DEFAULT,
                                        &place,
                                        &error);
    if (U_FAILURE(error)) {
        return badValue(std::string("The password cannot be prepared by SASLprep: ") +
                        u_errorName(error));
    }
    std::string out(static_cast<size_t>(size) * 3, '\0');
    int32_t outSize = 0;
    u_strToUTF8(
        out.data(), static_cast<int32_t>(out.size()), &outSize, prepared.data(), size, &error);
    if (U_FAILURE(error)) {
        return badValue("The password cannot be written as UTF-8");
    }
    out.resize(static_cast<size_t>(outSize));
    return out;
}

}  // namespace freshet::security
