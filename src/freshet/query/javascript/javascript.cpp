// SPDX-License-Identifier: Apache-2.0
/// One context per thread, made when its first script runs and emptied after each operation.
#include "freshet/query/javascript.h"

#include "freshet/platform/clock.h"
#include "freshet/query/javascript/mentions.h"
#include "freshet/query/javascript/scripts.h"
#include "freshet/query/js/library.h"
#include "freshet/script/context.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

namespace freshet::query {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

namespace {

constexpr uint32_t kScriptFailure = 139;  // JSInterpreterFailure
constexpr uint64_t kMilli = 1'000'000;
/// How old the start of a time limit may be before it is set again.
constexpr uint64_t kLimitSlackNanos = 1'000 * kMilli;

thread_local JavaScript* currentOfThread = nullptr;
thread_local JavaScript::Impl* ofThread = nullptr;

Status scriptFailure(std::string text) {
    return invalid(location(kScriptFailure), std::move(text));
}

}  // namespace

struct JavaScript::Impl {
    Status prepare();
    Status makeContext();
    Status defineFunctions();
    Status emit(Document arguments);
    StatusOr<script::FunctionId> function(const std::string& source);
    StatusOr<Value> call(const std::string& source, const Element& self, Document arguments);
    class Call;
    void limitTime(uint64_t now);
    /// What the client gets as the reason of a script's end; an end of the operation is remembered.
    Status clientStatus(const Status& end);
    std::string whyInterrupted();

    JavaScriptRules rules;
    bool isRunning = false;  // between begin() and end()
    bool isReady = false;    // the context has what this operation's scripts need
    Status stopped;          // not ok: no further scripts of the operation may run
    uint64_t limitSetNanos = 0;
    uint64_t heapBytesMax = 0;  // the context's
    OwnedDocument globals;
    std::optional<bson::Builder> emitted;  // an array; while a map function runs
    std::map<std::string, script::FunctionId, std::less<>> functions;

    /// When the current call began (platform::monotonicNanos()); 0: no call is running. Written by:
    /// the owning thread. Read by: threads that wait for their turn.
    sync::Atomic<uint64_t> callBeganNanos{0};

    sync::Mutex mutex;
    bool isInterrupted = false;                // guarded by mutex
    uint64_t crowdedOutMillis = 0;             // guarded by mutex; 0: not crowded out
    std::unique_ptr<script::Context> context;  // changed under mutex
};

Status JavaScript::Impl::makeContext() {
    if (context != nullptr && heapBytesMax == rules.heapBytesMax) {
        return Status::ok();
    }
    {
        std::lock_guard<sync::Mutex> lock(mutex);
        context.reset();
    }
    script::Limits limits;
    limits.heapBytesMax = rules.heapBytesMax;
    limits.numbersAreDoubles = true;
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<script::Context> made, script::Context::make(limits));
    heapBytesMax = rules.heapBytesMax;
    std::lock_guard<sync::Mutex> lock(mutex);
    context = std::move(made);
    return Status::ok();
}

Status JavaScript::Impl::emit(Document arguments) {
    if (arguments.fieldCount() != 2) {
        return invalid(location(31220), "emit takes 2 args");
    }
    if (!emitted.has_value()) {
        return invalid(Reason::kBadValue, "emit is for map functions");
    }
    bson::Builder one = emitted->object(emitted->nextIndex());
    one.addAs("k", arguments.find("0")).addAs("v", arguments.find("1"));
    one.close();
    if (emitted->size() > bson::kInternalDocumentBytesMax) {
        return invalid(location(31292),
                       "Size of emitted values exceeds the set size limit of " +
                           std::to_string(bson::kInternalDocumentBytesMax) + " bytes");
    }
    return Status::ok();
}

Status JavaScript::Impl::defineFunctions() {
    FRESHET_RETURN_IF_ERROR(
        context->define("emit", [this](Document arguments) -> StatusOr<script::Value> {
            FRESHET_RETURN_IF_ERROR(emit(arguments));
            return script::Value();
        }));
    for (const script::Source& source : librarySources()) {
        FRESHET_RETURN_IF_ERROR(context->addLibrary(source));
    }
    if (globals.view().isEmpty()) {
        return Status::ok();
    }
    bson::Builder arguments;
    arguments.add("0", globals.view());
    const OwnedDocument holder(arguments.finish());
    return context->callLibrary("setGlobals", holder.view()).status();
}

Status JavaScript::Impl::prepare() {
    FRESHET_RETURN_IF_ERROR(stopped);
    if (isReady) {
        return Status::ok();
    }
    if (Status made = makeContext(); !made.isOk()) {
        return clientStatus(made);
    }
    isReady = true;
    limitSetNanos = 0;
    {
        std::lock_guard<sync::Mutex> lock(mutex);
        if (isInterrupted) {
            context->interrupt();
        }
    }
    limitTime(platform::monotonicNanos());
    Status defined = defineFunctions();
    return defined.isOk() ? Status::ok() : clientStatus(defined);
}

