// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

namespace freshet::query {

struct Regex::Impl {
    pcre2_code* code = nullptr;
    pcre2_match_context* limits = nullptr;
    std::string literal;  // the whole pattern, if it has no special characters
    bool isLiteral = false;

    ~Impl() {
        pcre2_match_context_free(limits);
        pcre2_code_free(code);
    }
    /// As pcre2_match().
    int run(std::string_view text, size_t from, pcre2_match_data* found) const {
        const auto match = [&](uint32_t options) {
            return pcre2_match(code,
                               reinterpret_cast<PCRE2_SPTR>(text.data()),
                               text.size(),
                               from,
                               options,
                               found,
                               limits);
        };
        const int result = match(0);
        // Compiled code has only a small stack; the interpreter uses the heap.
        return result == PCRE2_ERROR_JIT_STACKLIMIT ? match(PCRE2_NO_JIT) : result;
    }
};

namespace {

StatusOr<uint32_t> optionsOf(std::string_view flags) {
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    for (char flag : flags) {
        switch (flag) {
            case 'i':
                options |= PCRE2_CASELESS;
                break;
            case 'm':
                options |= PCRE2_MULTILINE;
                break;
            case 's':
                options |= PCRE2_DOTALL;
                break;
            case 'x':
                options |= PCRE2_EXTENDED;
                break;
            case 'u':
                break;  // always on
            default:
                return invalid(location(51108),
                               std::string("invalid flag in regex options: ") + flag);
        }
    }
    return options;
}

/// One block per thread: a match needs only a yes or no.
pcre2_match_data* threadMatchData() {
    struct Holder {
        pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
        ~Holder() { pcre2_match_data_free(data); }
    };
    static thread_local Holder holder;
    return holder.data;
}

}  // namespace

StatusOr<std::shared_ptr<const Regex>> Regex::compile(std::string_view pattern,
                                                      std::string_view flags) {
    FRESHET_ASSIGN_OR_RETURN(const uint32_t options, optionsOf(flags));
    auto impl = std::make_unique<Impl>();
    int error = 0;
    PCRE2_SIZE offset = 0;
    impl->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                               pattern.size(),
                               options,
                               &error,
                               &offset,
                               nullptr);
    if (impl->code == nullptr) {
        char text[256] = {};
        pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof(text));
        return invalid(Reason::kRegexInvalid,
                       std::string("Regular expression is invalid: ") + text);
    }
    impl->isLiteral = (options & (PCRE2_CASELESS | PCRE2_EXTENDED)) == 0 &&
                      pattern.find_first_of("\\^$.|?*+()[]{}#") == std::string_view::npos;
    impl->literal = std::string(pattern);
    impl->limits = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(impl->limits, kSteps);
    pcre2_set_depth_limit(impl->limits, kDepth);
    pcre2_jit_compile(impl->code, PCRE2_JIT_COMPLETE);  // if it fails, the interpreter is used
    return std::shared_ptr<const Regex>(new Regex(std::move(impl)));
}

Regex::Regex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Regex::~Regex() = default;

StatusOr<std::vector<Regex::Span>> Regex::find(std::string_view text, size_t from) const {
    const auto free = [](pcre2_match_data* data) { pcre2_match_data_free(data); };
    const std::unique_ptr<pcre2_match_data, decltype(free)> data(
        pcre2_match_data_create_from_pattern(impl_->code, nullptr), free);
    // The interpreter would look through the whole text for invalid UTF-8 each time.
    const int groups = impl_->run(text, from, data.get());
    if (groups == PCRE2_ERROR_MATCHLIMIT || groups == PCRE2_ERROR_DEPTHLIMIT) {
        return Status(Code::kLimit, location(51156), "the regular expression needs too many steps");
    }
    std::vector<Span> spans;
    if (groups <= 0) {
        return spans;
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    for (uint32_t i = 0; i < pcre2_get_ovector_count(data.get()); ++i) {
        const bool isSet = ends[2 * i] != PCRE2_UNSET;
        spans.emplace_back(isSet ? ends[2 * i] : std::string_view::npos,
                           isSet ? ends[2 * i + 1] : std::string_view::npos);
    }
    return spans;
}

bool Regex::matches(std::string_view text) const {
    if (impl_->isLiteral) {
        return text.find(impl_->literal) != std::string_view::npos;
    }
    return impl_->run(text, 0, threadMatchData()) >= 0;
}

}  // namespace freshet::query
