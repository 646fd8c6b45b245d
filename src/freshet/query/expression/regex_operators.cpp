// SPDX-License-Identifier: Apache-2.0
/// $regexMatch, $regexFind and $regexFindAll. A constant pattern is compiled once; another pattern
/// is kept compiled as long as it stays the same.
#include "freshet/bson/json.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/regex/regex.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

enum class Want : uint8_t { kMatch, kFind, kFindAll };

struct WantName {
    std::string_view name;
    Want want;
};

constexpr WantName kNames[] = {
    {"$regexMatch", Want::kMatch},
    {"$regexFind", Want::kFind},
    {"$regexFindAll", Want::kFindAll},
};

int64_t codePointsIn(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
}

/// The pattern that this thread last compiled for an expression with a non-constant pattern.
struct LastCompiled {
    std::string key;
    std::shared_ptr<const Regex> regex;
};

class RegexOperator final : public Expression {
public:
    ExprPtr input;
    ExprPtr regex;
    ExprPtr options;  // may be null
    std::string name;
    Want want = Want::kMatch;
    std::shared_ptr<const Regex> compiled;  // of a constant pattern

    Value evaluate(ExprContext& context) const override {
        const Value text = input->evaluate(context);
        std::shared_ptr<const Regex> pattern = compiled;
        bool isNullish = text.isNullish();
        if (pattern == nullptr) {
            pattern = compile(context, &isNullish);
        }
        if (context.failed()) {
            return {};
        }
        if (isNullish) {
            return nothing();
        }
        if (!text.element().isString()) {
            return context.fail(location(51104), name + " needs 'input' to be of type string");
        }
        const std::string_view value = text.element().stringValue();
        if (want == Want::kMatch) {
            return Value::of(pattern->matches(value));
        }
        return want == Want::kFind ? findFirst(context, *pattern, value)
                                   : findAll(context, *pattern, value);
    }

    std::shared_ptr<const Regex> compile(ExprContext& context, bool* isNullish) const {
        const Value pattern = regex->evaluate(context);
        const Value flags = options == nullptr ? Value() : options->evaluate(context);
        if (pattern.isNullish()) {
            *isNullish = true;
            return nullptr;
        }
        const bool isRegex = pattern.type() == Type::kRegex;
        if (!isRegex && !pattern.element().isString()) {
            context.fail(location(51105), name + " needs 'regex' to be of type string or regex");
            return nullptr;
        }
        if (!flags.isNullish() && !flags.element().isString()) {
            context.fail(location(51106), name + " needs 'options' to be of type string");
            return nullptr;
        }
        std::string_view text =
            isRegex ? pattern.element().regexValue().pattern : pattern.element().stringValue();
        std::string_view chosen = isRegex ? pattern.element().regexValue().options : "";
        if (!flags.isNullish()) {
            if (!chosen.empty()) {
                context.fail(location(51107),
                             name +
                                 ": found regex option(s) specified in both 'regex' and "
                                 "'option' fields");
                return nullptr;
            }
            chosen = flags.element().stringValue();
        }
        return compileCached(context, text, chosen);
    }

private:
    std::shared_ptr<const Regex> compileCached(ExprContext& context,
                                               std::string_view text,
                                               std::string_view flags) const {
        static thread_local LastCompiled last;
        std::string key = std::string(flags) + "/" + std::string(text);
        if (last.regex == nullptr || last.key != key) {
            auto made = Regex::compile(text, flags);
            if (!made.isOk()) {
                context.fail(location(51111),
                             "Invalid Regex in " + name + ": " + std::string(made.status().text()));
                return nullptr;
            }
            last = {std::move(key), *std::move(made)};
        }
        return last.regex;
    }

    Value nothing() const {
        if (want == Want::kMatch) {
            return Value::of(false);
        }
        return want == Want::kFind ? Value::null() : Value::ofArray(bson::Document().bytes());
    }