/// Lives while a call runs. Setting the time limit for each call would cost a read of the
/// watchdog's clock each time, so the limit may be a little older than the call.
class JavaScript::Impl::Call {
public:
    explicit Call(Impl& impl) : impl_(impl) {
        const uint64_t now = platform::monotonicNanos();
        impl_.limitTime(now);
        // [script.callBegan] ORDER relaxed: only the call's age matters, and not to the
        // millisecond.
        impl_.callBeganNanos.store(now, sync::kRelaxed);
    }
    ~Call() {
        // [script.callEnded] ORDER relaxed: see [script.callBegan].
        impl_.callBeganNanos.store(0, sync::kRelaxed);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

private:
    Impl& impl_;
};

void JavaScript::Impl::limitTime(uint64_t now) {
    if (limitSetNanos != 0 && now - limitSetNanos < kLimitSlackNanos) {
        return;
    }
    uint64_t millis = rules.callMillisMax == 0 ? UINT32_MAX : rules.callMillisMax;
    if (rules.deadlineNanos != 0) {
        const uint64_t left = rules.deadlineNanos > now ? rules.deadlineNanos - now : 0;
        millis = std::min(millis, left / kMilli + 1);
    }
    const bool isEndless = millis == UINT32_MAX;
    context->setTimeLimit(isEndless ? 0 : static_cast<uint32_t>(millis));
    limitSetNanos = now;
}

Status JavaScript::Impl::clientStatus(const Status& end) {
    switch (end.code()) {
        case Code::kTimeout: {
            const bool isLate =
                rules.deadlineNanos != 0 && platform::monotonicNanos() >= rules.deadlineNanos;
            stopped = isLate ? Status(Code::kTimeout,
                                      Reason::kMaxTimeMsExpired,
                                      "operation exceeded time limit")
                             : Status(Code::kCancelled,
                                      Reason::kInterrupted,
                                      "JavaScript function ran longer than " +
                                          std::to_string(rules.callMillisMax) +
                                          " ms (internalQueryJavaScriptFnTimeoutMillis)");
            return stopped;
        }
        case Code::kCancelled:
            stopped = Status(Code::kCancelled, Reason::kInterrupted, whyInterrupted());
            return stopped;
        case Code::kLimit:
            return scriptFailure("Out of memory: JavaScript may take " +
                                 std::to_string(rules.heapBytesMax >> 20) +
                                 " MB (internalQueryJavaScriptHeapSizeLimitMB)");
        default:
            return scriptFailure(std::string(end.text()));
    }
}

std::string JavaScript::Impl::whyInterrupted() {
    std::lock_guard<sync::Mutex> lock(mutex);
    return crowdedOutMillis == 0
               ? "operation was interrupted"
               : "JavaScript function ran longer than " + std::to_string(crowdedOutMillis) +
                     " ms while other operations were waiting to run theirs";
}

StatusOr<script::FunctionId> JavaScript::Impl::function(const std::string& source) {
    FRESHET_RETURN_IF_ERROR(prepare());
    if (const auto known = functions.find(source); known != functions.end()) {
        return known->second;
    }
    const Call running(*this);  // code outside of functions runs now
    StatusOr<script::FunctionId> made = context->compile(source);
    if (!made.isOk()) {
        return clientStatus(made.status());
    }
    functions.emplace(source, *made);
    return made;
}

StatusOr<Value> JavaScript::Impl::call(const std::string& source,
                                       const Element& self,
                                       Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(const script::FunctionId compiled, function(source));
    const Call running(*this);
    StatusOr<script::Value> result = context->call(compiled, self, arguments);
    if (!result.isOk()) {
        return clientStatus(result.status());
    }
    return result->isUndefined() ? Value::null() : Value(result->element()).own();
}

JavaScript::JavaScript() : impl_(std::make_unique<Impl>()) {
    invariant(ofThread == nullptr);
    ofThread = impl_.get();
    currentOfThread = this;
}

JavaScript::~JavaScript() {
    invariant(ofThread == impl_.get());
    ofThread = nullptr;
    currentOfThread = nullptr;
}

JavaScript* JavaScript::current() {
    return currentOfThread;
}

void JavaScript::begin(const JavaScriptRules& rules) {
    invariant(!impl_->isRunning);
    impl_->rules = rules;
    impl_->isRunning = true;
    impl_->stopped = Status::ok();
    std::lock_guard<sync::Mutex> lock(impl_->mutex);
    impl_->isInterrupted = false;
    impl_->crowdedOutMillis = 0;
}

void JavaScript::end() {
    Impl& impl = *impl_;
    impl.isRunning = false;
    impl.globals = {};
    impl.emitted.reset();
    impl.functions.clear();
    if (!std::exchange(impl.isReady, false)) {
        return;
    }
    if (const Status over = impl.context->startOver(); !over.isOk()) {
        std::lock_guard<sync::Mutex> lock(impl.mutex);
        impl.context.reset();  // the next operation makes a new one
    }
}

void JavaScript::setGlobals(OwnedDocument globals) {
    impl_->globals = std::move(globals);
}

void JavaScript::interrupt() {
    std::lock_guard<sync::Mutex> lock(impl_->mutex);
    impl_->isInterrupted = true;
    if (impl_->context != nullptr) {
        impl_->context->interrupt();
    }
}

uint64_t JavaScript::callMillis() const {
    // [script.callMillis] ORDER relaxed: see [script.callBegan].
    const uint64_t began = impl_->callBeganNanos.load(sync::kRelaxed);
    const uint64_t now = platform::monotonicNanos();
    return began == 0 || began > now ? 0 : (now - began) / kMilli;
}

void JavaScript::crowdOut(uint64_t millis) {
    {
        std::lock_guard<sync::Mutex> lock(impl_->mutex);
        impl_->crowdedOutMillis = impl_->isInterrupted ? 0 : millis;
    }
    interrupt();
}

bool mentionsJavaScript(Document document) {
    static constexpr std::string_view kNames[] = {"$where", "$function", "$accumulator"};
    return countMentions(document, kNames, 1) != 0;
}

Status checkScriptsAllowed(ScriptUse use) {
    if (ofThread == nullptr || !ofThread->isRunning) {
        switch (use) {
            case ScriptUse::kWhere:
                return badValue("$where is not allowed in this context");
            case ScriptUse::kFunction:
                return invalid(location(4660800), "$function cannot be used inside a validator.");
            case ScriptUse::kAccumulator:
            case ScriptUse::kInternal:
                return badValue("JavaScript is not allowed in this context");
        }
    }
    if (!ofThread->rules.isEnabled) {
        return use == ScriptUse::kWhere
                   ? invalid(location(6108304), "no globalScriptEngine in $where parsing")
                   : invalid(location(31264),
                             "Cannot run server-side javascript without the javascript engine "
                             "enabled");
    }
    return Status::ok();
}

Status prepareScript(const std::string& source) {
    invariant(ofThread != nullptr);
    return ofThread->function(source).status();
}

StatusOr<Value> callScript(const std::string& source, const Element& self, Document arguments) {
    if (ofThread == nullptr || !ofThread->isRunning) {
        return scriptFailure("JavaScript cannot be run here");
    }
    return ofThread->call(source, self, arguments);
}

Value callScript(ExprContext& context, const std::string& source, Document arguments) {
    if (context.failed()) {
        return {};
    }
    StatusOr<Value> result = callScript(source, Element(), arguments);
    if (!result.isOk()) {
        context.error = result.status();
        return {};
    }
    return *std::move(result);
}

StatusOr<Value> callMap(const std::string& source, const Element& self) {
    if (ofThread == nullptr) {
        return scriptFailure("JavaScript cannot be run here");
    }
    ofThread->emitted.emplace();
    const Status called = callScript(source, self, Document()).status();
    const std::string emitted = ofThread->emitted->finish();
    ofThread->emitted.reset();
    FRESHET_RETURN_IF_ERROR(called);
    return Value::ofArray(emitted);
}

std::string whereSource(std::string_view source) {
    std::string text(source);
    if (source.find("obj") == source.npos) {
        return text;
    }
    const size_t first = source.find_first_not_of(" \t\r\n(");
    const bool isFunction = first != source.npos && source.substr(first).starts_with("function");
    if (isFunction) {
        return "function() { obj = this; return (" + text + "\n).apply(this, arguments); }";
    }
    const bool returns = source.find("return") != source.npos;
    return "function() { obj = this; " + (returns ? text : "return (" + text + "\n);") + "\n}";
}

bool isTrueInJavaScript(const Value& value) {
    const Element& element = value.element();
    if (element.isString()) {
        return !element.stringValue().empty();
    }
    if (element.type() == bson::Type::kDouble && std::isnan(element.doubleValue())) {
        return false;
    }
    return element.isTruthy();
}

StatusOr<std::string> parseScript(const Element& element,
                                  ExprScope* scope,
                                  const Status& notConstant,
                                  const Status& wrongType) {
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(element, scope));
    if (!expression->isConstant()) {
        return notConstant;
    }
    FRESHET_ASSIGN_OR_RETURN(const Value value, evaluateOnce(*expression, Document()));
    if (!value.element().isString() && value.type() != bson::Type::kCode) {
        return wrongType;
    }
    return std::string(value.element().stringValue());
}

}  // namespace freshet::query