    static void addMatch(std::string_view text,
                         const std::vector<Regex::Span>& spans,
                         int64_t codePoints,
                         bson::Builder* out) {
        const auto [from, to] = spans[0];
        out->add("match", text.substr(from, to - from));
        out->addAs("idx", Value::ofInteger(codePoints).element());
        bson::Builder captures = out->array("captures");
        for (size_t i = 1; i < spans.size(); ++i) {
            if (spans[i].first == std::string_view::npos) {
                captures.push(bson::Null{});
            } else {
                captures.push(text.substr(spans[i].first, spans[i].second - spans[i].first));
            }
        }
    }

    static Value failWith(ExprContext& context, const Status& status) {
        return context.fail(status.reason(), std::string(status.text()));
    }

    static Value findFirst(ExprContext& context, const Regex& pattern, std::string_view text) {
        auto spans = pattern.find(text, 0);
        if (!spans.isOk()) {
            return failWith(context, spans.status());
        }
        if (spans->empty()) {
            return Value::null();
        }
        bson::Builder builder;
        addMatch(text, *spans, codePointsIn(text.substr(0, (*spans)[0].first)), &builder);
        return Value::ofDocument(builder.finish());
    }

    static Value findAll(ExprContext& context, const Regex& pattern, std::string_view text) {
        bson::Builder all;
        int64_t codePoints = 0;  // number of code points before `counted`
        size_t counted = 0;
        for (size_t from = 0; from <= text.size();) {
            auto spans = pattern.find(text, from);
            if (!spans.isOk()) {
                return failWith(context, spans.status());
            }
            if (spans->empty()) {
                break;
            }
            const auto [begin, end] = (*spans)[0];
            codePoints += codePointsIn(text.substr(counted, begin - counted));
            counted = begin;
            bson::Builder match = all.object(all.nextIndex());
            addMatch(text, *spans, codePoints, &match);
            match.close();
            if (!context.allows(all.size())) {
                return {};
            }
            from = end;
            if (end == begin) {  // an empty match: continue after the next character
                do {
                    ++from;
                } while (from < text.size() &&
                         (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80);
            }
        }
        return Value::ofArray(all.finish());
    }
};

StatusOr<ExprPtr> parseRegex(const Element& operand, ExprScope* scope) {
    auto result = std::make_shared<RegexOperator>();
    result->name = std::string(operand.name());
    for (const WantName& known : kNames) {
        if (known.name == operand.name()) {
            result->want = known.want;
        }
    }
    if (!operand.isObject()) {
        return invalid(location(51103),
                       result->name + " expects an object of named arguments but found: " +
                           std::string(bson::typeName(operand.type())));
    }
    for (const Element& field : operand.document()) {
        ExprPtr* place = field.name() == "input"     ? &result->input
                         : field.name() == "regex"   ? &result->regex
                         : field.name() == "options" ? &result->options
                                                     : nullptr;
        if (place == nullptr) {
            return invalid(
                location(31024),
                result->name + " found an unknown argument: " + std::string(field.name()));
        }
        FRESHET_ASSIGN_OR_RETURN(*place, parseExpression(field, scope));
    }
    if (result->input == nullptr || result->regex == nullptr) {
        return invalid(location(result->input == nullptr ? 31022 : 31023),
                       result->name + " requires '" +
                           (result->input == nullptr ? "input" : "regex") + "' parameter");
    }
    const bool isConstant = result->regex->isConstant() &&
                            (result->options == nullptr || result->options->isConstant());
    if (isConstant) {
        ExprContext context;
        bool isNullish = false;
        result->compiled = result->compile(context, &isNullish);
        if (context.failed()) {
            return std::move(context.error);
        }
    }
    return ExprPtr(std::move(result));
}

constexpr ParsedSpec kRegexOperators[] = {
    {"$regexMatch", parseRegex},
    {"$regexFind", parseRegex},
    {"$regexFindAll", parseRegex},
};

}  // namespace

std::span<const ParsedSpec> regexOperators() {
    return kRegexOperators;
}

}  // namespace freshet::query
